import { MAX_CACHED_CHARACTERS } from '../../rows/limits.js';
import type { SqliteDatabase } from '../connection/database.js';
import type { GroupCommit } from '../connection/group-commit.js';

export interface RequirementIds {
  /** Row id of a requirement key, which is inserted if need be. To be called within a transaction. */
  of(key: string): number;
  /** Clears the cache, after rows were removed. */
  forget(): void;
}

export function requirementIds(db: SqliteDatabase, commit: GroupCommit): RequirementIds {
  const insert = db.prepare<[string]>('INSERT INTO requirement (key) VALUES (?) ON CONFLICT DO NOTHING');
  const select = db.prepare<[string], number>('SELECT id FROM requirement WHERE key = ?').pluck();
  const cached = new Map<string, number>();
  let cachedCharacters = 0;
  const forget = () => {
    cached.clear();
    cachedCharacters = 0;
  };
  commit.onRollback(forget);
  return {
    of(key) {
      const known = cached.get(key);
      if (known !== undefined) return known;
      if (cachedCharacters + key.length > MAX_CACHED_CHARACTERS) forget();
      insert.run(key);
      const id = select.get(key) as number;
      cached.set(key, id);
      cachedCharacters += key.length;
      return id;
    },
    forget,
  };
}
