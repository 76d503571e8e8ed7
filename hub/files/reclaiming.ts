/**
 * Removal of unreferenced blobs, soon after their last reference was removed.
 *
 * The store logs each removed reference. A pass goes through the log in batches: holding the locks of the blobs, it asks the
 * store which of them are unreferenced and not held, and removes those when the response is durable. A request that stores or
 * finds a blob first holds it and then takes its lock: either the blob is not removed, or the request finds it removed and
 * stores it again.
 *
 * Where other hubs use the same blobs, they are asked between two looks: a blob goes only if nobody has stored or used it since the
 * first look, nobody holds it, and nothing refers to it at the second look. A hub that needs a blob holds it first and then renews
 * it: either it is held when the hub is asked, or its removal finds it renewed, or the hub finds it gone. One that was renewed stays
 * in the log until a later pass: the hub that renewed it may be killed before it refers to it.
 *
 * Files that cannot be removed keep none behind them in the log: a pass goes past them, and those after it come back to them.
 */
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { Loop } from '@workbench-hub/shared/runtime/loop';
import type { Clock, Timers } from '@workbench-hub/shared/runtime/runtime';
import { HubError } from '../core/errors.js';
import type { BlobForm, InlineBlobs, OtherHolders, UnusedBlob } from '../core/ports/blobs.js';
import { type BlobLocks, blobKey } from './blob-locks.js';
import type { BlobPlace } from './blob-place.js';
import type { Holds } from './holds.js';

/** A blob without a reference or hold, as it was found at the first look. */
export interface LeavingBlob extends UnusedBlob {
  /** Time of the last use of its file; any when absent. */
  readonly fileUsedAtMs?: number | undefined;
}

export interface ReclaimingOptions {
  readonly inline: Pick<
    InlineBlobs,
    'removeUnreferenced' | 'dropped' | 'forgetDropped' | 'referenced' | 'storedAt'
  >;
  readonly place: Pick<BlobPlace, 'usedAtMs'>;
  readonly locks: BlobLocks;
  readonly holds: Holds;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: Logger;
  /** Durably removes the files of these blobs, if any. */
  readonly removeFiles: (blobs: readonly LeavingBlob[]) => Promise<void>;
  /** True while files must stay: a backup links blobs whose names it has read. */
  readonly isPostponed: () => Promise<boolean>;
  /** Other hubs, which may hold blobs, too; null where there are never any. */
  readonly others: Pick<OtherHolders, 'heldOf'> | null;
  /** Name of a blob in the place. */
  readonly nameOf: (blob: BlobForm) => string;
}

const BATCH = 100;

/** Batches of which no file could be removed, after which a pass ends: when that is so of all files, it does not try each. */
const MAX_STUCK_BATCHES = 10;

/** Shortest time between two log lines about files that cannot be removed, and the digests that one names. */
const STUCK_LOG_MS = 60_000;
const LOGGED_DIGESTS = 10;

/** Delay until blobs that were held or could not be removed are tried again, which doubles up to a limit. */
const AGAIN_MS = 1000;
const MAX_AGAIN_MS = 8000;

/** Time after its last use in which a blob stays while another hub cannot be asked. */
const UNASKED_MS = 3_600_000;

/** Time of use that no blob has: what was not there at the first look stays. */
const NEVER_MS = -1;

export interface Removal {
  readonly removed: number;
  /** Those that must stay for another reason than a reference. */
  readonly left: readonly BlobForm[];
  /** Whether there were files to remove, and none of them could be. */
  readonly isStuck: boolean;
}

export class Reclaiming {
  readonly #options: ReclaimingOptions;
  /** Blobs that never had a reference. */
  readonly #abandoned = new Map<string, BlobForm>();
  readonly #loop: Loop;
  /** Number in the log after which the next pass begins. */
  #afterId = 0;
  #isPlanned = false;
  #againMs = AGAIN_MS;
  #nextStuckLogMs = 0;

  constructor(options: ReclaimingOptions) {
    this.#options = options;
    this.#loop = new Loop({ timers: options.timers, pass: () => this.#pass() });
  }

