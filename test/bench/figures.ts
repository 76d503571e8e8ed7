/** Figures with their spread, from the samples of several runs. */
import type { Sample, Target, Unit } from './workload.js';

export interface Figure {
  readonly name: string;
  readonly unit: Unit;
  readonly median: number;
  readonly lowest: number;
  readonly highest: number;
  readonly limit?: number;
}

/** Quantile of the values; the median for 0.5. */
export function quantile(values: readonly number[], part: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))] ?? Number.NaN;
}

/** One figure for each name, in the order of the first run. */
export function figuresOf(runs: readonly (readonly Sample[])[]): Figure[] {
  const [first = []] = runs;
  return first.map(({ name, unit, limit }) => {
    const values = runs.flatMap((samples) =>
      samples.filter((sample) => sample.name === name).map(({ value }) => value),
    );
    if (values.length !== runs.length) throw new Error(`${name} was not measured once in every run`);
    return {
      name,
      unit,
      median: quantile(values, 0.5),
      lowest: Math.min(...values),
      highest: Math.max(...values),
      ...(limit === undefined ? {} : { limit }),
    };
  });
}

/** True when its median keeps the limit, if there is one. */
export function withinLimit({ median, limit }: Figure): boolean {
  return limit === undefined || median < limit;
}

export interface Verdict {
  /** Description of the target. */
  readonly target: string;
  readonly measured: number | null;
  readonly wanted: number | null;
  readonly verdict: 'met' | 'MISSED' | 'NOT MEASURED';
}

/** Result of a target. */
export function verdictOn(
  { figure, is, value, times, plus = 0 }: Target,
  figures: readonly Figure[],
): Verdict {
  const medianOf = (name: string) => figures.find((each) => each.name === name)?.median ?? null;
  const measured = medianOf(figure);
  const yardstick = times === undefined ? 1 : medianOf(times);
  const wanted = yardstick === null ? null : value * yardstick + plus;
  const target = `${figure} ${is} ${value}${times === undefined ? '' : ` times ${times}`}${plus === 0 ? '' : ` and ${plus}`}`;
  if (measured === null || wanted === null) return { target, measured, wanted, verdict: 'NOT MEASURED' };
  const met = is === 'at least' ? measured >= wanted : measured <= wanted;
  return { target, measured, wanted, verdict: met ? 'met' : 'MISSED' };
}
