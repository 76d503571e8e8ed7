/**
 * Removal of unreferenced blobs, soon after their last reference was removed.
 *
 * The store logs each removed reference. A pass goes through the log in batches: holding the locks of the blobs, it asks the
 * store which of them are unreferenced and not held, and removes those when the response is durable. A request that stores or
 * finds a blob first holds it and then takes its lock: either the blob is not removed, or the request finds it removed and
 * stores it again.
 */
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Timers } from '@workbench-hub/shared/runtime/runtime';
import type { BlobForm, InlineBlobs } from '../core/ports/blobs.js';
import { type BlobLocks, blobKey } from './blob-locks.js';
import type { Holds } from './holds.js';

export interface ReclaimingOptions {
  readonly inline: Pick<InlineBlobs, 'removeUnreferenced' | 'dropped' | 'forgetDropped'>;
  readonly locks: BlobLocks;
  readonly holds: Holds;
  readonly timers: Timers;
  readonly log: Logger;
  /** Durably removes the files of these blobs, if any. */
  readonly removeFiles: (blobs: readonly BlobForm[]) => Promise<void>;
  /** True while files must stay: a backup links blobs whose names it has read. */
  readonly isPostponed: () => Promise<boolean>;
  /** Whether other hubs may hold blobs, too: then only the sweep removes blobs, when nobody has used them for long. */
  readonly isShared: () => boolean;
}

const BATCH = 100;

/** Delay until blobs that were held or could not be removed are tried again. */
const AGAIN_MS = 1000;

export class Reclaiming {
  readonly #options: ReclaimingOptions;
  /** Blobs that never had a reference. */
  readonly #abandoned = new Map<string, BlobForm>();
  #running: Promise<void> | undefined;
  #next: Promise<void> | undefined;
  #isPlanned = false;

  constructor(options: ReclaimingOptions) {
    this.#options = options;
  }

  /** Removes blobs that presumably never had a reference. */
  abandon(blobs: readonly BlobForm[]): void {
    for (const blob of blobs) this.#abandoned.set(blobKey(blob), blob);
    void this.reclaim();
  }

  /** Resolves after a pass that began after this call. */
  reclaim(): Promise<void> {
    this.#next ??= (this.#running ?? Promise.resolve()).then(() => {
      this.#next = undefined;
      this.#running = this.#pass();
      return this.#running;
    });
    return this.#next;
  }

  /** Removes the blobs that are unreferenced and not held; resolves with their number and with those that must stay for
   *  another reason than a reference. */
  async remove(
    blobs: readonly BlobForm[],
  ): Promise<{ readonly removed: number; readonly left: readonly BlobForm[] }> {
    const { inline, locks, holds, removeFiles, isPostponed } = this.#options;
    const distinct = [...new Map(blobs.map((blob) => [blobKey(blob), blob])).values()];
    return locks.allLocked(distinct, async () => {
      const { unreferenced, held } = await inline.removeUnreferenced(distinct, (blob) => holds.has(blob));
      if (unreferenced.length > 0 && (await isPostponed()))
        return { removed: 0, left: [...held, ...unreferenced] };
      await removeFiles(unreferenced);
      return { removed: unreferenced.length, left: held };
    });
  }

  async #pass(): Promise<void> {
    try {
      const isLeft = await this.#reclaimAbandoned();
      if ((await this.#reclaimDropped()) || isLeft) this.#planAnother();
    } catch (error) {
      // Abandoned blobs of this pass are left to the sweep.
      this.#options.log.error({ err: error }, 'unreferenced blobs could not be removed; trying again');
      this.#planAnother();
    } finally {
      this.#running = undefined;
    }
  }

  /** True when some must stay for now. */
  async #reclaimAbandoned(): Promise<boolean> {
    const abandoned = [...this.#abandoned.values()];
    this.#abandoned.clear();
    if (this.#options.isShared()) return false;
    let isLeft = false;
    for (let start = 0; start < abandoned.length; start += BATCH) {
      const { left } = await this.remove(abandoned.slice(start, start + BATCH));
      for (const blob of left) this.#abandoned.set(blobKey(blob), blob);
      isLeft ||= left.length > 0;
    }
    return isLeft;
  }

  async #reclaimDropped(): Promise<boolean> {
    const { inline, isShared } = this.#options;
    let isLeft = false;
    for (let after = 0; ; ) {
      const dropped = await inline.dropped(after, BATCH);
      const last = dropped.at(-1);
      if (!last) return isLeft;
      after = last.id;
      const { left } = isShared() ? { left: [] } : await this.remove(dropped);
      const kept = new Set(left.map(blobKey));
      const done = dropped.filter((blob) => !kept.has(blobKey(blob)));
      if (done.length < dropped.length) isLeft = true;
      if (done.length > 0) await inline.forgetDropped(done.map(({ id }) => id));
    }
  }

  #planAnother(): void {
    if (this.#isPlanned) return;
    this.#isPlanned = true;
    this.#options.timers.after(AGAIN_MS, () => {
      this.#isPlanned = false;
      void this.reclaim();
    });
  }
}