  /** Removes blobs that presumably never had a reference. */
  abandon(blobs: readonly BlobForm[]): void {
    for (const blob of blobs) this.#abandoned.set(blobKey(blob), blob);
    this.#loop.wake();
  }

  /** Resolves after a pass that began after this call. */
  reclaim(): Promise<void> {
    return this.#loop.passed();
  }

  /** Removes the blobs that are unreferenced and not held. */
  async remove(blobs: readonly BlobForm[]): Promise<Removal> {
    const distinct = [
      ...new Map(
        blobs.map(({ digest, encrypted }) => [blobKey({ digest, encrypted }), { digest, encrypted }]),
      ).values(),
    ];
    if (!this.#options.others) return this.#removeAll(distinct);
    const { leaving, left } = await this.#lookAndAsk(distinct, this.#options.others);
    if (leaving.length === 0) return { removed: 0, left, isStuck: false };
    const { isStuck } = await this.#removeAll(leaving);
    const stayed = await this.#found(leaving);
    return { removed: leaving.length - stayed.length, left: [...left, ...stayed], isStuck };
  }

  /** Unreferenced blobs that nobody holds, and those that must stay for another reason than a reference. */
  async #lookAndAsk(
    blobs: readonly BlobForm[],
    others: Pick<OtherHolders, 'heldOf'>,
  ): Promise<{ readonly leaving: readonly LeavingBlob[]; readonly left: readonly BlobForm[] }> {
    const { inline, holds, nameOf, clock } = this.#options;
    const digestsOf = (encrypted: boolean) =>
      blobs.filter((blob) => blob.encrypted === encrypted).map(({ digest }) => digest);
    const plain = await inline.referenced(digestsOf(false), false);
    const encrypted = await inline.referenced(digestsOf(true), true);
    const unreferenced = blobs.filter((blob) => !(blob.encrypted ? encrypted : plain).has(blob.digest));
    // Holds may end from here on: each blob is one that was held, or one that was not.
    const left = unreferenced.filter((blob) => holds.has(blob));
    const found = await this.#found(unreferenced.filter((blob) => !left.includes(blob)));
    if (found.length === 0) return { leaving: [], left };
    const held = await others.heldOf(found.map(nameOf));
    const beforeMs = clock.nowMs() - UNASKED_MS;
    const mayGo = (blob: LeavingBlob) => (held ? !held.has(nameOf(blob)) : isUnused(blob, beforeMs));
    return { leaving: found.filter(mayGo), left: [...left, ...found.filter((blob) => !mayGo(blob))] };
  }

