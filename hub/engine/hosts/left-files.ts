/**
 * Files of allocations that are over. Where they cannot be removed, as while their disk hangs, the removal is tried again from time to time, a few at
 * a time. A hub that has ended in between does not know of them any more.
 */
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { Loop } from '@workbench-hub/shared/runtime/loop';
import type { Timers } from '@workbench-hub/shared/runtime/runtime';
import type { WorkloadManager } from '../../core/ports/workload-manager.js';

export interface LeftFilesOptions {
  readonly manager: Pick<WorkloadManager, 'remove'>;
  readonly timers: Timers;
  readonly log: Logger;
}

/** Time until a removal that failed is tried again. */
const REMOVE_AGAIN_MS = 60_000;
/** Failures after which the others wait for the next time. */
const MAX_FAILURES = 4;
/** Greatest number of allocations whose files are tried again. */
const AT_MOST = 1000;

export class LeftFiles {
  readonly #options: LeftFilesOptions;
  readonly #loop: Loop;
  /** Ids of the allocations, those first that were not tried for longest. */
  readonly #left = new Set<string>();

  constructor(options: LeftFilesOptions) {
    this.#options = options;
    this.#loop = new Loop({ timers: options.timers, pass: () => this.#pass(), isStopped: true });
  }

  start(): void {
    this.#loop.start();
  }

  async stop(): Promise<void> {
    await this.#loop.stop();
  }

  /** Removes the files of an allocation, now or later. */
  async remove(id: string): Promise<void> {
    const { manager, log } = this.#options;
    try {
      await manager.remove(id);
    } catch (error) {
      log.warn(
        { allocation: id, err: error },
        'the files of an allocation could not be removed; the hub tries again',
      );
      if (this.#left.size < AT_MOST) this.#left.add(id);
      this.#loop.wake(REMOVE_AGAIN_MS);
    }
  }

  async #pass(): Promise<number | undefined> {
    const { manager, log } = this.#options;
    let failures = 0;
    for (const id of [...this.#left]) {
      if (failures === MAX_FAILURES || this.#loop.isStopped) break;
      const isRemoved = await manager.remove(id).then(
        () => true,
        () => false,
      );
      this.#left.delete(id);
      if (isRemoved) log.info({ allocation: id }, 'the files of an allocation are removed after all');
      else {
        this.#left.add(id);
        failures++;
      }
    }
    return this.#left.size > 0 ? REMOVE_AGAIN_MS : undefined;
  }
}
