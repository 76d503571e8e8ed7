/** Safety net below {@link Reclaiming}: removes old blobs that are unreferenced and not held, left by a crash, or
 *  uploaded by agents and never reported. */
import { HubError } from '../core/errors.js';
import type { InlineBlobs, OtherHolders } from '../core/ports/blobs.js';
import { isEncryptedName, isPlainName, plainName } from './blob-names.js';
import type { EncryptedBlobs } from './encrypted-blobs.js';
import type { Holds } from './holds.js';
import type { BlobLocation } from './plain-blobs.js';
import type { Reclaiming } from './reclaiming.js';

export interface SweepingOptions {
  readonly location: BlobLocation;
  readonly encryptedBlobs: EncryptedBlobs;
  readonly inline: InlineBlobs;
  readonly holds: Holds;
  readonly reclaiming: Reclaiming;
  readonly others: Pick<OtherHolders, 'heldOf'> | null;
}

/** Blobs removed at a time. */
const BATCH = 100;

export class Sweeping {
  readonly #options: SweepingOptions;

  constructor(options: SweepingOptions) {
    this.#options = options;
  }

  /** Resolves with the number removed. Files that cannot be removed keep no others. */
  async sweep(beforeMs: number): Promise<number> {
    const { location, inline, holds } = this.#options;
    const { place, runtime } = location;
    const isHeld = (digest: string) => holds.has({ digest, encrypted: false });
    let removed = await (this.#options.others
      ? this.#sweepSharedInline(beforeMs)
      : inline.sweep(beforeMs, runtime.clock.nowMs(), isHeld));
    const oldEncrypted: string[] = [];
    for await (const names of place.names(beforeMs)) {
      removed += await this.#sweepPlain(names.filter(isPlainName), beforeMs);
      for (const name of names.filter(isEncryptedName)) {
        if (await place.isOld(name, beforeMs)) oldEncrypted.push(name);
      }
    }
    const failures: unknown[] = [];
    if (oldEncrypted.length > 0) removed += await this.#sweepEncrypted(oldEncrypted, beforeMs, failures);
    removed += await place.removeRemains();
    if (failures.length > 0) throw failures[0];
    return removed;
  }

  async #sweepSharedInline(beforeMs: number): Promise<number> {
    const { location, inline, reclaiming } = this.#options;
    // Corrects times in the future, and removes nothing.
    await inline.sweep(0, location.runtime.clock.nowMs(), () => true);
    let removed = 0;
    for (let after = ''; ; ) {
      const old = await inline.old(after, beforeMs, BATCH);
      removed += (await reclaiming.remove(old.map((digest) => ({ digest, encrypted: false })))).removed;
      if (old.length < BATCH) return removed;
      after = old.at(-1) as string;
    }
  }

  async #sweepPlain(digests: readonly string[], beforeMs: number): Promise<number> {
    const { location, inline, reclaiming } = this.#options;
    const named = await inline.referenced(digests, false);
    const old: { digest: string; encrypted: boolean }[] = [];
    for (const digest of digests) {
      if (named.has(digest)) continue;
      if (await location.place.isOld(plainName(digest), beforeMs)) old.push({ digest, encrypted: false });
    }
    let removed = 0;
    for (let start = 0; start < old.length; start += BATCH) {
      removed += (await reclaiming.remove(old.slice(start, start + BATCH))).removed;
    }
    return removed;
  }

  /** Their digests are unknown: references are looked up by file name. */
  async #sweepEncrypted(names: readonly string[], beforeMs: number, failures: unknown[]): Promise<number> {
    const { location, encryptedBlobs, inline, holds } = this.#options;
    const inUse = new Set(
      (await inline.referencedEncrypted()).map((digest) => encryptedBlobs.nameOf(digest)),
    );
    const unreferenced = names.filter((name) => !inUse.has(name));
    if (unreferenced.length === 0) return 0;
    // Blobs that are unreferenced now are unreferenced after a loss of power, too.
    await inline.removeUnreferenced([], () => false);
    const heldByOthers = (await this.#options.others?.heldOf(unreferenced)) ?? new Set();
    let removed = 0;
    for (const name of unreferenced.filter((each) => !heldByOthers.has(each))) {
      const isHeld = () => holds.encrypted().some((digest) => encryptedBlobs.nameOf(digest) === name);
      const isToGo = async () => !isHeld() && (await location.place.isOld(name, beforeMs));
      try {
        if (await encryptedBlobs.removeOrphan(name, isToGo)) removed++;
      } catch (error) {
        if (error instanceof HubError) throw error;
        failures.push(error);
      }
    }
    return removed;
  }
}
