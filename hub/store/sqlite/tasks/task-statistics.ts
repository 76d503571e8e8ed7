import type { DurationClass } from '../../../core/durations.js';
import {
  STATISTICS_STEPS,
  STEP_MS,
  type StatisticsPeriod,
  type StatisticsStep,
  type TaskCounts,
  type TaskStatistics,
} from '../../../core/ports/task-statistics.js';
import type { SqliteDatabase } from '../connection/database.js';
import type { GroupCommit } from '../connection/group-commit.js';

const COUNTS = ['created', 'started', 'finished', 'failed', 'canceled', 'lost', 'waited_ms', 'ran_ms'];

interface PeriodRow extends TaskCounts {
  readonly startMs: number;
  /** JSON. */
  readonly waits: string;
  readonly runs: string;
}

type ClassRow = readonly [number: number, count: number, totalMs: number];

/** Durations of a period as a JSON array of rows. */
function classesOf(measure: 'WAIT' | 'RUN'): string {
  return `(SELECT json_group_array(json_array(class, count, total_ms) ORDER BY class) FROM task_duration AS duration
     WHERE duration.step = period.step AND duration.start = period.start AND measure = '${measure}')`;
}

export function sqliteTaskStatistics(db: SqliteDatabase, commit: GroupCommit): TaskStatistics {
  const add = addStatistics(db);
  const select = db.prepare<[string, number, number], PeriodRow>(`
    SELECT start AS startMs, created, started, finished, failed, canceled, lost, waited_ms AS waitedMs, ran_ms AS ranMs,
      ${classesOf('WAIT')} AS waits, ${classesOf('RUN')} AS runs
    FROM task_statistics AS period WHERE step = ? AND start >= ? AND start < ? ORDER BY start`);
  const forget = ['task_statistics', 'task_duration'].map((table) =>
    db.prepare<[string, number]>(`DELETE FROM ${table} WHERE step = ? AND start < ?`),
  );
  const forgetBefore = (step: StatisticsStep, beforeMs: number) => {
    for (const statement of forget) statement.run(step, beforeMs);
  };
  return {
    add: (minutes) => commit.relaxed(() => add(minutes)),
    between: async (step, fromMs, toMs) => select.all(step, fromMs, toMs).map(periodOf),
    forget: (step, beforeMs) => commit.freeing(() => forgetBefore(step, beforeMs), { durable: false }),
  };
}

/** Adds counts to the minutes and hours in which they begin, within a transaction of the caller. */
export function addStatistics(db: SqliteDatabase): (minutes: readonly StatisticsPeriod[]) => void {
  const add = db.prepare<[string, number, ...number[]]>(`
    INSERT INTO task_statistics (step, start, ${COUNTS.join(', ')}) VALUES (?, ?, ${COUNTS.map(() => '?').join(', ')})
    ON CONFLICT (step, start) DO UPDATE SET ${COUNTS.map((name) => `${name} = ${name} + excluded.${name}`).join(', ')}`);
  const addDuration = db.prepare<[string, number, 'WAIT' | 'RUN', ...ClassRow]>(`
    INSERT INTO task_duration (step, start, measure, class, count, total_ms) VALUES (?, ?, ?, ?, ?, ?)
    ON CONFLICT (step, start, measure, class) DO UPDATE
    SET count = count + excluded.count, total_ms = total_ms + excluded.total_ms`);
  const addTo = (step: StatisticsStep, { startMs, waits, runs, ...counts }: StatisticsPeriod) => {
    const { created, started, finished, failed, canceled, lost, waitedMs, ranMs } = counts;
    const start = Math.floor(startMs / STEP_MS[step]) * STEP_MS[step];
    add.run(step, start, created, started, finished, failed, canceled, lost, waitedMs, ranMs);
    for (const [measure, classes] of [
      ['WAIT', waits],
      ['RUN', runs],
    ] as const)
      for (const each of classes) addDuration.run(step, start, measure, each.class, each.count, each.totalMs);
  };
  return (minutes) => {
    for (const minute of minutes) for (const step of STATISTICS_STEPS) addTo(step, minute);
  };
}

function periodOf({ waits, runs, ...period }: PeriodRow): StatisticsPeriod {
  return { ...period, waits: durationsOf(waits), runs: durationsOf(runs) };
}

function durationsOf(json: string): DurationClass[] {
  const rows = JSON.parse(json) as ClassRow[];
  return rows.map(([number, count, totalMs]) => ({ class: number, count, totalMs }));
}
