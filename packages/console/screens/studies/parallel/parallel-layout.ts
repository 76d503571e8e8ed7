/** Places of axes and lines of parallel coordinates in pixels. */
import type { StudyPoint } from '@workbench-hub/client';
import { isLogarithmicAtFirst, scaleOf } from '../plot/scale.js';
import { type Column, numberIn } from '../points.js';

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
}

/** Layout of points that have ended. */
export function parallelLayoutOf(
  points: readonly StudyPoint[],
  columns: readonly Column[],
  { width, height }: { readonly width: number; readonly height: number },
): ParallelLayout {
  const [top, bottom] = [TOP, height - BOTTOM - EDGE];
  const finishedPoints = points.filter(({ outcome }) => outcome === 'FINISHED');
  const failedPoints = points.filter(({ outcome }) => outcome !== undefined && outcome !== 'FINISHED');
  const finished = new Float32Array(finishedPoints.length * columns.length);
  const failed = new Float32Array(failedPoints.length * columns.length);
  const step = (width - 2 * SIDE) / Math.max(1, columns.length - 1);
  const axes = columns.map((column, at): ParallelAxis => {
    const numbersOf = (of: readonly StudyPoint[]) => of.map((point) => numberIn(column, point) ?? Number.NaN);
    const numbers = [numbersOf(finishedPoints), numbersOf(failedPoints)] as const;
    const known = [...numbers[0], ...numbers[1]].filter((number) => !Number.isNaN(number));
    const scale = scaleOf(known, isLogarithmicAtFirst(known), (bottom - top) / PIXELS_BETWEEN_TICKS);
    const up = (value: number) => bottom - scale.place(value) * (bottom - top);
    for (const [index, number] of numbers[0].entries()) finished[index * columns.length + at] = up(number);
    for (const [index, number] of numbers[1].entries())
      failed[index * columns.length + at] = Number.isNaN(number) ? bottom + EDGE / 2 : up(number);
    return { column, x: SIDE + at * step, ticks: scale.ticks.map((value) => [up(value), value] as const) };
  });
  return { axes, top, bottom, finished, failed };
}
