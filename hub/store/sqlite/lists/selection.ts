/** From how many tasks match in each segment to those in certain places of the whole. */
import type { Priority } from '@workbench-hub/shared/domain/priority';
import type { TaskStatus, TaskType } from '@workbench-hub/shared/domain/task';
import type { FilterSearch } from './shared-texts.js';

export interface ColumnsFilter {
  /** Undefined when there is no text filter. */
  readonly search?: FilterSearch | undefined;
  readonly type?: TaskType | undefined;
  readonly priority?: Priority | undefined;
  readonly statuses: readonly TaskStatus[];
}

export interface SegmentCount {
  readonly number: number;
  readonly count: number;
}

/** Whoever has segments of tasks. */
export interface SegmentSource {
  /** How many match in each segment, at least of those that have any. */
  counts(filter: ColumnsFilter): readonly SegmentCount[];
  /** Those of one segment that match, ascending. */
  seqs(filter: ColumnsFilter, segment: number): readonly number[];
}

/** All that match are counted; those from one place of the order up to another are named. */
export interface Selection {
  readonly count: number;
  readonly seqs: readonly number[];
}

export interface Places {
  readonly order: 'OLDEST_FIRST' | 'NEWEST_FIRST';
  /** Counted from 0. */
  readonly from: number;
  /** Not included. */
  readonly to: number;
}

export function select(source: SegmentSource, filter: ColumnsFilter, { order, from, to }: Places): Selection {
  const newestFirst = order === 'NEWEST_FIRST';
  const segments = [...source.counts(filter)].sort((a, b) =>
    newestFirst ? b.number - a.number : a.number - b.number,
  );
  const seqs: number[] = [];
  let place = 0;
  for (const { number, count } of segments) {
    const next = place + count;
    if (next > from && place < to) {
      const matching = [...source.seqs(filter, number)];
      if (newestFirst) matching.reverse();
      seqs.push(...matching.slice(Math.max(from - place, 0), to - place));
    }
    place = next;
  }
  return { count: place, seqs };
}