  /** Those that exist, as they are now. */
  async #found(blobs: readonly BlobForm[]): Promise<LeavingBlob[]> {
    const { inline, place, nameOf } = this.#options;
    const storedAt = await inline.storedAt(
      blobs.filter((blob) => !blob.encrypted).map(({ digest }) => digest),
    );
    const found: LeavingBlob[] = [];
    for (const { digest, encrypted } of blobs) {
      const storedAtMs = encrypted ? undefined : storedAt.get(digest);
      // A file that cannot be looked at cannot be removed either, which says so.
      const fileUsedAtMs = await place.usedAtMs(nameOf({ digest, encrypted })).catch(ofOneFile(NEVER_MS));
      if (storedAtMs !== undefined || fileUsedAtMs !== undefined)
        found.push({
          digest,
          encrypted,
          storedAtMs: storedAtMs ?? NEVER_MS,
          fileUsedAtMs: fileUsedAtMs ?? NEVER_MS,
        });
    }
    return found;
  }

  async #removeAll(distinct: readonly LeavingBlob[]): Promise<Removal> {
    const { inline, locks, holds, isPostponed } = this.#options;
    return locks.allLocked(distinct, async () => {
      const { unreferenced, held } = await inline.removeUnreferenced(distinct, (blob) => holds.has(blob));
      if (unreferenced.length > 0 && (await isPostponed()))
        return { removed: 0, left: [...held, ...unreferenced], isStuck: false };
      const stuck = await this.#removeFiles(unreferenced);
      const removed = unreferenced.length - stuck.length;
      return { removed, left: [...held, ...stuck], isStuck: stuck.length > 0 && removed === 0 };
    });
  }

  /** Resolves with the blobs whose files could not be removed. */
  async #removeFiles(blobs: readonly LeavingBlob[]): Promise<readonly LeavingBlob[]> {
    const { removeFiles } = this.#options;
    try {
      await removeFiles(blobs);
      return [];
    } catch (error) {
      ofOneFile(undefined)(error);
      const left: LeavingBlob[] = [];
      for (const blob of blobs) {
        const isRemoved = await removeFiles([blob]).then(() => true, ofOneFile(false));
        if (!isRemoved) left.push(blob);
      }
      if (left.length > 0) this.#tellStuck(left, error);
      return left;
    }
  }

  #tellStuck(blobs: readonly LeavingBlob[], error: unknown): void {
    const { clock, log } = this.#options;
    const nowMs = clock.monotonicMs();
    if (nowMs < this.#nextStuckLogMs) return;
    this.#nextStuckLogMs = nowMs + STUCK_LOG_MS;
    log.error(
      {
        err: error,
        files: blobs.length,
        digests: blobs.slice(0, LOGGED_DIGESTS).map(({ digest }) => digest),
      },
      'files that nothing refers to could not be removed; trying again: look at the owner and the permissions of these files',
    );
  }

  async #pass(): Promise<void> {
    try {
      const isLeft = await this.#reclaimAbandoned();
      if ((await this.#reclaimDropped()) || isLeft) this.#planAnother();
      else this.#againMs = AGAIN_MS;
    } catch (error) {
      // Abandoned blobs of this pass are left to the sweep.
      this.#options.log.error({ err: error }, 'unreferenced blobs could not be removed; trying again');
      this.#planAnother();
    }
  }

  /** True when some must stay for now. */
  async #reclaimAbandoned(): Promise<boolean> {
    const abandoned = [...this.#abandoned.values()];
    this.#abandoned.clear();
    let isLeft = false;
    for (let start = 0; start < abandoned.length; start += BATCH) {
      const { left } = await this.remove(abandoned.slice(start, start + BATCH));
      for (const blob of left) this.#abandoned.set(blobKey(blob), blob);
      isLeft ||= left.length > 0;
    }
    return isLeft;
  }

  async #reclaimDropped(): Promise<boolean> {
    const { inline } = this.#options;
    let isLeft = this.#afterId > 0;
    for (let stuckBatches = 0; stuckBatches < MAX_STUCK_BATCHES; ) {
      const dropped = await inline.dropped(this.#afterId, BATCH);
      const last = dropped.at(-1);
      if (!last) {
        this.#afterId = 0;
        return isLeft;
      }
      const { left, isStuck } = await this.remove(dropped);
      this.#afterId = last.id;
      if (isStuck) stuckBatches++;
      const kept = new Set(left.map(blobKey));
      const done = dropped.filter((blob) => !kept.has(blobKey(blob)));
      if (done.length < dropped.length) isLeft = true;
      if (done.length > 0) await inline.forgetDropped(done.map(({ id }) => id));
    }
    return true;
  }

  #planAnother(): void {
    if (this.#isPlanned) return;
    this.#isPlanned = true;
    const delayMs = this.#againMs;
    this.#againMs = Math.min(2 * delayMs, MAX_AGAIN_MS);
    this.#options.timers.after(delayMs, () => {
      this.#isPlanned = false;
      this.#loop.wake();
    });
  }
}

/** Handler of failures: gives the value for that of one file, and throws that of the whole store. */
function ofOneFile<T>(value: T): (error: unknown) => T {
  return (error) => {
    if (error instanceof HubError) throw error;
    return value;
  };
}

function isUnused(
  { storedAtMs = NEVER_MS, fileUsedAtMs = NEVER_MS }: LeavingBlob,
  beforeMs: number,
): boolean {
  return storedAtMs < beforeMs && fileUsedAtMs < beforeMs;
}
