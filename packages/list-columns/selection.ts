/** Selection of a page from the counts of matching tasks in each segment. */
import type { ColumnsFilter, Places, Selection } from './rows.js';

export interface SegmentCount {
  readonly number: number;
  readonly count: number;
}

export interface SegmentSource {
  /** Number of matching tasks by segment; segments without any may be left out. */
  counts(filter: ColumnsFilter): readonly SegmentCount[];
  /** Matching tasks of one segment, ascending. */
  seqs(filter: ColumnsFilter, segment: number): readonly number[];
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
