/** Findings about a database that is only read. All throw `StartRefused` for a file that is no database. */
import { createHash } from 'node:crypto';
import type { BlobObject, ReferencedBlob } from '../../../core/ports/store-maintenance.js';
import type { SqliteDatabase } from '../connection/database.js';
import { reading } from '../connection/read-only.js';

export interface Inspection {
  /** Damage, in the words of SQLite. */
  readonly faults: readonly string[];
  readonly schemaVersion: number;
}

/** Findings of each check that are reported. */
const MAX_FAULTS = 20;

/** References to blobs outside the database. */
const REFERENCED_BLOBS = `
  SELECT DISTINCT digest, encrypted, size_bytes AS sizeBytes FROM (
    SELECT digest, encrypted, size_bytes FROM task_file
    UNION ALL SELECT digest, encrypted, size_bytes FROM stored_file
     UNION ALL SELECT digest, encrypted, size_bytes FROM study_file) AS named
  WHERE encrypted = 1 OR NOT EXISTS (SELECT 1 FROM small_file WHERE small_file.digest = named.digest)
  ORDER BY digest, encrypted`;

/** `quick` leaves out the comparison of indexes with tables. */
export function inspectDatabase(file: string, quick: boolean): Inspection {
  return reading(file, (db) => {
    const check = quick ? 'quick_check' : 'integrity_check';
    const rows = db.pragma(`${check}(${MAX_FAULTS})`) as Record<string, string>[];
    const found = rows.map((row) => Object.values(row)[0] ?? '').filter((text) => text !== 'ok');
    const broken = (db.pragma('foreign_key_check') as { table: string }[]).slice(0, MAX_FAULTS);
    return {
      faults: [...found, ...broken.map(({ table }) => `a row of ${table} refers to one that is not there`)],
      schemaVersion: db.pragma('user_version', { simple: true }) as number,
    };
  });
}

export function referencedBlobsIn(db: SqliteDatabase): ReferencedBlob[] {
  return db
    .prepare<[], { digest: string; encrypted: number; sizeBytes: number }>(REFERENCED_BLOBS)
    .all()
    .map(({ digest, encrypted, sizeBytes }) => ({ digest, encrypted: encrypted === 1, sizeBytes }));
}

/** Empty for a schema without a catalogue. */
export function blobObjects(file: string): BlobObject[] {
  return reading(file, (db) => {
    if ((db.pragma('table_info(blob_object)') as unknown[]).length === 0) return [];
    return db.prepare<[], BlobObject>('SELECT name, object FROM blob_object ORDER BY name').all();
  });
}

export function tasksByStatus(file: string): Record<string, number> {
  return reading(file, (db) =>
    Object.fromEntries(
      db
        .prepare<[], { status: string; tasks: number }>(
          'SELECT status, count(*) AS tasks FROM task GROUP BY status ORDER BY status',
        )
        .all()
        .map(({ status, tasks }) => [status, tasks]),
    ),
  );
}

/** Digests of the inline blobs whose bytes do not match. */
export function damagedInlineBlobs(file: string): string[] {
  return reading(file, (db) => {
    const damaged: string[] = [];
    const all = db.prepare<[], { digest: string; content: Buffer }>('SELECT digest, content FROM small_file');
    for (const { digest, content } of all.iterate()) {
      if (createHash('sha256').update(content).digest('hex') !== digest) damaged.push(digest);
    }
    return damaged;
  });
}

export function tasksReferringTo(file: string, digest: string, limit: number): string[] {
  return reading(file, (db) =>
    db
      .prepare<[string, number], string>(
        `SELECT DISTINCT task.id FROM task_file JOIN task ON task.seq = task_file.task_seq
         WHERE task_file.digest = ? LIMIT ?`,
      )
      .pluck()
      .all(digest, limit),
  );
}

/** Clock offsets of agents at their last join; empty for a schema that does not record them. */
export function agentClocks(file: string): { readonly agentId: string; readonly offsetMs: number }[] {
  return reading(file, (db) => {
    const columns = db.pragma('table_info(agent)') as { name: string }[];
    if (!columns.some(({ name }) => name === 'clock_offset_ms')) return [];
    return db
      .prepare<[], { agentId: string; offsetMs: number }>(
        `SELECT id AS agentId, clock_offset_ms AS offsetMs FROM agent
         WHERE clock_offset_ms IS NOT NULL ORDER BY id`,
      )
      .all();
  });
}
