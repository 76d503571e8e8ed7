import type { ResumableUpload, ResumableUploads } from '../../../core/ports/resumable-uploads.js';
import { MAX_STORED_UPLOADS } from '../../rows/limits.js';
import { type UploadRow, uploadOfRow } from '../../rows/upload-row.js';
import type { SqliteDatabase } from '../connection/database.js';
import type { GroupCommit } from '../connection/group-commit.js';
import type { NameTable } from './named-objects.js';

type Row = UploadRow<number>;

export function sqliteResumableUploads(
  db: SqliteDatabase,
  commit: GroupCommit,
  names: NameTable,
): ResumableUploads {
  const insert = db.prepare<[Row]>(`
    INSERT INTO resumable_upload VALUES (@id, @name, @owner, @overwrite, @encrypt, @size_bytes, @received_bytes,
      @announced_digest, @digest, @metadata, @created_at, @expires_at, @is_stored)`);
  const select = db.prepare<[string, number], Row>(
    'SELECT * FROM resumable_upload WHERE id = ? AND expires_at > ?',
  );
  const selectOf = db.prepare<[string | null, number], Row>(`
    SELECT * FROM resumable_upload WHERE owner IS ? AND is_stored = 0 AND expires_at > ? ORDER BY created_at, id`);
  const count = db
    .prepare<[string | null], number>(
      'SELECT count(*) FROM resumable_upload WHERE owner IS ? AND is_stored = 0',
    )
    .pluck();
  const forgetStored = db.prepare<[string | null, number]>(`
    DELETE FROM resumable_upload WHERE id IN (
      SELECT id FROM resumable_upload WHERE owner IS ? AND is_stored = 1 ORDER BY expires_at DESC LIMIT -1 OFFSET ?)`);
  const advance = db.prepare<[number, number, string, number]>(`
    UPDATE resumable_upload SET received_bytes = ?, expires_at = ?
    WHERE id = ? AND received_bytes = ? AND is_stored = 0`);
  const identify = db.prepare<[string, string]>('UPDATE resumable_upload SET digest = ? WHERE id = ?');
  const markStored = db.prepare<[number, string]>(
    'UPDATE resumable_upload SET is_stored = 1, expires_at = ? WHERE id = ? AND is_stored = 0',
  );
  const remove = db.prepare<[string]>('DELETE FROM resumable_upload WHERE id = ?');
  const removeExpired = db.prepare<[number]>('DELETE FROM resumable_upload WHERE expires_at <= ?');
  const isKnown = db.prepare<[string], number>('SELECT 1 FROM resumable_upload WHERE id = ?').pluck();

  return {
    create: (upload, terms) =>
      commit.durable(() => {
        const { name, owner, sizeBytes, createdAtMs: storedAtMs } = upload;
        if ((count.get(owner) as number) >= terms.maxUploads) return { kind: 'TOO_MANY_UPLOADS' };
        const refusal = names.refusal({ area: 'INPUT', name, owner, sizeBytes, storedAtMs }, terms);
        if (refusal) return refusal;
        forgetStored.run(owner, MAX_STORED_UPLOADS);
        insert.run(rowOf(upload));
        return { kind: 'CREATED' };
      }),
    find: async (id, nowMs) => {
      const row = select.get(id, nowMs);
      return row && uploadOfRow(row);
    },
    listOf: async (owner, nowMs) => selectOf.all(owner, nowMs).map(uploadOfRow),
    advance: (id, fromByte, toByte, expiresAtMs) =>
      commit.durable(() => advance.run(toByte, expiresAtMs, id, fromByte).changes > 0),
    identify: async (id, digest) => void (await commit.durable(() => identify.run(digest, id))),
    finish: (id, stored, terms, expiresAtMs) =>
      commit.durable(() => {
        const refusal = names.refusal(stored, terms, id);
        if (refusal) return refusal;
        names.put(stored);
        markStored.run(expiresAtMs, id);
        return { kind: 'NAMED' };
      }),
    remove: async (id) => void (await commit.freeing(() => remove.run(id))),
    removeExpired: (nowMs) => commit.freeing(() => removeExpired.run(nowMs).changes),
    known: async (ids) => new Set(ids.filter((id) => isKnown.get(id) !== undefined)),
  };
}

function rowOf(upload: ResumableUpload): Row {
  return {
    id: upload.id,
    name: upload.name,
    owner: upload.owner,
    overwrite: Number(upload.overwrite),
    encrypt: Number(upload.encrypt),
    size_bytes: upload.sizeBytes,
    received_bytes: upload.receivedBytes,
    announced_digest: upload.announcedDigest,
    digest: upload.digest,
    metadata: upload.metadata,
    created_at: upload.createdAtMs,
    expires_at: upload.expiresAtMs,
    is_stored: Number(upload.isStored),
  };
}
