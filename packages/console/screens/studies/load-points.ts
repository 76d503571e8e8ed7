/** Points of a study, of which only the changed ones are asked for again. */
import type { api, StudyItem, StudyPoint } from '@workbench-hub/client';
import { OUTCOMES } from './progress.js';

const LIMIT = 5000;
/** Numbers between two points that are asked for in one request nevertheless. */
const SMALL_GAP = 50;

export type PointQuery = NonNullable<api.ListStudyPointsData['query']>;
export type FetchPoints = (query: PointQuery) => Promise<api.StudyPointList>;

/** The points after those that are known, and the known ones as far as they have changed, by number. */
export async function loadPoints(
  known: readonly StudyPoint[],
  fetchPoints: FetchPoints,
): Promise<readonly StudyPoint[]> {
  const points = new Map(known.map((point) => [point.number, point]));
  const put = (changed: readonly StudyPoint[]) => {
    for (const point of changed) points.set(point.number, point);
  };
  if (known.length > 0) {
    const open = await allOf({ outcome: ['OPEN'] }, fetchPoints);
    const openNumbers = new Set(open.map(({ number }) => number));
    put(open.filter(({ number }) => points.has(number)));
    const ended = known.filter(({ outcome, number }) => outcome === undefined && !openNumbers.has(number));
    for (const { first, last } of spansOf(ended.map(({ number }) => number))) {
      put((await fetchPoints({ after: first - 1, limit: last - first + 1 })).points);
    }
  }
  put(await allOf({ after: known.at(-1)?.number ?? 0 }, fetchPoints));
  return [...points.values()].sort((a, b) => a.number - b.number);
}

async function allOf(query: PointQuery, fetchPoints: FetchPoints): Promise<readonly StudyPoint[]> {
  const all: StudyPoint[] = [];
  for (let after: number | undefined = query.after ?? 0; after !== undefined; ) {
    const page: api.StudyPointList = await fetchPoints({ ...query, after, limit: LIMIT });
    all.push(...page.points);
    after = page.next;
  }
  return all;
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
  const count = (wanted: StudyPoint['outcome']) => points.filter(({ outcome }) => outcome === wanted).length;
  return count(undefined) === counts.open && OUTCOMES.every((outcome) => count(outcome) === counts[outcome]);
}
