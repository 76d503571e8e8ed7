/** Watches free disk space while scripts run: a script that fails on a full disk may have removed its files by its end, and
 *  another one on the same disk was affected too. */
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Runtime, Timer } from '@workbench-hub/shared/runtime/runtime';
import { fullness } from '../../core/disk-space.js';
import type { Workspace } from '../../core/ports/workspace.js';

const CHECK_INTERVAL_MS = 1000;

export interface DiskWatchOptions {
  readonly workspace: Pick<Workspace, 'freeSpace'>;
  readonly runtime: Runtime;
  readonly log: Logger;
}

/** Observations while one job ran. */
export interface Watch {
  /** Describes a disk that is full, or was since the watch began; undefined when none was. */
  seen(): Promise<string | undefined>;
  stop(): void;
}

export class DiskWatch {
  readonly #options: DiskWatchOptions;
  /** Observation of each watch. */
  readonly #watches = new Map<Watch, string | undefined>();
  #timer: Timer | null = null;

  constructor(options: DiskWatchOptions) {
    this.#options = options;
  }

  begin(): Watch {
    const watch: Watch = {
      seen: async () => {
        await this.#check();
        return this.#watches.get(watch);
      },
      stop: () => {
        this.#watches.delete(watch);
        if (this.#watches.size > 0) return;
        this.#timer?.cancel();
        this.#timer = null;
      },
    };
    this.#watches.set(watch, undefined);
    this.#timer ??= this.#schedule();
    return watch;
  }

  #schedule(): Timer {
    return this.#options.runtime.timers.after(CHECK_INTERVAL_MS, () => {
      this.#timer = this.#schedule();
      void this.#check();
    });
  }

  /** Never rejects: an unreadable disk is ignored. */
  async #check(): Promise<void> {
    try {
      const full = fullness(await this.#options.workspace.freeSpace());
      if (full === undefined) return;
      for (const [watch, before] of this.#watches) this.#watches.set(watch, before ?? full);
    } catch (error) {
      this.#options.log.debug({ err: error }, 'the free space of the disks could not be read');
    }
  }
}
