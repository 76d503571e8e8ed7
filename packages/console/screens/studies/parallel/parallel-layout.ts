/** Places of axes and lines of parallel coordinates in pixels. */
import type { StudyPoint } from '@workbench-hub/client';
import { isLogarithmicAtFirst, type Scale, scaleOf } from '../plot/scale.js';
import { type Column, hasResult, numberIn } from '../points.js';

const TOP = 40;
const BOTTOM = 12;
const SIDE = 44;
/** Height of the strip beneath the axes in which failed points without a value lie. */
const EDGE = 20;
const PIXELS_BETWEEN_TICKS = 56;

export interface ParallelAxis {
  readonly column: Column;
  readonly x: number;
  readonly ticks: readonly (readonly [at: number, value: number])[];
}

export interface ParallelLayout {
  readonly axes: readonly ParallelAxis[];
  readonly top: number;
  readonly bottom: number;
  /** Heights of the lines of finished points, axis by axis for each point; NaN where a point has no number. */
  readonly finished: Float32Array;
  /** Those of failed points, which lie in the strip beneath an axis where they have no number. */
  readonly failed: Float32Array;
  /** Numbers of points that finished and that failed, with those that have no line. */
  readonly finishedCount: number;
  readonly failedCount: number;
}

/** Layout of points that have ended. Of more than the longest number of lines of a kind, every second or so has one. */
export function parallelLayoutOf(
  points: readonly StudyPoint[],
  columns: readonly Column[],
  { width, height, maxLines }: { readonly width: number; readonly height: number; readonly maxLines: number },
): ParallelLayout {
  const [top, bottom] = [TOP, height - BOTTOM - EDGE];
  const ended = points.filter(({ outcome }) => outcome !== undefined);
  const finishedPoints = ended.filter(hasResult);
  const failedPoints = ended.filter((point) => !hasResult(point));
  const step = (width - 2 * SIDE) / Math.max(1, columns.length - 1);
  const scales = columns.map((column) => {
    const numbers = ended.map((point) => numberIn(column, point)).filter((number) => number !== undefined);
    return scaleOf(numbers, isLogarithmicAtFirst(numbers), (bottom - top) / PIXELS_BETWEEN_TICKS);
  });
  const up = (scale: Scale, value: number) => bottom - scale.place(value) * (bottom - top);
  const heightsOf = (drawn: readonly StudyPoint[], missing: number) => {
    const heights = new Float32Array(drawn.length * columns.length);
    for (const [line, point] of drawn.entries()) {
      for (const [at, column] of columns.entries()) {
        const [number, scale] = [numberIn(column, point), scales[at]];
        heights[line * columns.length + at] = number === undefined || !scale ? missing : up(scale, number);
      }
    }
    return heights;
  };
  return {
    axes: columns.map((column, at) => {
      const scale = scales[at];
      const ticks = scale ? scale.ticks.map((value) => [up(scale, value), value] as const) : [];
      return { column, x: SIDE + at * step, ticks };
    }),
    top,
    bottom,
    finished: heightsOf(thinned(finishedPoints, maxLines), Number.NaN),
    failed: heightsOf(thinned(failedPoints, maxLines), bottom + EDGE / 2),
    finishedCount: finishedPoints.length,
    failedCount: failedPoints.length,
  };
}

/** Points at equal distances in their order, no more than so many. */
function thinned(points: readonly StudyPoint[], most: number): readonly StudyPoint[] {
  const every = Math.ceil(points.length / most);
  return every <= 1 ? points : points.filter((_, at) => at % every === 0);
}
