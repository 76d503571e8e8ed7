import type { StorageArea, StoredName, StoredNames } from '../../core/ports/storage.js';
import type { SqliteDatabase } from './database.js';
import type { GroupCommit } from './group-commit.js';

/** Rows removed in one transaction, so that a sweep never holds up the hub for long. */
const SWEEP_BATCH = 500;

interface NameRow {
  name: string;
  digest: string;
  size_bytes: number;
  encrypted: number;
  owner: string | null;
  stored_at: number;
  expires_at: number;
}

/** The steps of a transaction that names contents. */
export interface NameTable {
  /** Takes the place of whatever has the name. */
  put(stored: StoredName): void;
}

export function nameTable(db: SqliteDatabase): NameTable {
  const keepFormer = db.prepare<[number, string, string]>(`
    UPDATE small_file SET stored_at = max(stored_at, ?)
    WHERE digest IN (SELECT digest FROM stored_file WHERE area = ? AND name = ?)`);
  const insert = db.prepare<[string, string, string, number, number, string | null, number, number]>(`
    INSERT OR REPLACE INTO stored_file (area, name, digest, size_bytes, encrypted, owner, stored_at, expires_at)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?)`);
  return {
    put: ({ area, name, digest, sizeBytes, encrypted, owner, storedAtMs, expiresAtMs }) => {
      keepFormer.run(storedAtMs, area, name);
      insert.run(area, name, digest, sizeBytes, encrypted ? 1 : 0, owner, storedAtMs, expiresAtMs);
    },
  };
}

export function sqliteStoredNames(db: SqliteDatabase, commit: GroupCommit, names: NameTable): StoredNames {
  const select = db.prepare<[string, string, number], NameRow>(
    'SELECT * FROM stored_file WHERE area = ? AND name = ? AND expires_at > ?',
  );
  const sumUsed = db
    .prepare<[string, string | null, string, number], number>(`
      SELECT coalesce(sum(size_bytes), 0) FROM stored_file
      WHERE area = ? AND owner IS ? AND name <> ? AND expires_at > ?`)
    .pluck();
  const renew = db.prepare<[number, string, string, number]>(
    'UPDATE stored_file SET expires_at = ? WHERE area = ? AND name = ? AND expires_at > ?',
  );
  const remove = db
    .prepare<[string, string], string>('DELETE FROM stored_file WHERE area = ? AND name = ? RETURNING digest')
    .pluck();
  const removeExpired = db
    .prepare<[number, number], string>(`
      DELETE FROM stored_file WHERE (area, name) IN (
        SELECT area, name FROM stored_file WHERE expires_at <= ? LIMIT ?)
      RETURNING digest`)
    .pluck();
  const keep = db.prepare<[number, string]>(
    'UPDATE small_file SET stored_at = max(stored_at, ?) WHERE digest = ?',
  );

  const rowOf = (area: StorageArea, name: string, nowMs: number) => select.get(area, name, nowMs);

  return {
    find: async (area, name, nowMs) => {
      const row = rowOf(area, name, nowMs);
      return row && storedNameOf(area, row);
    },
    put: (stored, { overwrite, quotaBytes }) =>
      commit.durable(() => {
        const { area, name, owner, sizeBytes, storedAtMs } = stored;
        if (!overwrite && rowOf(area, name, storedAtMs)) return { kind: 'EXISTS' };
        const usedBytes = sumUsed.get(area, owner, name, storedAtMs) ?? 0;
        if (quotaBytes !== null && usedBytes + sizeBytes > quotaBytes)
          return { kind: 'OVER_QUOTA', usedBytes };
        names.put(stored);
        return { kind: 'NAMED' };
      }),
    renew: (area, name, nowMs, expiresAtMs) =>
      commit.freeing(() => renew.run(expiresAtMs, area, name, nowMs).changes > 0),
    remove: (area, name, nowMs) =>
      commit.freeing(() => {
        for (const digest of remove.all(area, name)) keep.run(nowMs, digest);
      }),
    usedBytes: async (area, owner, except, nowMs) => sumUsed.get(area, owner, except, nowMs) ?? 0,
    removeExpired: async (nowMs) => {
      let removed = 0;
      for (;;) {
        const digests = await commit.freeing(() => {
          const gone = removeExpired.all(nowMs, SWEEP_BATCH);
          for (const digest of gone) keep.run(nowMs, digest);
          return gone;
        });
        removed += digests.length;
        if (digests.length < SWEEP_BATCH) return removed;
      }
    },
  };
}

function storedNameOf(area: StorageArea, row: NameRow): StoredName {
  return {
    area,
    name: row.name,
    digest: row.digest,
    sizeBytes: row.size_bytes,
    ...(row.encrypted ? { encrypted: true } : {}),
    owner: row.owner,
    storedAtMs: row.stored_at,
    expiresAtMs: row.expires_at,
  };
}
