/** Sync of a database's write-ahead log without blocking the thread that writes it. */
import { close, fdatasync, open } from 'node:fs';
import { promisify } from 'node:util';

const openFile = promisify(open);
const syncFile = promisify(fdatasync);
const closeFile = promisify(close);

export interface WalSync {
  /** Resolves when all earlier commits are durable. */
  sync(): Promise<void>;
  close(): Promise<void>;
}

/**
 * With `synchronous = NORMAL` SQLite syncs the log when it is restarted and when it is checkpointed, but not, as with FULL,
 * after each transaction. That sync is done here, through another handle of the same file, so that the thread continues
 * meanwhile. (SQLite holds no locks on the log, which closing a second handle could release.)
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
