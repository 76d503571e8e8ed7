/** Durations, counted in classes on a logarithmic scale, by which percentiles are estimated. */

const CLASSES_PER_DOUBLING = 8;

/** Class of all durations from 2^40 ms on, which are 35 years. */
const LAST_CLASS = 40 * CLASSES_PER_DOUBLING + 1;

/** Greatest relative error of a percentile, for durations of at least a millisecond: the width of a class. */
export const GREATEST_ERROR = 2 ** (1 / CLASSES_PER_DOUBLING) - 1;

/** Durations of one class. */
export interface DurationClass {
  readonly class: number;
  readonly count: number;
  /** Sum of the durations. */
  readonly totalMs: number;
}

/** Class of a duration: 0 below a millisecond, then eight classes for each doubling. */
export function durationClass(ms: number): number {
  if (ms < 1) return 0;
  return Math.min(1 + Math.floor(Math.log2(ms) * CLASSES_PER_DOUBLING), LAST_CLASS);
}

/** Counts by class, to which more can be added. */
export class DurationCounts {
  readonly #byClass = new Map<number, { count: number; totalMs: number }>();

  add(ms: number): void {
    this.#add({ class: durationClass(ms), count: 1, totalMs: ms });
  }

  addAll(classes: readonly DurationClass[]): void {
    for (const each of classes) this.#add(each);
  }

  /** By class, the shortest durations first. */
  get classes(): readonly DurationClass[] {
    return [...this.#byClass]
      .map(([number, counted]) => ({ class: number, ...counted }))
      .sort((a, b) => a.class - b.class);
  }

  #add({ class: number, count, totalMs }: DurationClass): void {
    const counted = this.#byClass.get(number);
    if (counted === undefined) this.#byClass.set(number, { count, totalMs });
    else {
      counted.count += count;
      counted.totalMs += totalMs;
    }
  }
}

/**
 * The duration that this percentage of all durations do not exceed, estimated by the mean of its class; undefined without any. It is
 * exact when its class has one duration, or equal ones, and the longest of all is estimated no shorter than their mean.
 *
 * @param classes The shortest durations first.
 */
export function percentileMs(classes: readonly DurationClass[], percent: number): number | undefined {
  const all = classes.reduce((sum, { count }) => sum + count, 0);
  const rank = Math.ceil((percent * all) / 100);
  let counted = 0;
  for (const { count, totalMs } of classes) {
    counted += count;
    if (count > 0 && counted >= rank) return totalMs / count;
  }
  return undefined;
}
