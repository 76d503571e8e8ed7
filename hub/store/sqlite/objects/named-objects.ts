import type {
  NamedObject,
  NamedObjects,
  NamingOutcome,
  NamingTerms,
  StorageArea,
} from '../../../core/ports/named-objects.js';
import { SWEEP_BATCH } from '../../rows/limits.js';
import { namedObjectOfRow, type StoredObjectRow } from '../../rows/stored-object-row.js';
import type { SqliteDatabase } from '../connection/database.js';
import type { GroupCommit } from '../connection/group-commit.js';
import { storageUse, type UseOf } from './storage-use.js';

/** Writes of named objects within a transaction. */
export interface NameTable {
  readonly useOf: UseOf;
  /** Replaces the object of this name. */
  put(stored: NamedObject): void;
  /** The reason why the terms forbid this object; undefined for none. `exceptUpload` does not count for the quota. */
  refusal(stored: NewName, terms: NamingTerms, exceptUpload?: string): NamingRefusal | undefined;
}

type NewName = Pick<NamedObject, 'area' | 'name' | 'owner' | 'sizeBytes' | 'storedAtMs'>;
type NamingRefusal = Exclude<NamingOutcome, { readonly kind: 'NAMED' }>;

export function nameTable(db: SqliteDatabase): NameTable {
  // Not REPLACE, whose deletion would not be logged as a removed reference.
  const insert = db.prepare<[string, string, string, number, number, string | null, number, number]>(`
    INSERT INTO stored_file (area, name, digest, size_bytes, encrypted, owner, stored_at, expires_at)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (area, name) DO UPDATE SET
      digest = excluded.digest, size_bytes = excluded.size_bytes, encrypted = excluded.encrypted,
      owner = excluded.owner, stored_at = excluded.stored_at, expires_at = excluded.expires_at`);
  const present = db.prepare<[string, string, number], Pick<StoredObjectRow, 'owner'>>(
    'SELECT owner FROM stored_file WHERE area = ? AND name = ? AND expires_at > ?',
  );
  const useOf = storageUse(db);
  return {
    useOf,
    put: ({ area, name, digest, sizeBytes, encrypted, owner, storedAtMs, expiresAtMs }) =>
      void insert.run(area, name, digest, sizeBytes, encrypted ? 1 : 0, owner, storedAtMs, expiresAtMs),
    refusal: (
      { area, name, owner, sizeBytes, storedAtMs },
      { overwrite, ofOwner, quotaBytes, maxFiles },
      exceptUpload = '',
    ) => {
      const former = overwrite && ofOwner === undefined ? undefined : present.get(area, name, storedAtMs);
      if (former && !overwrite) return { kind: 'EXISTS' };
      if (former && former.owner !== ofOwner) return { kind: 'FOREIGN', owner: former.owner };
      const use = useOf({ area, owner, except: name, exceptUpload });
      if (use.files >= maxFiles) return { kind: 'TOO_MANY_FILES', files: use.files };
      const isOver = quotaBytes !== null && use.bytes + sizeBytes > quotaBytes;
      return isOver ? { kind: 'OVER_QUOTA', usedBytes: use.bytes } : undefined;
    },
  };
}

export function sqliteNamedObjects(db: SqliteDatabase, commit: GroupCommit, names: NameTable): NamedObjects {
  const select = db.prepare<[string, string, number], StoredObjectRow>(
    'SELECT * FROM stored_file WHERE area = ? AND name = ? AND expires_at > ?',
  );
  // One byte of UTF-8 never begins with 0xFF: all names with the prefix come before it.
  const selectNames = db.prepare<[Record<string, unknown>], StoredObjectRow>(`
    SELECT * FROM stored_file
    WHERE area = @area AND name > @after AND name >= @prefix AND name < @prefix || CAST(x'ff' AS TEXT)
      AND expires_at > @nowMs AND (@owner IS NULL OR owner = @owner)
    ORDER BY name LIMIT @limit`);
  const renew = db.prepare<[Record<string, unknown>]>(`
    UPDATE stored_file SET expires_at = @expiresAtMs
    WHERE area = @area AND name = @name AND expires_at > @nowMs AND (@ofOwner IS NULL OR owner = @ofOwner)`);
  const remove = db.prepare<[Record<string, unknown>]>(`
    DELETE FROM stored_file WHERE area = @area AND name = @name AND (@ofOwner IS NULL OR owner = @ofOwner)`);
  const removeExpired = db.prepare<[number, number]>(`
    DELETE FROM stored_file WHERE (area, name) IN (
      SELECT area, name FROM stored_file WHERE expires_at <= ? LIMIT ?)`);

  const rowOf = (area: StorageArea, name: string, nowMs: number) => select.get(area, name, nowMs);

  return {
    find: async (area, name, nowMs) => {
      const row = rowOf(area, name, nowMs);
      return row && namedObjectOfRow(area, row);
    },
    list: async (area, { prefix = '', owner = null, after = '', limit }, nowMs) =>
      selectNames.all({ area, prefix, owner, after, limit, nowMs }).map((row) => namedObjectOfRow(area, row)),
    put: (stored, terms) =>
      commit.durable(() => {
        const refusal = names.refusal(stored, terms);
        if (refusal) return refusal;
        names.put(stored);
        return { kind: 'NAMED' };
      }),
    renew: (area, name, nowMs, expiresAtMs, ofOwner = undefined) =>
      commit.freeing(
        () => renew.run({ area, name, nowMs, expiresAtMs, ofOwner: ofOwner ?? null }).changes > 0,
      ),
    remove: async (area, name, ofOwner = undefined) =>
      void (await commit.freeing(() => remove.run({ area, name, ofOwner: ofOwner ?? null }))),
    useOf: async (area, owner, except) => names.useOf({ area, owner, except }),
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
