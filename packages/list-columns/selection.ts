/** Selection of a page from the counts of matching tasks in each segment. */
import type { ColumnsFilter, Places, Selection } from './rows.js';
import { SEGMENT_ROWS } from './text-column.js';

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

/** Selects the matching tasks at the places `from` to `to` (exclusive), and counts all that match. */
export function select(
  source: SegmentSource,
  filter: ColumnsFilter,
  { order, from, to, below = Number.POSITIVE_INFINITY }: Places,
): Selection {
  const newestFirst = order === 'NEWEST_FIRST';
  const segments = [...source.counts(filter)].sort((a, b) =>
    newestFirst ? b.number - a.number : a.number - b.number,
  );
  const seqs: number[] = [];
  let total = 0;
  let place = 0;
  for (const { number, count } of segments) {
    total += count;
    const firstSeq = number * SEGMENT_ROWS;
    if (firstSeq >= below) continue;
    const isCut = firstSeq + SEGMENT_ROWS > below;
    if ((place + count > from && place < to) || isCut) {
      const matching = source.seqs(filter, number).filter((seq) => seq < below);
      if (newestFirst) matching.reverse();
      seqs.push(...matching.slice(Math.max(from - place, 0), Math.max(to - place, 0)));
      place += matching.length;
    } else place += count;
  }
  return { count: total, seqs };
}
