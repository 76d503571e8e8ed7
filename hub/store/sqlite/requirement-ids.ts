import type { SqliteDatabase } from './database.js';
import type { GroupCommit } from './group-commit.js';

/** Cached requirements; beyond, the cache is cleared. */
const MAX_CACHED = 10_000;

/** Looks up the row id of a requirement key, which it inserts if need be. To be called within a transaction. */
export function requirementIds(db: SqliteDatabase, commit: GroupCommit): (key: string) => number {
  const insert = db.prepare<[string]>('INSERT INTO requirement (key) VALUES (?) ON CONFLICT DO NOTHING');
  const select = db.prepare<[string], number>('SELECT id FROM requirement WHERE key = ?').pluck();
  const cached = new Map<string, number>();
  commit.onRollback(() => cached.clear());
  return (key) => {
    const known = cached.get(key);
    if (known !== undefined) return known;
    if (cached.size >= MAX_CACHED) cached.clear();
    insert.run(key);
    const id = select.get(key) as number;
    cached.set(key, id);
    return id;
  };
}
