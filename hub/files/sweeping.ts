/** Safety net below {@link Reclaiming}: removes old blobs that are unreferenced and not held, left by a crash, or
 *  uploaded by agents and never reported. */
import { join } from 'node:path';
import type { InlineBlobs } from '../core/ports/files.js';
import { absent } from './blob-disk.js';
import { isEncryptedName, isPlainName } from './blob-names.js';
import type { Reclaiming } from './blob-removal.js';
import { type EncryptedBlobs, prefixesIn } from './encrypted-blobs.js';
import type { Holds } from './holds.js';
import { type BlobPlace, touch } from './plain-blobs.js';

export interface SweepingOptions {
  readonly place: BlobPlace;
  readonly sealed: EncryptedBlobs;
  readonly small: InlineBlobs;
  readonly holds: Holds;
  readonly reclaiming: Reclaiming;
}

/** Blobs removed at a time. */
const BATCH = 100;

export class Sweeping {
  readonly #options: SweepingOptions;

  constructor(options: SweepingOptions) {
    this.#options = options;
  }

  /** Resolves with the number removed. */
  async sweep(beforeMs: number): Promise<number> {
    const { place, small, holds } = this.#options;
    const isHeld = (digest: string) => holds.has({ digest, encrypted: false });
    let removed = await small.sweep(beforeMs, place.runtime.clock.nowMs(), isHeld);
    const sealed: string[] = [];
    for (const prefix of await prefixesIn(place.folder, place.disk)) {
      const names = await place.disk.list(join(place.folder, prefix));
      removed += await this.#sweepClear(prefix, names.filter(isPlainName), beforeMs);
      for (const name of names.filter(isEncryptedName)) {
        if (await this.#isOld(join(place.folder, prefix, name), beforeMs)) sealed.push(name);
      }
    }
    return removed + (sealed.length > 0 ? await this.#sweepSealed(sealed, beforeMs) : 0);
  }

  async #sweepClear(prefix: string, digests: readonly string[], beforeMs: number): Promise<number> {
    const { place, small, reclaiming } = this.#options;
    const named = await small.named(digests, false);
    const old: { digest: string; encrypted: boolean }[] = [];
    for (const digest of digests) {
      if (named.has(digest)) continue;
      if (await this.#isOld(join(place.folder, prefix, digest), beforeMs))
        old.push({ digest, encrypted: false });
    }
    let removed = 0;
    for (let start = 0; start < old.length; start += BATCH) {
      removed += (await reclaiming.remove(old.slice(start, start + BATCH))).removed;
    }
    return removed;
  }

  /** Their digests are unknown: references are looked up by file name. */
  async #sweepSealed(names: readonly string[], beforeMs: number): Promise<number> {
    const { sealed, small, holds } = this.#options;
    const inUse = new Set((await small.namedEncrypted()).map((digest) => sealed.nameOf(digest)));
    const unnamed = names.filter((name) => !inUse.has(name));
    if (unnamed.length === 0) return 0;
    // Blobs that are unreferenced now are unreferenced after a loss of power, too.
    await small.removeUnnamed([], () => false);
    let removed = 0;
    for (const name of unnamed) {
      const isHeld = () => holds.encrypted().some((digest) => sealed.nameOf(digest) === name);
      if (await sealed.removeOrphan(name, async (path) => !isHeld() && (await this.#isOld(path, beforeMs)))) {
        removed++;
      }
    }
    return removed;
  }

  /** A modification time in the future, from a clock that was ahead, counts as now. */
  async #isOld(path: string, beforeMs: number): Promise<boolean> {
    const { place } = this.#options;
    const info = await place.disk.stat(path).catch(absent(undefined));
    if (!info) return false;
    if (info.mtimeMs > place.runtime.clock.nowMs()) await touch(place, path);
    return info.mtimeMs < beforeMs;
  }
}
