/** Statistics of tasks over time (contract 12.16). */
import { offsetTimestamp } from '@workbench-hub/shared/domain/timestamp';
import type { Clock } from '@workbench-hub/shared/runtime/runtime';
import { z } from 'zod';
import { invalidInput } from '../../core/errors.js';
import { STATISTICS_STEPS, STEP_MS, type StatisticsPeriod } from '../../core/ports/task-statistics.js';
import type { Statistics } from '../../engine/statistics.js';
import { shownDefault } from '../openapi/openapi-overrides.js';
import { enumeration, queryTimestamp } from '../parsing/validation.js';
import { type Endpoint, endpoint } from '../routing/endpoint.js';

/** More than a year of hours, or six days of minutes. */
const MAX_PERIODS = 9000;

const DAY_MS = 86_400_000;

const statisticsQuery = z.object({
  step: enumeration(STATISTICS_STEPS)
    .default('MINUTE')
    .meta({
      description: 'Length of a period. Minutes are kept for a day, hours for a year.',
      example: 'HOUR',
      override: shownDefault('MINUTE'),
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
    async ({ query: { step, from, to }, context }) => {
      const toMs = to ?? clock.nowMs();
      const fromMs = from ?? toMs - DAY_MS;
      if ((toMs - fromMs) / STEP_MS[step] > MAX_PERIODS) {
        throw invalidInput([{ where: 'from', what: `must be at most ${MAX_PERIODS} periods before to` }]);
      }
      return context.json({ step, periods: (await source.between(step, fromMs, toMs)).map(present) });
    },
  );
}

function present({ startMs, waitedMs, ranMs, ...counts }: StatisticsPeriod) {
  const ended = counts.finished + counts.failed;
  return {
    start: offsetTimestamp(startMs),
    ...counts,
    ...(counts.started === 0 ? {} : { meanWait: waitedMs / counts.started / 1000 }),
    ...(ended === 0 ? {} : { meanRun: ranMs / ended / 1000 }),
  };
}
