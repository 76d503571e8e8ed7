/** Safety net below {@link Reclaiming}: removes old blobs that are unreferenced and not held, left by a crash, or
 *  uploaded by agents and never reported. */
import { join } from 'node:path';
import type { InlineBlobs } from '../core/ports/blobs.js';
import { absent } from './blob-disk.js';
import { isEncryptedName, isPlainName } from './blob-names.js';
import { type EncryptedBlobs, prefixesIn } from './encrypted-blobs.js';
import type { Holds } from './holds.js';
import { type BlobLocation, touch } from './plain-blobs.js';
import type { Reclaiming } from './reclaiming.js';

export interface SweepingOptions {
  readonly location: BlobLocation;
  readonly encryptedBlobs: EncryptedBlobs;
  readonly inline: InlineBlobs;
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
    const { location, inline, holds } = this.#options;
    const isHeld = (digest: string) => holds.has({ digest, encrypted: false });
    let removed = await inline.sweep(beforeMs, location.runtime.clock.nowMs(), isHeld);
    const oldEncrypted: string[] = [];
    for (const prefix of await prefixesIn(location.folder, location.disk)) {
      const names = await location.disk.list(join(location.folder, prefix));
      removed += await this.#sweepPlain(prefix, names.filter(isPlainName), beforeMs);
      for (const name of names.filter(isEncryptedName)) {
        if (await this.#isOld(join(location.folder, prefix, name), beforeMs)) oldEncrypted.push(name);
      }
    }
    return removed + (oldEncrypted.length > 0 ? await this.#sweepEncrypted(oldEncrypted, beforeMs) : 0);
  }

  async #sweepPlain(prefix: string, digests: readonly string[], beforeMs: number): Promise<number> {
    const { location, inline, reclaiming } = this.#options;
    const named = await inline.referenced(digests, false);
    const old: { digest: string; encrypted: boolean }[] = [];
    for (const digest of digests) {
      if (named.has(digest)) continue;
      if (await this.#isOld(join(location.folder, prefix, digest), beforeMs))
        old.push({ digest, encrypted: false });
    }
    let removed = 0;
    for (let start = 0; start < old.length; start += BATCH) {
      removed += (await reclaiming.remove(old.slice(start, start + BATCH))).removed;
    }
    return removed;
  }

  /** Their digests are unknown: references are looked up by file name. */
  async #sweepEncrypted(names: readonly string[], beforeMs: number): Promise<number> {
    const { encryptedBlobs, inline, holds } = this.#options;
    const inUse = new Set(
      (await inline.referencedEncrypted()).map((digest) => encryptedBlobs.nameOf(digest)),
    );
    const unreferenced = names.filter((name) => !inUse.has(name));
    if (unreferenced.length === 0) return 0;
    // Blobs that are unreferenced now are unreferenced after a loss of power, too.
    await inline.removeUnreferenced([], () => false);
    let removed = 0;
    for (const name of unreferenced) {
      const isHeld = () => holds.encrypted().some((digest) => encryptedBlobs.nameOf(digest) === name);
      if (
        await encryptedBlobs.removeOrphan(
          name,
          async (path) => !isHeld() && (await this.#isOld(path, beforeMs)),
        )
      ) {
        removed++;
      }
    }
    return removed;
  }

  /** A modification time in the future, from a clock that was ahead, counts as now. */
  async #isOld(path: string, beforeMs: number): Promise<boolean> {
    const { location } = this.#options;
    const info = await location.disk.stat(path).catch(absent(undefined));
    if (!info) return false;
    if (info.mtimeMs > location.runtime.clock.nowMs()) await touch(location, path);
    return info.mtimeMs < beforeMs;
  }
}
