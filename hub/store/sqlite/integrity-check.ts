/** Looks at a database that is open whether it is whole, as far as that takes no time. */
import { statSync } from 'node:fs';
import { StartRefused } from '@workbench-hub/shared/runtime/run-program';
import type Database from 'better-sqlite3';

/** A larger database is not read through at each start; `workbench-hub doctor` does it. */
const READ_THROUGH_BYTES = 64 * 1024 ** 2;

/** Throws {@link StartRefused} for a database that is damaged, and what SQLite throws. */
export function refuseDamaged(db: Database.Database, file: string): void {
  if (isCutShort(db, file)) {
    // What seems to be missing may still be in the log.
    db.pragma('wal_checkpoint(PASSIVE)');
    if (isCutShort(db, file)) throw damaged(file, 'the file is shorter than it says itself');
  }
  if (statSync(file).size > READ_THROUGH_BYTES) return;
  const [fault] = db.pragma('quick_check(1)') as { quick_check: string }[];
  if (fault && fault.quick_check !== 'ok') throw damaged(file, fault.quick_check);
}

function isCutShort(db: Database.Database, file: string): boolean {
  const pages = db.pragma('page_count', { simple: true }) as number;
  const pageBytes = db.pragma('page_size', { simple: true }) as number;
  return statSync(file).size < pages * pageBytes;
}

function damaged(file: string, what: string): StartRefused {
  return new StartRefused(
    `the database ${file} is damaged: ${what.replaceAll(/\s+/g, ' ')}; restore a backup (workbench-hub restore)`,
  );
}
