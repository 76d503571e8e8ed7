/** Tasks with successive `seq`, which are counted at a time. */

/** Tasks of a chunk: few enough that one is counted in a moment whatever the filter, and that the counts of five groups of them
 *  fit into one integer of SQLite. */
export const CHUNK_TASKS = 2048;

/** Filters of which the counts are kept. */
const KEPT_FILTERS = 32;

/** Number of a chunk's matches in each group. */
export type Counts = readonly number[];

export function chunkOf(seq: number): number {
  return Math.floor(seq / CHUNK_TASKS);
}

/** First and last `seq` of a chunk. */
export function boundsOf(chunk: number): readonly [first: number, last: number] {
  return [chunk * CHUNK_TASKS, (chunk + 1) * CHUNK_TASKS - 1];
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
