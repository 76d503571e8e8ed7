import {
  STATISTICS_STEPS,
  STEP_MS,
  type StatisticsPeriod,
  type StatisticsStep,
  type TaskStatistics,
} from '../../core/ports/task-statistics.js';
import { type LaneWrite, laneStatement } from './lane-statements.js';
import type { Lanes } from './lanes.js';
import type { Database } from './pool.js';
import { rowsOf, sql } from './statement.js';

const COUNTS = ['created', 'started', 'finished', 'failed', 'canceled', 'lost', 'waited_ms', 'ran_ms'];
const PARAMETERS = [
  'created',
  'started',
  'finished',
  'failed',
  'canceled',
  'lost',
  'waitedMs',
  'ranMs',
] as const;

/** Periods that begin at the same time are added up first: a statement changes each row once. */
const ADD: LaneWrite<readonly StatisticsPeriod[], null> = {
  statement: laneStatement({
    isDurable: false,
    parameters: {
      steps: 'text[]',
      starts: 'bigint[]',
      created: 'bigint[]',
      started: 'bigint[]',
      finished: 'bigint[]',
      failed: 'bigint[]',
      canceled: 'bigint[]',
      lost: 'bigint[]',
      waitedMs: 'bigint[]',
      ranMs: 'bigint[]',
    },
    parts: `
      added AS (
        INSERT INTO task_statistics (step, start, ${COUNTS.join(', ')})
        SELECT step, start, ${COUNTS.map((name) => `sum(${name})`).join(', ')}
        FROM held, unnest(:steps, :starts, ${PARAMETERS.map((name) => `:${name}`).join(', ')})
          AS period (step, start, ${COUNTS.join(', ')})
        GROUP BY step, start ORDER BY step, start
        ON CONFLICT (step, start) DO UPDATE
        SET ${COUNTS.map((name) => `${name} = task_statistics.${name} + excluded.${name}`).join(', ')})`,
    outcome: "'null'",
  }),
  isDurable: false,
  keys: () => [],
  values: (calls) => {
    const periods = calls
      .flat()
      .flatMap((period) => STATISTICS_STEPS.map((step) => ({ step, start: startOf(step, period), period })));
    return {
      steps: periods.map(({ step }) => step),
      starts: periods.map(({ start }) => start),
      ...Object.fromEntries(PARAMETERS.map((name) => [name, periods.map(({ period }) => period[name])])),
    };
  },
  results: (calls) => calls.map(() => null),
};

const FORGET: LaneWrite<{ readonly step: StatisticsStep; readonly beforeMs: number }, null> = {
  statement: laneStatement({
    isDurable: false,
    parameters: { step: 'text', before: 'bigint' },
    parts: 'forgotten AS (DELETE FROM task_statistics USING held WHERE step = :step AND start < :before)',
    outcome: "'null'",
  }),
  isDurable: false,
  keys: () => ['all'],
  values: ([period]) => ({ step: period?.step, before: period?.beforeMs }),
  results: () => [null],
};

const BETWEEN = sql(
  { step: 'text', from: 'bigint', to: 'bigint' },
  `SELECT start AS "startMs", created, started, finished, failed, canceled, lost, waited_ms AS "waitedMs", ran_ms AS "ranMs"
   FROM task_statistics WHERE step = :step AND start >= :from AND start < :to ORDER BY start`,
);

export function postgresTaskStatistics(db: Database, { side }: Lanes): TaskStatistics {
  return {
    add: async (minutes) => void (await side.write(ADD, minutes)),
    between: async (step, fromMs, toMs) => {
      const values = { step, from: fromMs, to: toMs };
      return rowsOf<StatisticsPeriod, keyof typeof values>(db, BETWEEN, values);
    },
    forget: async (step, beforeMs) => void (await side.write(FORGET, { step, beforeMs })),
  };
}

function startOf(step: StatisticsStep, { startMs }: StatisticsPeriod): number {
  return Math.floor(startMs / STEP_MS[step]) * STEP_MS[step];
}
