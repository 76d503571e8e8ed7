import { openDatabase, type SqliteDatabase } from '@workbench-hub/hub/store/sqlite/connection/database';
import type { StoredTasks } from './stored-task.js';

const INSERT = `
  INSERT INTO task (id, type, status, priority, requirement_id, requested_at, started_at, ended_at, attempt, agent_id,
                    instance_id, instance_version, instance_revision, batch_status, creator, name, classifiers, job)
  VALUES (@id, @type, @status, @priority, @requirement + 1, @requested_at, @started_at, @ended_at, @attempt, @agent_id,
          @instance_id, @instance_version, @instance_revision, @batch_status, @creator, @name, @classifiers, @job)`;

/** Creates a database with these tasks; the caller closes it. */
export function writeToSqlite(file: string, { requirements, tasks }: StoredTasks): SqliteDatabase {
  const db = openDatabase(file);
  db.pragma('synchronous = OFF');
  const insertRequirement = db.prepare('INSERT INTO requirement (id, key) VALUES (?, ?)');
  const insert = db.prepare(INSERT);
  db.transaction(() => {
    for (const [at, key] of requirements.entries()) insertRequirement.run(at + 1, key);
    for (const task of tasks) insert.run(task);
  })();
  db.pragma('synchronous = FULL');
  db.pragma('wal_checkpoint(TRUNCATE)');
  return db;
}
