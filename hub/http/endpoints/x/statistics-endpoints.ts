/** Statistics of tasks over time (contract 12.16, 12.41). */
import { offsetTimestamp } from '@workbench-hub/shared/domain/timestamp';
import type { Clock } from '@workbench-hub/shared/runtime/runtime';
import { z } from 'zod';
import { percentileMs } from '../../../core/durations.js';
import { invalidInput } from '../../../core/errors.js';
import { STATISTICS_STEPS, STEP_MS, type StatisticsPeriod } from '../../../core/ports/task-statistics.js';
import type { Statistics } from '../../../engine/upkeep/statistics.js';
import { enumeration, queryInteger, queryTimestamp } from '../../requests/parsing/validation.js';
import { type Endpoint, endpoint } from '../../routing/endpoint.js';
import { shownDefault } from '../../wire/openapi-overrides.js';

/** More than a year of hours, or six days of minutes. */
const MAX_STEPS = 9000;

const MAX_STEPS_PER_PERIOD = 1000;

const DAY_MS = 86_400_000;

const statisticsQuery = z.object({
  step: enumeration(STATISTICS_STEPS)
    .default('MINUTE')
    .meta({
      description: 'Unit of the length of a period. Minutes are kept for a day, hours for a year.',
      example: 'HOUR',
      override: shownDefault('MINUTE'),
    }),
  stepsPerPeriod: queryInteger({ minimum: 1, maximum: MAX_STEPS_PER_PERIOD })
    .default(1)
    .meta({
      description: 'Minutes or hours that one period has; the last one may have fewer.',
      example: 20,
      override: shownDefault(1),
    }),
  from: queryTimestamp().optional().meta({
    description: 'Begin of the first period; a day before `to` by default.',
    example: '2026-11-20T06:53:00Z',
  }),
  to: queryTimestamp().optional().meta({
    description: 'End of the last period; now by default.',
    example: '2026-11-21T06:53:00Z',
  }),
});

const count = (description: string) => z.int().min(0).meta({ description, example: 12 });
const period = z
  .object({
    start: z.string().meta({ description: 'When it began.', example: '2026-11-21T06:53:00.000+01:00' }),
    created: count('Tasks that were created.'),
    started: count('Tasks whose first attempt began.'),
    finished: count('Tasks that finished.'),
    failed: count('Tasks that failed.'),
    canceled: count('Tasks that were canceled.'),
    lost: count('Attempts that ended without ending their task.'),
    meanWait: z
      .number()
      .optional()
      .meta({ description: 'Seconds that started tasks had waited, on average.' }),
    meanRun: z
      .number()
      .optional()
      .meta({ description: 'Seconds for which finished and failed tasks had run, on average.' }),
    p95Wait: z
      .number()
      .optional()
      .meta({ description: 'Seconds that 95 % of the started tasks had waited at most; exact to 10 %.' }),
    p95Run: z.number().optional().meta({
      description: 'Seconds for which 95 % of the finished and failed tasks had run at most; exact to 10 %.',
    }),
  })
  .meta({ id: 'StatisticsPeriod' });

const statistics = z
  .object({
    step: z.enum(STATISTICS_STEPS),
    periods: z.array(period).meta({ description: 'In their order, without gaps.' }),
  })
  .meta({ id: 'Statistics' });

export function statisticsEndpoint(source: Pick<Statistics, 'between'>, clock: Clock): Endpoint {
  return endpoint(
    {
      method: 'get',
      path: '/api/x/statistics',
      isLarge: true,
      tag: 'Tasks',
      operationId: 'getStatistics',
      summary: 'Statistics of tasks, by minute or by hour',
      description:
        'Counts of all users. The hub counts on over restarts; a hub that is killed loses some seconds.',
      query: statisticsQuery,
      responses: { 200: { description: 'The periods.', schema: statistics } },
    },
    async ({ query: { step, stepsPerPeriod, from, to }, context }) => {
      const toMs = to ?? clock.nowMs();
      const fromMs = from ?? toMs - DAY_MS;
      if ((toMs - fromMs) / STEP_MS[step] > MAX_STEPS) {
        throw invalidInput([{ where: 'from', what: `must be at most ${MAX_STEPS} steps before to` }]);
      }
      const periods = await source.between({ step, stepsPerPeriod, fromMs, toMs });
      return context.json({ step, periods: periods.map(present) });
    },
  );
}

function present({ startMs, waitedMs, ranMs, waits, runs, ...counts }: StatisticsPeriod) {
  const ended = counts.finished + counts.failed;
  const p95WaitMs = percentileMs(waits, 95);
  const p95RunMs = percentileMs(runs, 95);
  return {
    start: offsetTimestamp(startMs),
    ...counts,
    ...(counts.started === 0 ? {} : { meanWait: waitedMs / counts.started / 1000 }),
    ...(ended === 0 ? {} : { meanRun: ranMs / ended / 1000 }),
    ...(p95WaitMs === undefined ? {} : { p95Wait: p95WaitMs / 1000 }),
    ...(p95RunMs === undefined ? {} : { p95Run: p95RunMs / 1000 }),
  };
}
