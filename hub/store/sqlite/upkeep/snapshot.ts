/** A consistent view of one database, read while the hub continues to write. */
import type { ReferencedBlob } from '../../../core/ports/store-maintenance.js';
import { refusal } from '../connection/database.js';
import { openReadOnly } from '../connection/read-only.js';
import { referencedBlobsIn } from './inspection.js';

export interface Snapshot {
  referencedBlobs(): ReferencedBlob[];
  /** Copies the database as it was when the snapshot was taken. */
  copyTo(file: string, onProgress: (copiedBytes: number, leftBytes: number) => void): Promise<void>;
  close(): void;
}

/** Pages copied between two yields to the event loop. */
const PAGES_AT_A_TIME = 2000;

/** Takes a snapshot that lasts until it is closed. Writers are not blocked; their log grows meanwhile. Throws
 *  `StartRefused` for a file that is no database. */
export function openSnapshot(file: string): Snapshot {
  const db = openReadOnly(file);
  try {
    // The first read fixes the transaction's view.
    db.exec('BEGIN');
    db.prepare('SELECT count(*) FROM sqlite_schema').get();
  } catch (error) {
    db.close();
    throw refusal(error, file);
  }
  return {
    referencedBlobs: () => referencedBlobsIn(db),
    copyTo: async (target, onProgress) => {
      const pageBytes = db.pragma('page_size', { simple: true }) as number;
      await db.backup(target, {
        progress: ({ totalPages, remainingPages }) => {
          onProgress((totalPages - remainingPages) * pageBytes, remainingPages * pageBytes);
          return PAGES_AT_A_TIME;
        },
      });
    },
    close: () => db.close(),
  };
}
