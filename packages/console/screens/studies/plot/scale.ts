/** Scales of the axes of a plot: from numbers to pixels, with ticks at round numbers. */

export interface Scale {
  readonly from: number;
  readonly to: number;
  readonly isLogarithmic: boolean;
  readonly ticks: readonly number[];
  /** Place of a number: 0 at the beginning of the axis, 1 at its end. */
  place(value: number): number;
}

/** Decades beyond which a logarithmic scale is the usual one. */
const MANY_DECADES = 2;
const MARGIN = 0.04;

/** Whether a logarithmic scale fits these numbers: all above 0, over more than two decades. */
export function isLogarithmicAtFirst(numbers: readonly number[]): boolean {
  const { low, high } = rangeOf(numbers);
  return low > 0 && Math.log10(high / low) > MANY_DECADES;
}

/** A scale on which all the numbers have a place, but those up to 0 on a logarithmic one. */
export function scaleOf(numbers: readonly number[], isLogarithmic: boolean, tickCount: number): Scale {
  return isLogarithmic ? logarithmicScale(numbers, tickCount) : linearScale(numbers, tickCount);
}

function linearScale(numbers: readonly number[], tickCount: number): Scale {
  const { low, high } = widened(rangeOf(numbers));
  const margin = MARGIN * (high - low);
  const [from, to] = [low - margin, high + margin];
  const place = (value: number) => (value - from) / (to - from);
  return { from, to, isLogarithmic: false, ticks: niceTicks(from, to, tickCount), place };
}

function logarithmicScale(numbers: readonly number[], tickCount: number): Scale {
  const { low, high } = rangeOf(numbers.filter((each) => each > 0));
  const [lowPower, highPower] = low > 0 ? [Math.log10(low), Math.log10(high)] : [0, 1];
  const margin = Math.max(MARGIN * (highPower - lowPower), highPower === lowPower ? 0.3 : 0);
  const [fromPower, toPower] = [lowPower - margin, highPower + margin];
  const [from, to] = [10 ** fromPower, 10 ** toPower];
  const place = (value: number) => (Math.log10(value) - fromPower) / (toPower - fromPower);
  return { from, to, isLogarithmic: true, ticks: logarithmicTicks(from, to, tickCount), place };
}

interface Range {
  readonly low: number;
  readonly high: number;
}

function rangeOf(numbers: readonly number[]): Range {
  let low = Number.POSITIVE_INFINITY;
  let high = Number.NEGATIVE_INFINITY;
  for (const number of numbers) {
    if (number < low) low = number;
    if (number > high) high = number;
  }
  return low <= high ? { low, high } : { low: 0, high: 1 };
}

/** A range with an extent, also around a single number. */
function widened({ low, high }: Range): Range {
  if (low < high) return { low, high };
  const half = low === 0 ? 1 : Math.abs(low) / 10;
  return { low: low - half, high: high + half };
}

/** Multiples of 1, 2 or 5 times a power of ten within a range, about as many as asked for. */
export function niceTicks(from: number, to: number, count: number): readonly number[] {
  const rough = (to - from) / Math.max(count, 1);
  if (!(rough > 0) || !Number.isFinite(rough)) return [];
  const power = Math.floor(Math.log10(rough));
  const lead = rough / 10 ** power;
  const factor = [1, 2, 5].find((each) => lead <= each * (1 + 1e-9)) ?? 10;
  // A division by a whole power has the rounding that a reader expects: 0.3, and not 0.30000000000000004.
  const at = (index: number) => (power < 0 ? (index * factor) / 10 ** -power : index * factor * 10 ** power);
  const step = at(1);
  const first = Math.ceil(from / step - 1e-9);
  const last = Math.floor(to / step + 1e-9);
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => at(first + index) + 0);
}

/** Powers of ten within a range; with 2 and 5 times of them where there are few, and every second one or so where there are many. */
export function logarithmicTicks(from: number, to: number, count: number): readonly number[] {
  const first = Math.floor(Math.log10(from));
  const last = Math.ceil(Math.log10(to));
  const powers = Array.from({ length: last - first + 1 }, (_, index) => first + index);
  const within = (ticks: readonly number[]) =>
    ticks.filter((tick) => tick >= from * (1 - 1e-9) && tick <= to * (1 + 1e-9));
  const decades = within(powers.map(powerOfTen));
  if (decades.length > count) {
    const step = Math.ceil(decades.length / count);
    return within(powers.filter((power) => power % step === 0).map(powerOfTen));
  }
  if (decades.length > count / 2) return decades;
  const finer = within(powers.flatMap((power) => [1, 2, 5].map((factor) => factor * powerOfTen(power))));
  return finer.length >= 2 ? finer : niceTicks(from, to, count);
}

function powerOfTen(power: number): number {
  return Number(`1e${power}`);
}
