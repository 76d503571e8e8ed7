import type { NamedObject, NamedObjects, StorageArea, StorageUse } from '../../core/ports/named-objects.js';
import { isReferenced } from './blob-references.js';
import type { SqliteDatabase } from './database.js';
import type { GroupCommit } from './group-commit.js';

/** Rows removed in one transaction, so that a sweep never blocks the hub for long. */
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

/** Parameters of the statements that compute usage. */
interface NamesOfOwner {
  readonly area: StorageArea;
  readonly owner: string | null;
  /** Name that is not counted. */
  readonly except: string;
}

/** Writes of named objects within a transaction. */
export interface NameTable {
  /** Replaces the object of this name. */
  put(stored: NamedObject): void;
}

export function nameTable(db: SqliteDatabase): NameTable {
  // Not REPLACE, whose deletion would not be logged as a removed reference.
  const insert = db.prepare<[string, string, string, number, number, string | null, number, number]>(`
    INSERT INTO stored_file (area, name, digest, size_bytes, encrypted, owner, stored_at, expires_at)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (area, name) DO UPDATE SET
      digest = excluded.digest, size_bytes = excluded.size_bytes, encrypted = excluded.encrypted,
      owner = excluded.owner, stored_at = excluded.stored_at, expires_at = excluded.expires_at`);
  return {
    put: ({ area, name, digest, sizeBytes, encrypted, owner, storedAtMs, expiresAtMs }) =>
      void insert.run(area, name, digest, sizeBytes, encrypted ? 1 : 0, owner, storedAtMs, expiresAtMs),
  };
}

export function sqliteNamedObjects(db: SqliteDatabase, commit: GroupCommit, names: NameTable): NamedObjects {
  const select = db.prepare<[string, string, number], NameRow>(
    'SELECT * FROM stored_file WHERE area = ? AND name = ? AND expires_at > ?',
  );
  // One byte of UTF-8 never begins with 0xFF: all names with the prefix come before it.
  const selectNames = db.prepare<[Record<string, unknown>], NameRow>(`
    SELECT * FROM stored_file
    WHERE area = @area AND name > @after AND name >= @prefix AND name < @prefix || CAST(x'ff' AS TEXT)
      AND expires_at > @nowMs AND (@owner IS NULL OR owner = @owner)
    ORDER BY name LIMIT @limit`);
  const selectUse = db.prepare<[NamesOfOwner], { files: number; bytes: number }>(`
    SELECT count(*) AS files, coalesce(sum(size_bytes), 0) AS bytes FROM stored_file
    WHERE area = @area AND owner IS @owner AND name <> @except`);
  const sumDropped = db
    .prepare<[NamesOfOwner], number>(`
      SELECT coalesce(sum(size_bytes), 0) FROM (
        SELECT DISTINCT digest, encrypted, size_bytes FROM dropped_content
        WHERE area = @area AND owner IS @owner AND NOT ${isReferenced('dropped_content.digest', 'dropped_content.encrypted')})`)
    .pluck();
  const renew = db.prepare<[number, string, string, number]>(
    'UPDATE stored_file SET expires_at = ? WHERE area = ? AND name = ? AND expires_at > ?',
  );
  const remove = db.prepare<[string, string]>('DELETE FROM stored_file WHERE area = ? AND name = ?');
  const removeExpired = db.prepare<[number, number]>(`
    DELETE FROM stored_file WHERE (area, name) IN (
      SELECT area, name FROM stored_file WHERE expires_at <= ? LIMIT ?)`);

  const rowOf = (area: StorageArea, name: string, nowMs: number) => select.get(area, name, nowMs);
  const useOf = (owned: NamesOfOwner): StorageUse => {
    const { files, bytes } = selectUse.get(owned) as { files: number; bytes: number };
    return { files, bytes: bytes + (sumDropped.get(owned) ?? 0) };
  };

  return {
    find: async (area, name, nowMs) => {
      const row = rowOf(area, name, nowMs);
      return row && namedObjectOf(area, row);
    },
    list: async (area, { prefix = '', owner = null, after = '', limit }, nowMs) =>
      selectNames.all({ area, prefix, owner, after, limit, nowMs }).map((row) => namedObjectOf(area, row)),
    put: (stored, { overwrite, quotaBytes, maxFiles }) =>
      commit.durable(() => {
        const { area, name, owner, sizeBytes, storedAtMs } = stored;
        if (!overwrite && rowOf(area, name, storedAtMs)) return { kind: 'EXISTS' };
        const use = useOf({ area, owner, except: name });
        if (use.files >= maxFiles) return { kind: 'TOO_MANY_FILES', files: use.files };
        if (quotaBytes !== null && use.bytes + sizeBytes > quotaBytes)
          return { kind: 'OVER_QUOTA', usedBytes: use.bytes };
        names.put(stored);
        return { kind: 'NAMED' };
      }),
    renew: (area, name, nowMs, expiresAtMs) =>
      commit.freeing(() => renew.run(expiresAtMs, area, name, nowMs).changes > 0),
    remove: async (area, name) => void (await commit.freeing(() => remove.run(area, name))),
    useOf: async (area, owner, except) => useOf({ area, owner, except }),
    removeExpired: async (nowMs) => {
      let removed = 0;
      for (;;) {
        const { changes } = await commit.freeing(() => removeExpired.run(nowMs, SWEEP_BATCH));
        removed += changes;
        if (changes < SWEEP_BATCH) return removed;
      }
    },
  };
}

function namedObjectOf(area: StorageArea, row: NameRow): NamedObject {
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
