/** Points of a study, of which only the changed ones are asked for again. */
import type { api, StudyItem, StudyPoint } from '@workbench-hub/client';
import { OUTCOMES } from './progress.js';

const LIMIT = 10_000;
/** Points of the first request, which are shown before the others have come. */
const FIRST_LIMIT = 500;
/** Numbers between two points that are asked for in one request nevertheless. */
const SMALL_GAP = 50;

export type PointQuery = NonNullable<api.ListStudyPointsData['query']>;
export type FetchPoints = (query: PointQuery) => Promise<api.StudyPointList>;

/**
 * The points after those that are known, and the known ones as far as they have changed, by number; the same array when nothing has.
 * Those that have come so far are given to `onSome` meanwhile, when none was known.
 */
export async function loadPoints(
  known: readonly StudyPoint[],
  fetchPoints: FetchPoints,
  onSome: (points: readonly StudyPoint[]) => void = () => undefined,
): Promise<readonly StudyPoint[]> {
  if (known.length === 0) return allOf({}, fetchPoints, onSome);
  const changed: StudyPoint[] = [];
  const tasks = new Map(
    known.map(({ number, outcome, taskId }) => [number, outcome === undefined ? taskId : undefined]),
  );
  const open = await allOf({ outcome: ['OPEN'] }, fetchPoints);
  changed.push(...open.filter(({ number, taskId }) => tasks.has(number) && tasks.get(number) !== taskId));
  const openNumbers = new Set(open.map(({ number }) => number));
  const ended = known.filter(({ outcome, number }) => outcome === undefined && !openNumbers.has(number));
  for (const span of spansOf(ended.map(({ number }) => number))) {
    changed.push(...(await fetchPoints({ after: span.first - 1, limit: span.last - span.first + 1 })).points);
  }
  const further = await allOf({ after: known.at(-1)?.number ?? 0 }, fetchPoints);
  return changed.length + further.length === 0 ? known : merged(known, [...changed, ...further]);
}

async function allOf(
  query: PointQuery,
  fetchPoints: FetchPoints,
  onSome: (points: readonly StudyPoint[]) => void = () => undefined,
): Promise<readonly StudyPoint[]> {
  let all: readonly StudyPoint[] = [];
  let limit = FIRST_LIMIT;
  for (let after: number | undefined = query.after ?? 0; after !== undefined; limit = LIMIT) {
    const page: api.StudyPointList = await fetchPoints({ ...query, after, limit });
    all = [...all, ...page.points];
    after = page.next;
    if (after !== undefined) onSome(all);
  }
  return all;
}

function merged(known: readonly StudyPoint[], changed: readonly StudyPoint[]): readonly StudyPoint[] {
  const points = new Map(known.map((point) => [point.number, point]));
  for (const point of changed) points.set(point.number, point);
  return [...points.values()].sort((a, b) => a.number - b.number);
}

/** Ranges that contain these rising numbers. */
function spansOf(numbers: readonly number[]): { readonly first: number; readonly last: number }[] {
  const spans: { first: number; last: number }[] = [];
  for (const number of numbers) {
    const span = spans.at(-1);
    if (span && number - span.last <= SMALL_GAP && number - span.first < LIMIT) span.last = number;
    else spans.push({ first: number, last: number });
  }
  return spans;
}

/** Whether the points are those that a study counts. A point that was tried again and ended between two requests is not seen otherwise. */
export function areCounted(points: readonly StudyPoint[], counts: StudyItem['points']): boolean {
  const found = new Map<StudyPoint['outcome'], number>();
  for (const { outcome } of points) found.set(outcome, (found.get(outcome) ?? 0) + 1);
  // Points that are tried again wait as those do that have not begun, but are among the points.
  const due = Math.max(0, counts.waiting - (counts.total - points.length));
  return (
    (found.get(undefined) ?? 0) === counts.open + due &&
    OUTCOMES.every((outcome) => (found.get(outcome) ?? 0) === counts[outcome])
  );
}
