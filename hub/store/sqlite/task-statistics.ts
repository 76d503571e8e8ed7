import {
  STATISTICS_STEPS,
  STEP_MS,
  type StatisticsPeriod,
  type TaskStatistics,
} from '../../core/ports/task-statistics.js';
import type { SqliteDatabase } from './database.js';
import type { GroupCommit } from './group-commit.js';

const COUNTS = ['created', 'started', 'finished', 'failed', 'canceled', 'lost', 'waited_ms', 'ran_ms'];

export function sqliteTaskStatistics(db: SqliteDatabase, commit: GroupCommit): TaskStatistics {
  const add = db.prepare<[string, number, ...number[]]>(`
    INSERT INTO task_statistics (step, start, ${COUNTS.join(', ')}) VALUES (?, ?, ${COUNTS.map(() => '?').join(', ')})
    ON CONFLICT (step, start) DO UPDATE SET ${COUNTS.map((name) => `${name} = ${name} + excluded.${name}`).join(', ')}`);
  const select = db.prepare<[string, number, number], StatisticsPeriod>(`
    SELECT start AS startMs, created, started, finished, failed, canceled, lost, waited_ms AS waitedMs, ran_ms AS ranMs
    FROM task_statistics WHERE step = ? AND start >= ? AND start < ? ORDER BY start`);
  const forget = db.prepare<[string, number]>('DELETE FROM task_statistics WHERE step = ? AND start < ?');

  const addTo = (step: (typeof STATISTICS_STEPS)[number], { startMs, ...counts }: StatisticsPeriod) => {
    const { created, started, finished, failed, canceled, lost, waitedMs, ranMs } = counts;
    const start = Math.floor(startMs / STEP_MS[step]) * STEP_MS[step];
    add.run(step, start, created, started, finished, failed, canceled, lost, waitedMs, ranMs);
  };
  return {
    add: (minutes) =>
      commit.relaxed(() => {
        for (const minute of minutes) for (const step of STATISTICS_STEPS) addTo(step, minute);
      }),
    between: async (step, fromMs, toMs) => select.all(step, fromMs, toMs),
    forget: async (step, beforeMs) =>
      void (await commit.freeing(() => forget.run(step, beforeMs), { durable: false })),
  };
}
