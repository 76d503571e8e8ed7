/** Tasks with successive `seq`, which are counted at a time. */

/** Tasks of a chunk: few enough that one is counted in a moment whatever the filter, and that the counts of five groups of them
 *  fit into one integer of SQLite. */
export const CHUNK_TASKS = 2048;

/** Filters of which the counts are kept. */
export const KEPT_FILTERS = 64;

/** Number of a chunk's matches in each group. */
export type Counts = readonly number[];

export function chunkOf(seq: number): number {
  return Math.floor(seq / CHUNK_TASKS);
}

/** First and last `seq` of a chunk. */
export function boundsOf(chunk: number): readonly [first: number, last: number] {
  return [chunk * CHUNK_TASKS, (chunk + 1) * CHUNK_TASKS - 1];
}

/** The chunks that have tasks. */
export class KnownChunks {
  /** Ascending. */
  #chunks: readonly number[] = [];
  readonly #nextSeq: (from: number) => number | undefined;

  /** @param nextSeq Finds the first task from a `seq` on. */
  constructor(nextSeq: (from: number) => number | undefined) {
    this.#nextSeq = nextSeq;
  }

  /** All chunks now, the newest first. Changes of earlier ones are told by {@link changed}. */
  newestFirst(): number[] {
    const found: number[] = [];
    const last = this.#chunks.at(-1) ?? -1;
    for (let chunk = this.#from(last + 1); chunk !== undefined; chunk = this.#from(chunk + 1))
      found.push(chunk);
    if (found.length > 0) this.#chunks = [...this.#chunks, ...found];
    return this.#chunks.toReversed();
  }

  /** Adds those of these chunks that have tasks, and forgets the others. */
  changed(chunks: readonly number[]): void {
    const known = new Set(this.#chunks);
    const last = this.#chunks.at(-1) ?? -1;
    for (const chunk of chunks) {
      if (this.#from(chunk) !== chunk) known.delete(chunk);
      // Later ones are found by newestFirst.
      else if (chunk < last) known.add(chunk);
    }
    this.#chunks = [...known].sort((a, b) => a - b);
  }

  forgetAll(): void {
    this.#chunks = [];
  }

  /** The first chunk from this one on that has a task. */
  #from(chunk: number): number | undefined {
    const seq = this.#nextSeq(boundsOf(chunk)[0]);
    return seq === undefined ? undefined : chunkOf(seq);
  }
}

/** Counts of the latest filters, in the chunks that have not changed since they were counted. */
export class CountedChunks {
  /** By filter, the one that was not used for longest first; then by chunk. */
  readonly #filters = new Map<string, Map<number, Counts>>();

  of(filter: string): Map<number, Counts> {
    const counts = this.#filters.get(filter) ?? new Map<number, Counts>();
    this.#filters.delete(filter);
    this.#filters.set(filter, counts);
    const [oldest] = this.#filters.keys();
    if (this.#filters.size > KEPT_FILTERS && oldest !== undefined) this.#filters.delete(oldest);
    return counts;
  }

  forget(chunks: Iterable<number>): void {
    for (const chunk of chunks) for (const counts of this.#filters.values()) counts.delete(chunk);
  }

  forgetAll(): void {
    this.#filters.clear();
  }
}
