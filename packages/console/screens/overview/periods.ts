/** Statistics of the hub for a chart: periods that are put together until they are few enough to be seen. */
import type { api } from '@workbench-hub/client';
import { groupBy } from '../../data/group-by.js';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

export const RANGES = {
  hour: { lengthMs: HOUR_MS, step: 'MINUTE', stepMs: MINUTE_MS, bucketMs: MINUTE_MS },
  day: { lengthMs: DAY_MS, step: 'MINUTE', stepMs: MINUTE_MS, bucketMs: 20 * MINUTE_MS },
  week: { lengthMs: 7 * DAY_MS, step: 'HOUR', stepMs: HOUR_MS, bucketMs: 2 * HOUR_MS },
  month: { lengthMs: 30 * DAY_MS, step: 'HOUR', stepMs: HOUR_MS, bucketMs: 12 * HOUR_MS },
} as const;
export type Range = keyof typeof RANGES;

export interface Bucket {
  readonly startMs: number;
  readonly created: number;
  readonly finished: number;
  readonly failed: number;
  readonly canceled: number;
  readonly lost: number;
  /** Mean of the waits of the tasks that started, in seconds; undefined when none did. */
  readonly waitS: number | undefined;
  /** Mean of the run times of the tasks that finished or failed, in seconds; undefined when none did. */
  readonly runS: number | undefined;
}

/** Periods in their order, with newer responses in place of older ones. */
export function periodsWith(
  periods: readonly api.StatisticsPeriod[],
  newer: readonly api.StatisticsPeriod[],
): readonly api.StatisticsPeriod[] {
  const firstMs = Date.parse(newer[0]?.start ?? '');
  if (Number.isNaN(firstMs)) return periods;
  return [...periods.filter(({ start }) => Date.parse(start) < firstMs), ...newer];
}

/** Buckets of this length, each beginning at a multiple of it after the first period. */
export function bucketsOf(periods: readonly api.StatisticsPeriod[], bucketMs: number): readonly Bucket[] {
  const firstMs = Date.parse(periods[0]?.start ?? '');
  const groups = groupBy(periods, ({ start }) => Math.floor((Date.parse(start) - firstMs) / bucketMs));
  return [...groups].map(([number, group]) => {
    const sum = (value: (period: api.StatisticsPeriod) => number) =>
      group.reduce((all, period) => all + value(period), 0);
    const ended = (period: api.StatisticsPeriod) => period.finished + period.failed;
    return {
      startMs: firstMs + number * bucketMs,
      created: sum(({ created }) => created),
      finished: sum(({ finished }) => finished),
      failed: sum(({ failed }) => failed),
      canceled: sum(({ canceled }) => canceled),
      lost: sum(({ lost }) => lost),
      waitS: quotient(
        sum(({ started, meanWait = 0 }) => started * meanWait),
        sum(({ started }) => started),
      ),
      runS: quotient(
        sum((period) => ended(period) * (period.meanRun ?? 0)),
        sum(ended),
      ),
    };
  });
}

function quotient(sum: number, count: number): number | undefined {
  return count === 0 ? undefined : sum / count;
}
