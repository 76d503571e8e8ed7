/** Space of a disk that may be broken. */
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Timers } from '@workbench-hub/shared/runtime/runtime';
import { diskSpace } from './disk-space.js';

type DiskSpace = Awaited<ReturnType<typeof diskSpace>>;

export interface DiskWatchOptions {
  readonly path: string;
  readonly timers: Timers;
  readonly log: Pick<Logger, 'info' | 'error'>;
  /** {@link diskSpace} by default. */
  readonly read?: (path: string) => Promise<DiskSpace>;
}

/** Time after which a disk that does not respond, such as a share of a server that is away, counts as broken. */
const RESPONDS_WITHIN_MS = 2000;

const NO_SPACE: DiskSpace = { totalBytes: 0, freeBytes: 0, exists: false };

export class DiskWatch {
  readonly #options: DiskWatchOptions;
  /** The read in progress. One that hangs holds a thread of the process: there is no second one. */
  #reading: Promise<DiskSpace> | undefined;
  #isBroken = false;

  constructor(options: DiskWatchOptions) {
    this.#options = options;
  }

  /** The space; none while the disk cannot be read. Never rejects. */
  async space(): Promise<DiskSpace> {
    const { path, log } = this.#options;
    try {
      const space = await this.#readInTime();
      if (this.#isBroken) log.info({ path }, 'the disk can be read again');
      this.#isBroken = false;
      return space;
    } catch (error) {
      if (!this.#isBroken) log.error({ err: error, path }, 'the disk cannot be read: its health is DOWN');
      this.#isBroken = true;
      return NO_SPACE;
    }
  }

  #readInTime(): Promise<DiskSpace> {
    const { path, timers, read = diskSpace } = this.#options;
    this.#reading ??= read(path).finally(() => {
      this.#reading = undefined;
    });
    const reading = this.#reading;
    return new Promise((resolve, reject) => {
      const late = () => reject(new Error(`no response within ${RESPONDS_WITHIN_MS / 1000} s`));
      const timer = timers.after(RESPONDS_WITHIN_MS, late);
      reading.then(resolve, reject).finally(() => timer.cancel());
    });
  }
}
