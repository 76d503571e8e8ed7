/** Quick integrity check of an open database. */
import { statSync } from 'node:fs';
import { StartRefused } from '@workbench-hub/shared/runtime/run-program';
import type Database from 'better-sqlite3';

/** Size above which a start does not read the whole database; `workbench-hub doctor` does. */
const READ_THROUGH_BYTES = 64 * 1024 ** 2;

/** Throws {@link StartRefused} for a damaged database, and errors of SQLite. */
export function refuseDamaged(db: Database.Database, file: string): void {
  if (isTruncated(db, file)) {
    // The missing pages may still be in the log.
    db.pragma('wal_checkpoint(PASSIVE)');
    if (isTruncated(db, file)) throw damaged(file, 'the file is shorter than its header says');
  }
  if (statSync(file).size > READ_THROUGH_BYTES) return;
  const [fault] = db.pragma('quick_check(1)') as { quick_check: string }[];
  if (fault && fault.quick_check !== 'ok') throw damaged(file, fault.quick_check);
}

function isTruncated(db: Database.Database, file: string): boolean {
  const pages = db.pragma('page_count', { simple: true }) as number;
  const pageBytes = db.pragma('page_size', { simple: true }) as number;
  return statSync(file).size < pages * pageBytes;
}

function damaged(file: string, what: string): StartRefused {
  return new StartRefused(
    `the database ${file} is damaged: ${what.replaceAll(/\s+/g, ' ')}; restore a backup (workbench-hub restore)`,
  );
}
