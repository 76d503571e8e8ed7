/** Statistics of the hub for a chart: as many periods as can be seen. */
import type { api } from '@workbench-hub/client';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

export const RANGES = {
  hour: { lengthMs: HOUR_MS, step: 'MINUTE', stepsPerPeriod: 1 },
  day: { lengthMs: DAY_MS, step: 'MINUTE', stepsPerPeriod: 20 },
  week: { lengthMs: 7 * DAY_MS, step: 'HOUR', stepsPerPeriod: 2 },
  month: { lengthMs: 30 * DAY_MS, step: 'HOUR', stepsPerPeriod: 12 },
} as const;
export type Range = keyof typeof RANGES;

/** Periods in their order, with newer responses in place of older ones. */
export function periodsWith(
  periods: readonly api.StatisticsPeriod[],
  newer: readonly api.StatisticsPeriod[],
): readonly api.StatisticsPeriod[] {
  const firstMs = Date.parse(newer[0]?.start ?? '');
  if (Number.isNaN(firstMs)) return periods;
  return [...periods.filter(({ start }) => Date.parse(start) < firstMs), ...newer];
}
