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
      WHERE stored_at < ? AND NOT ${named('small_file.digest', '0')}
      LIMIT ?)`);
  const selectNamed = db.prepare<[{ digests: string; encrypted: number }], { value: string }>(
    `SELECT value FROM json_each(@digests) WHERE ${named('value', '@encrypted')}`,
  );

  return {
    put: async (digest, content, storedAtMs) =>
      void (await commit.relaxed(() => insert.run(digest, storedAtMs, content))),
    find: async (digest) => select.get(digest)?.content,
    sweep: async (storedBeforeMs) => {
      let removed = 0;
      for (;;) {
        const { changes } = await commit.freeing(() => remove.run(storedBeforeMs, SWEEP_BATCH), {
          durable: false,
        });
        removed += changes;
        if (changes < SWEEP_BATCH) return removed;
      }
    },
    named: async (digests, encrypted) =>
      new Set(
        selectNamed
          .all({ digests: JSON.stringify(digests), encrypted: encrypted ? 1 : 0 })
          .map(({ value }) => value),
      ),
  };
}

/** Whether a task or a name in the storage refers to this content, in the form that it lies in. */
function named(digest: string, encrypted: string): string {
  const refersTo = (table: string) =>
    `EXISTS (SELECT 1 FROM ${table} WHERE ${table}.digest = ${digest} AND ${table}.encrypted = ${encrypted})`;
  return `(${refersTo('task_file')} OR ${refersTo('stored_file')})`;
}
