import type { DurationClass } from '../../../core/durations.js';
import {
  STATISTICS_STEPS,
  STEP_MS,
  type StatisticsPeriod,
  type StatisticsStep,
  type TaskCounts,
  type TaskStatistics,
} from '../../../core/ports/task-statistics.js';
import type { Database } from '../connection/pool.js';
import { rowsOf, sql } from '../connection/statement.js';
import { type LaneWrite, laneStatement } from '../lanes/lane-statements.js';
import type { Lanes } from '../lanes/lanes.js';

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

/** Durations of a minute or hour, as rows of `task_duration`. */
interface Duration extends DurationClass {
  readonly step: StatisticsStep;
  readonly start: number;
  readonly measure: 'WAIT' | 'RUN';
}

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
      durationSteps: 'text[]',
      durationStarts: 'bigint[]',
      measures: 'text[]',
      classes: 'smallint[]',
      classCounts: 'bigint[]',
      classTotalsMs: 'bigint[]',
    },
    parts: `
      added AS (
        INSERT INTO task_statistics (step, start, ${COUNTS.join(', ')})
        SELECT step, start, ${COUNTS.map((name) => `sum(${name})`).join(', ')}
        FROM held, unnest(:steps, :starts, ${PARAMETERS.map((name) => `:${name}`).join(', ')})
          AS period (step, start, ${COUNTS.join(', ')})
        GROUP BY step, start ORDER BY step, start
        ON CONFLICT (step, start) DO UPDATE
        SET ${COUNTS.map((name) => `${name} = task_statistics.${name} + excluded.${name}`).join(', ')}),
      added_durations AS (
        INSERT INTO task_duration (step, start, measure, class, count, total_ms)
        SELECT step, start, measure, class, sum(count), sum(total_ms)
        FROM held, unnest(:durationSteps, :durationStarts, :measures, :classes, :classCounts, :classTotalsMs)
          AS duration (step, start, measure, class, count, total_ms)
        GROUP BY step, start, measure, class ORDER BY step, start, measure, class
        ON CONFLICT (step, start, measure, class) DO UPDATE
        SET count = task_duration.count + excluded.count, total_ms = task_duration.total_ms + excluded.total_ms)`,
    outcome: "'null'",
  }),
  isDurable: false,
  keys: () => [],
  values: (calls) => {
    const periods = calls
      .flat()
      .flatMap((period) => STATISTICS_STEPS.map((step) => ({ step, start: startOf(step, period), period })));
    const durations = periods.flatMap(({ step, start, period: { waits, runs } }): Duration[] => [
      ...waits.map((each) => ({ step, start, measure: 'WAIT' as const, ...each })),
      ...runs.map((each) => ({ step, start, measure: 'RUN' as const, ...each })),
    ]);
    return {
      steps: periods.map(({ step }) => step),
      starts: periods.map(({ start }) => start),
      ...Object.fromEntries(PARAMETERS.map((name) => [name, periods.map(({ period }) => period[name])])),
      durationSteps: durations.map(({ step }) => step),
      durationStarts: durations.map(({ start }) => start),
      measures: durations.map(({ measure }) => measure),
      classes: durations.map(({ class: number }) => number),
      classCounts: durations.map(({ count }) => count),
      classTotalsMs: durations.map(({ totalMs }) => totalMs),
    };
  },
  results: (calls) => calls.map(() => null),
};

const FORGET: LaneWrite<{ readonly step: StatisticsStep; readonly beforeMs: number }, null> = {
  statement: laneStatement({
    isDurable: false,
    parameters: { step: 'text', before: 'bigint' },
    parts: `
      forgotten AS (DELETE FROM task_statistics USING held WHERE step = :step AND start < :before),
      forgotten_durations AS (DELETE FROM task_duration USING held WHERE step = :step AND start < :before)`,
    outcome: "'null'",
  }),
  isDurable: false,
  keys: () => ['all'],
  values: ([period]) => ({ step: period?.step, before: period?.beforeMs }),
  results: () => [null],
};

/** Classes of durations with their counts and sums; null for none. */
type Classes = readonly (readonly [number: number, count: number, totalMs: number])[] | null;

interface PeriodRow extends TaskCounts {
  readonly startMs: number;
  readonly waits: Classes;
  readonly runs: Classes;
}

/** Durations of a period as a JSON array of {@link Classes}. */
function classesOf(measure: Duration['measure']): string {
  return `(SELECT json_agg(json_build_array(class, count, total_ms) ORDER BY class) FROM task_duration AS duration
     WHERE duration.step = period.step AND duration.start = period.start AND measure = '${measure}')`;
}

const BETWEEN = sql(
  { step: 'text', from: 'bigint', to: 'bigint' },
  `SELECT start AS "startMs", created, started, finished, failed, canceled, lost, waited_ms AS "waitedMs", ran_ms AS "ranMs",
     ${classesOf('WAIT')} AS waits, ${classesOf('RUN')} AS runs
   FROM task_statistics AS period WHERE step = :step AND start >= :from AND start < :to ORDER BY start`,
);

export function postgresTaskStatistics(db: Database, { side }: Lanes): TaskStatistics {
  return {
    add: async (minutes) => void (await side.write(ADD, minutes)),
    between: async (step, fromMs, toMs) => {
      const values = { step, from: fromMs, to: toMs };
      const rows = await rowsOf<PeriodRow, keyof typeof values>(db, BETWEEN, values);
      return rows.map(({ waits, runs, ...period }) => ({
        ...period,
        waits: durationsOf(waits),
        runs: durationsOf(runs),
      }));
    },
    forget: async (step, beforeMs) => void (await side.write(FORGET, { step, beforeMs })),
  };
}

function durationsOf(classes: Classes): DurationClass[] {
  return (classes ?? []).map(([number, count, totalMs]) => ({ class: number, count, totalMs }));
}

function startOf(step: StatisticsStep, { startMs }: StatisticsPeriod): number {
  return Math.floor(startMs / STEP_MS[step]) * STEP_MS[step];
}
