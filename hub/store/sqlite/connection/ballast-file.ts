/** Reserved disk space for transactions that free space, so that tasks can be canceled and deleted, and sweeps go on, on a full
 *  disk. It is a file beside the database, which is truncated while such a transaction is written. */
import { randomFillSync } from 'node:crypto';
import { closeSync, constants, fstatSync, ftruncateSync, openSync, statfsSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Logger } from '@workbench-hub/shared/runtime/logger';

export interface BallastFile {
  /** Frees the space. */
  release(): void;
  /** Takes released space back, and grows to full size when plenty is free. Never throws. */
  take(): void;
  close(): void;
}

const RESERVE_BYTES = 8 * 1024 * 1024;
/** Free space, as a multiple of the growth, required to grow. */
const PLENTY = 4;
const CHUNK_BYTES = 256 * 1024;

export function openBallastFile(databaseFile: string, log: Logger): BallastFile {
  const file = `${databaseFile}-reserve`;
  const handle = openSync(file, constants.O_CREAT | constants.O_RDWR, 0o600);
  let heldBytes = fstatSync(handle).size;
  let releasedBytes = 0;

  const isPlenty = (bytes: number): boolean => {
    const { bsize, bavail } = statfsSync(dirname(file));
    return bsize * bavail >= bytes * PLENTY;
  };

  const take = (): void => {
    const ownBytes = heldBytes + releasedBytes;
    releasedBytes = 0;
    if (heldBytes >= RESERVE_BYTES) return;
    try {
      const wantedBytes = isPlenty(RESERVE_BYTES - heldBytes) ? RESERVE_BYTES : ownBytes;
      // Random bytes, which no file system can compress.
      const chunk = randomFillSync(Buffer.alloc(Math.min(CHUNK_BYTES, Math.max(wantedBytes - heldBytes, 0))));
      while (heldBytes < wantedBytes) {
        heldBytes += writeSync(handle, chunk, 0, Math.min(chunk.length, wantedBytes - heldBytes), heldBytes);
      }
    } catch (error) {
      log.debug({ err: error, file, heldBytes }, 'less disk space than intended is reserved for deletions');
    }
  };

  take();
  return {
    release: () => {
      releasedBytes += heldBytes;
      heldBytes = 0;
      ftruncateSync(handle, 0);
    },
    take,
    close: () => closeSync(handle),
  };
}
