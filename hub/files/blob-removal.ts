/**
 * Removes contents that nothing refers to any more, soon after the last reference has gone.
 *
 * The store notes each reference that goes. A pass looks at what is noted, one batch after the other: with the locks of
 * these contents it asks the store which of them nobody holds and nothing names, and removes those when the answer is durable.
 * A request that stores or finds a content holds it first and then looks under its lock: either the content is not removed, or
 * the request finds it gone and stores it again.
 */
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Timers } from '@workbench-hub/shared/runtime/runtime';
import type { BlobForm, InlineBlobs } from '../core/ports/files.js';
import { type BlobLocks, blobKey } from './blob-locks.js';
import type { Holds } from './holds.js';

export interface ReclaimingOptions {
  readonly small: Pick<InlineBlobs, 'removeUnnamed' | 'dropped' | 'forgetDropped'>;
  readonly locks: BlobLocks;
  readonly holds: Holds;
  readonly timers: Timers;
  readonly log: Logger;
  /** Removes the files of these contents, as far as there are any, so that no loss of power brings them back. */
  readonly removeFiles: (contents: readonly BlobForm[]) => Promise<void>;
  /** Whether files have to stay at the moment: a backup links those that it has read the names of. */
  readonly isPostponed: () => Promise<boolean>;
}

const BATCH = 100;

/** What is held, and what could not be removed, is looked at again so much later. */
const AGAIN_MS = 1000;

export class Reclaiming {
  readonly #options: ReclaimingOptions;
  /** Contents that no reference was dropped of: they never had one. */
  readonly #abandoned = new Map<string, BlobForm>();
  #running: Promise<void> | undefined;
  #next: Promise<void> | undefined;
  #isPlanned = false;

  constructor(options: ReclaimingOptions) {
    this.#options = options;
  }

  /** Never named, as far as is known: if nothing names them, they are removed at once. */
  abandon(contents: readonly BlobForm[]): void {
    for (const content of contents) this.#abandoned.set(blobKey(content), content);
    void this.reclaim();
  }

  /** Resolves after a pass that began later than this call. */
  reclaim(): Promise<void> {
    this.#next ??= (this.#running ?? Promise.resolve()).then(() => {
      this.#next = undefined;
      this.#running = this.#pass();
      return this.#running;
    });
    return this.#next;
  }

  /** Removes those of these contents that are neither named nor held; gives how many, and those that have to stay for
   *  another reason than that they are named. */
  async remove(
    contents: readonly BlobForm[],
  ): Promise<{ readonly removed: number; readonly left: readonly BlobForm[] }> {
    const { small, locks, holds, removeFiles, isPostponed } = this.#options;
    const distinct = [...new Map(contents.map((content) => [blobKey(content), content])).values()];
    return locks.allLocked(distinct, async () => {
      const { unnamed, held } = await small.removeUnnamed(distinct, (content) => holds.has(content));
      if (unnamed.length > 0 && (await isPostponed())) return { removed: 0, left: [...held, ...unnamed] };
      await removeFiles(unnamed);
      return { removed: unnamed.length, left: held };
    });
  }

  async #pass(): Promise<void> {
    try {
      const isLeft = await this.#reclaimAbandoned();
      if ((await this.#reclaimDropped()) || isLeft) this.#planAnother();
    } catch (error) {
      // What was taken up of the abandoned ones is left to the sweep.
      this.#options.log.error(
        { err: error },
        'contents that nothing names could not be removed; trying again',
      );
      this.#planAnother();
    } finally {
      this.#running = undefined;
    }
  }

  /** True when some have to stay for now. */
  async #reclaimAbandoned(): Promise<boolean> {
    const abandoned = [...this.#abandoned.values()];
    this.#abandoned.clear();
    let isLeft = false;
    for (let start = 0; start < abandoned.length; start += BATCH) {
      const { left } = await this.remove(abandoned.slice(start, start + BATCH));
      for (const content of left) this.#abandoned.set(blobKey(content), content);
      isLeft ||= left.length > 0;
    }
    return isLeft;
  }

  async #reclaimDropped(): Promise<boolean> {
    const { small } = this.#options;
    let isLeft = false;
    for (let after = 0; ; ) {
      const dropped = await small.dropped(after, BATCH);
      const last = dropped.at(-1);
      if (!last) return isLeft;
      after = last.id;
      const { left } = await this.remove(dropped);
      const kept = new Set(left.map(blobKey));
      const done = dropped.filter((content) => !kept.has(blobKey(content)));
      if (done.length < dropped.length) isLeft = true;
      if (done.length > 0) await small.forgetDropped(done.map(({ id }) => id));
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
