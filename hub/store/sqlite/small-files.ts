import type { SmallFiles } from '../../core/ports/files.js';
import type { SqliteDatabase } from './database.js';
import type { GroupCommit } from './group-commit.js';

/** Rows removed in one transaction, so that a sweep never holds up the hub for long. */
const SWEEP_BATCH = 500;

export function sqliteSmallFiles(db: SqliteDatabase, commit: GroupCommit): SmallFiles {
  const insert = db.prepare<[string, number, Buffer]>(`
    INSERT INTO small_file (digest, stored_at, content) VALUES (?, ?, ?)
    ON CONFLICT (digest) DO UPDATE SET stored_at = excluded.stored_at`);
  const select = db.prepare<[string], { content: Buffer }>('SELECT content FROM small_file WHERE digest = ?');
  const remove = db.prepare<[number, number]>(`
    DELETE FROM small_file WHERE digest IN (
      SELECT digest FROM small_file
      WHERE stored_at < ? AND NOT EXISTS (SELECT 1 FROM task_file WHERE task_file.digest = small_file.digest)
      LIMIT ?)`);
  const selectNamed = db.prepare<[string], { value: string }>(`
    SELECT value FROM json_each(?) WHERE EXISTS (SELECT 1 FROM task_file WHERE digest = value)`);

  return {
    put: async (digest, content, storedAtMs) =>
      void (await commit.relaxed(() => insert.run(digest, storedAtMs, content))),
    find: async (digest) => select.get(digest)?.content,
    sweep: async (storedBeforeMs) => {
      let removed = 0;
      for (;;) {
        const { changes } = await commit.relaxed(() => remove.run(storedBeforeMs, SWEEP_BATCH));
        removed += changes;
        if (changes < SWEEP_BATCH) return removed;
      }
    },
    named: async (digests) => new Set(selectNamed.all(JSON.stringify(digests)).map(({ value }) => value)),
  };
}
