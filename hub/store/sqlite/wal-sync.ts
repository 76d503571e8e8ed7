/** Syncs the write-ahead log of a database beside the thread that writes it. */
import { close, fdatasync, open } from 'node:fs';
import { promisify } from 'node:util';

const openFile = promisify(open);
const syncFile = promisify(fdatasync);
const closeFile = promisify(close);

export interface WalSync {
  /** Resolves when every transaction that was committed before is safe against a loss of power. */
  sync(): Promise<void>;
  close(): Promise<void>;
}

/**
 * With `synchronous = NORMAL` SQLite appends transactions to the log and syncs the log when a new one begins and when it is
 * moved into the database. What it leaves out, compared with FULL, is one sync of the log after each transaction: that is
 * done here, by another file handle of the same file, so that the thread goes on meanwhile. (The log carries no locks of
 * SQLite, which a second handle could undo.)
 */
export function walSync(databaseFile: string): WalSync {
  let handle: Promise<number> | undefined;
  return {
    sync: async () => {
      handle ??= openFile(`${databaseFile}-wal`, 'r+');
      await syncFile(await handle);
    },
    close: async () => {
      if (handle) await closeFile(await handle);
    },
  };
}
