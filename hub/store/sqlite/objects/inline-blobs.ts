import type { BlobForm, DroppedBlob, InlineBlobs, UnusedBlob } from '../../../core/ports/blobs.js';
import { RECENT_MS, SWEEP_BATCH } from '../../rows/limits.js';
import type { SqliteDatabase } from '../connection/database.js';
import type { GroupCommit } from '../connection/group-commit.js';
import { anotherTime, isReferenced } from './blob-references.js';

interface DroppedRow {
  id: number;
  digest: string;
  encrypted: number;
}

export function sqliteInlineBlobs(db: SqliteDatabase, commit: GroupCommit): InlineBlobs {
  const sql = statements(db);

  const removeOne = ({ digest, encrypted, storedAtMs }: UnusedBlob): boolean => {
    if (sql.selectIsReferenced.get({ digest, encrypted: encrypted ? 1 : 0 }) === 1) return false;
    const isUsed = storedAtMs !== undefined && sql.selectStoredAt.get(digest) !== storedAtMs;
    if (!encrypted && !isUsed) sql.remove.run(digest);
    return true;
  };

  return {
    put: async (digest, blob, storedAtMs) =>
      void (await commit.relaxed(() => sql.insert.run(digest, storedAtMs, blob))),
    isRecent: (digest, nowMs) => {
      const storedAtMs = sql.selectStoredAt.get(digest);
      return storedAtMs !== undefined && Math.abs(nowMs - storedAtMs) < RECENT_MS;
    },
    // Storing times are read from the database, and no other hub removes anything.
    forgetRecent: () => undefined,
    renew: async (digest, nowMs) => void (await commit.relaxed(() => sql.renew.run({ digest, nowMs }))),
    storedAt: async (digests) =>
      new Map(
        digests.flatMap((digest) => {
          const storedAtMs = sql.selectStoredAt.get(digest);
          return storedAtMs === undefined ? [] : [[digest, storedAtMs]];
        }),
      ),
    old: async (after, storedBeforeMs, limit) => sql.selectOld.all(after, storedBeforeMs, limit),
    find: async (digest) => sql.select.get(digest)?.content,
    sweep: async (storedBeforeMs, nowMs, isHeld) => {
      let removed = 0;
      for (let after = ''; ; ) {
        const { old, changes } = await commit.freeing(
          () => {
            // Times in the future, from a clock that was ahead, must not delay the removal.
            if (after === '') sql.setBack.run(nowMs, nowMs);
            const old = sql.selectOld.all(after, storedBeforeMs, SWEEP_BATCH);
            const free = old.filter((digest) => !isHeld(digest));
            return { old, changes: free.reduce((sum, digest) => sum + sql.remove.run(digest).changes, 0) };
          },
          { durable: false },
        );
        removed += changes;
        if (old.length < SWEEP_BATCH) return removed;
        after = old.at(-1) as string;
      }
    },
    referenced: async (digests, encrypted) => {
      const [digest, ...others] = digests;
      if (digest !== undefined && others.length === 0) {
        const isOne = sql.selectIsReferenced.get({ digest, encrypted: encrypted ? 1 : 0 }) === 1;
        return new Set(isOne ? [digest] : []);
      }
      const found = sql.selectReferenced.all({
        digests: JSON.stringify(digests),
        encrypted: encrypted ? 1 : 0,
      });
      return new Set(found.map(({ value }) => value));
    },
    referencedEncrypted: async () => sql.selectReferencedEncrypted.all(),
    removeUnreferenced: <Blob extends UnusedBlob>(
      blobs: readonly Blob[],
      isHeld: (blob: BlobForm) => boolean,
    ) =>
      commit.freeing(() => {
        const held = blobs.filter(isHeld);
        return {
          held,
          unreferenced: blobs.filter((blob) => !held.includes(blob) && removeOne(blob)),
        };
      }),
    dropped: async (afterId, limit) =>
      sql.selectDropped
        .all(afterId, limit)
        .map(({ id, digest, encrypted }): DroppedBlob => ({ id, digest, encrypted: encrypted === 1 })),
    forgetDropped: async (ids) =>
      void (await commit.freeing(() => sql.forget.run(JSON.stringify(ids)), { durable: false })),
  };
}

/** The statements, prepared once. */
function statements(db: SqliteDatabase) {
  return {
    insert: db.prepare<[string, number, Buffer]>(`
      INSERT INTO small_file (digest, stored_at, content) VALUES (?, ?, ?)
      ON CONFLICT (digest) DO UPDATE SET stored_at = ${anotherTime('stored_at', 'excluded.stored_at')}`),
    renew: db.prepare<[{ digest: string; nowMs: number }]>(
      `UPDATE small_file SET stored_at = ${anotherTime('stored_at', '@nowMs')} WHERE digest = @digest`,
    ),
    select: db.prepare<[string], { content: Buffer }>('SELECT content FROM small_file WHERE digest = ?'),
    selectStoredAt: db.prepare<[string], number>('SELECT stored_at FROM small_file WHERE digest = ?').pluck(),
    remove: db.prepare<[string]>('DELETE FROM small_file WHERE digest = ?'),
    selectOld: db
      .prepare<[string, number, number], string>(`
        SELECT digest FROM small_file
        WHERE digest > ? AND stored_at < ? AND NOT ${isReferenced('small_file.digest', '0')}
        ORDER BY digest LIMIT ?`)
      .pluck(),
    setBack: db.prepare<[number, number]>('UPDATE small_file SET stored_at = ? WHERE stored_at > ?'),
    selectReferenced: db.prepare<[{ digests: string; encrypted: number }], { value: string }>(
      `SELECT value FROM json_each(@digests) WHERE ${isReferenced('value', '@encrypted')}`,
    ),
    selectReferencedEncrypted: db
      .prepare<[], string>(
        `SELECT digest FROM task_file WHERE encrypted = 1 UNION SELECT digest FROM stored_file WHERE encrypted = 1
         UNION SELECT digest FROM study_file WHERE encrypted = 1`,
      )
      .pluck(),
    selectIsReferenced: db
      .prepare<[{ digest: string; encrypted: number }], number>(
        `SELECT ${isReferenced('@digest', '@encrypted')} AS referenced`,
      )
      .pluck(),
    selectDropped: db.prepare<[number, number], DroppedRow>(
      'SELECT id, digest, encrypted FROM dropped_content WHERE id > ? ORDER BY id LIMIT ?',
    ),
    forget: db.prepare<[string]>('DELETE FROM dropped_content WHERE id IN (SELECT value FROM json_each(?))'),
  };
}
