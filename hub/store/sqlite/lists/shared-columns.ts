/**
 * The columns of all tasks, spread over several threads, which look through their segments at the same time: a list is the
 * work of all cores. Segments go to whoever has fewest; a small store is held by this thread alone.
 */
import type { SqliteDatabase } from '../database.js';
import { SegmentRows } from './segment-rows.js';
import type { ColumnsFilter, SegmentCount, SegmentSource } from './selection.js';
import { SEGMENT_ROWS, segmentOf, TaskColumns, type TaskKind } from './task-columns.js';

/** Up to so many segments one thread is enough. */
const SEGMENTS_OF_ONE_THREAD = 12;

/** A thread that holds some of the segments. Whatever is asked of it is done in order. */
export interface ColumnsHelper {
  /** Has it take in the tasks of one segment after one number up to another. */
  load(after: number, last: number): void;
  update(seq: number, task: TaskKind | undefined): void;
  /** Begins to count; what it gives waits for the answer. */
  count(filter: ColumnsFilter): () => readonly SegmentCount[];
  seqs(filter: ColumnsFilter, segment: number): () => readonly number[];
}

export interface SharedColumnsOptions {
  readonly db: SqliteDatabase;
  /** How many threads may help. */
  readonly helpers: number;
  readonly startHelper: () => ColumnsHelper;
}

/** A thread with some of the segments; undefined stands for this one. */
type Holder = ColumnsHelper | undefined;

export class SharedColumns implements SegmentSource {
  readonly #options: SharedColumnsOptions;
  readonly #rows: SegmentRows;
  readonly #own = new TaskColumns();
  readonly #helpers: ColumnsHelper[] = [];
  readonly #holders = new Map<number, Holder>();
  #lastSeq = 0;

  constructor(options: SharedColumnsOptions) {
    this.#options = options;
    this.#rows = new SegmentRows(options.db);
  }

  /** The highest that was ever taken in. */
  get lastSeq(): number {
    return this.#lastSeq;
  }

  /** Takes in what has been added to the store. */
  keepUp(): void {
    const newest = this.#rows.newest();
    while (this.#lastSeq < newest) {
      const next = this.#rows.next(this.#lastSeq);
      if (next === undefined) break;
      const segment = segmentOf(next);
      const last = Math.min((segment + 1) * SEGMENT_ROWS - 1, newest);
      const holder = this.#holderOf(segment);
      if (holder) holder.load(next - 1, last);
      else for (const row of this.#rows.between(next - 1, last)) this.#own.add(row);
      this.#lastSeq = last;
    }
  }

  /** Notes what has become of a task; undefined when it is no more. */
  update(seq: number, kind: TaskKind | undefined): void {
    const holder = this.#holders.get(segmentOf(seq));
    if (holder) holder.update(seq, kind);
    else this.#own.update(seq, kind);
  }

  counts(filter: ColumnsFilter): SegmentCount[] {
    const asked = this.#helpers.map((helper) => helper.count(filter));
    const own = this.#own.counts(filter);
    return [...own, ...asked.flatMap((answer) => answer())];
  }

  seqs(filter: ColumnsFilter, segment: number): readonly number[] {
    const holder = this.#holders.get(segment);
    return holder ? holder.seqs(filter, segment)() : this.#own.seqs(filter, segment);
  }

  #holderOf(segment: number): Holder {
    if (!this.#holders.has(segment)) this.#holders.set(segment, this.#leastLaden());
    return this.#holders.get(segment);
  }

  #leastLaden(): Holder {
    if (this.#holders.size < SEGMENTS_OF_ONE_THREAD) return undefined;
    const { helpers, startHelper } = this.#options;
    if (this.#helpers.length < helpers) this.#helpers.push(startHelper());
    const held = new Map<Holder, number>([
      [undefined, 0],
      ...this.#helpers.map((helper) => [helper, 0] as const),
    ]);
    for (const holder of this.#holders.values()) held.set(holder, (held.get(holder) ?? 0) + 1);
    return [...held].reduce((least, one) => (one[1] < least[1] ? one : least))[0];
  }
}
