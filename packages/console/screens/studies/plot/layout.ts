/** Places of marks in pixels, and which of them is near. */
import type { Mark } from './marks.js';
import { type Scale, scaleOf } from './scale.js';

const LEFT = 64;
const RIGHT = 12;
const TOP = 12;
const BOTTOM = 48;
/** Height of the strip beneath the axis in which failed points lie. */
const EDGE = 16;
const PIXELS_BETWEEN_X_TICKS = 90;
const PIXELS_BETWEEN_Y_TICKS = 48;

export interface PlacedMark {
  readonly mark: Mark;
  readonly x: number;
  readonly y: number;
}

export interface Layout {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
  readonly xTicks: readonly (readonly [at: number, value: number])[];
  readonly yTicks: readonly (readonly [at: number, value: number])[];
  readonly placed: readonly PlacedMark[];
}

interface Box {
  readonly width: number;
  readonly height: number;
  readonly isXLogarithmic: boolean;
  readonly isYLogarithmic: boolean;
}

/** Layout of marks in a box. */
export function layoutOf(
  marks: readonly Mark[],
  { width, height, isXLogarithmic, isYLogarithmic }: Box,
): Layout {
  const [left, top, right, bottom] = [LEFT, TOP, Math.max(width - RIGHT, LEFT + 1), height - BOTTOM];
  const edge = bottom - EDGE / 2;
  const floor = marks.some(({ y }) => y === undefined) ? bottom - EDGE : bottom;
  const x = scaleOf(
    marks.map((mark) => mark.x),
    isXLogarithmic,
    Math.max(2, (right - left) / PIXELS_BETWEEN_X_TICKS),
  );
  const y = scaleOf(
    marks.flatMap((mark) => mark.y ?? []),
    isYLogarithmic,
    Math.max(2, (floor - top) / PIXELS_BETWEEN_Y_TICKS),
  );
  const across = (value: number) => left + x.place(value) * (right - left);
  const up = (value: number) => floor - y.place(value) * (floor - top);
  const ticks = (scale: Scale, at: (value: number) => number) =>
    scale.ticks.map((value) => [at(value), value] as const);
  return {
    left,
    top,
    right,
    bottom,
    xTicks: ticks(x, across),
    yTicks: ticks(y, up),
    placed: marks.map((mark) => ({
      mark,
      x: across(mark.x),
      y: mark.y === undefined ? edge : up(mark.y),
    })),
  };
}

/** Index of the mark that is nearest to a place; undefined when all are farther away than the distance. */
export function nearest(
  placed: readonly PlacedMark[],
  x: number,
  y: number,
  distance: number,
): number | undefined {
  let found: number | undefined;
  let least = distance ** 2;
  for (const [index, mark] of placed.entries()) {
    const squared = (mark.x - x) ** 2 + (mark.y - y) ** 2;
    if (squared <= least) [found, least] = [index, squared];
  }
  return found;
}
