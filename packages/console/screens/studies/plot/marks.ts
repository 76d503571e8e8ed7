/** Marks of points in a plot. */
import type { StudyPoint } from '@workbench-hub/client';
import { type Column, hasResult, numberIn } from '../points.js';

export interface Mark {
  readonly point: StudyPoint;
  readonly x: number;
  /** Undefined for a failed point without it, which lies at the lower edge. */
  readonly y: number | undefined;
  readonly hasFailed: boolean;
}

export interface Marks {
  readonly marks: readonly Mark[];
  /** Number of failed points at the lower edge. */
  readonly edgeCount: number;
  /** Number of points that have ended and have no place on these axes. */
  readonly leftOut: number;
}

interface Axes {
  readonly x: Column;
  readonly y: Column;
  readonly isXLogarithmic: boolean;
  readonly isYLogarithmic: boolean;
}

/** Marks of the points that have ended, by their place across. */
export function marksOf(
  points: readonly StudyPoint[],
  { x, y, isXLogarithmic, isYLogarithmic }: Axes,
): Marks {
  const marks: Mark[] = [];
  let edgeCount = 0;
  let leftOut = 0;
  for (const point of points) {
    if (point.outcome === undefined) continue;
    const across = placed(numberIn(x, point), isXLogarithmic);
    const up = placed(numberIn(y, point), isYLogarithmic);
    const hasFailed = !hasResult(point);
    if (across === undefined || (up === undefined && !hasFailed)) {
      leftOut++;
      continue;
    }
    if (up === undefined) edgeCount++;
    marks.push({ point, x: across, y: up, hasFailed });
  }
  marks.sort((a, b) => a.x - b.x);
  return { marks, edgeCount, leftOut };
}

function placed(value: number | undefined, isLogarithmic: boolean): number | undefined {
  return isLogarithmic && value !== undefined && value <= 0 ? undefined : value;
}
