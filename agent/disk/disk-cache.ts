/** Blobs by digest in one folder with a size limit; the least recently used is removed first. Partial blobs lie beside them as
 *  `<digest>.partial` and are removed before them. lru-cache is unsuitable: it knows no pins and evicts without waiting for
 *  the disk. */
import { createHash } from 'node:crypto';
import { createReadStream, renameSync, statSync } from 'node:fs';
import { chmod, mkdir, readdir, rm, stat, statfs, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import type { FileRef } from '@workbench-hub/shared/domain/job';
import { NoRoom } from '@workbench-hub/shared/runtime/no-room';
import { PRIVATE_FOLDER_MODE } from '@workbench-hub/shared/runtime/private-files';
import { replaceFile } from '@workbench-hub/shared/runtime/replace-file';
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import type { BlobCache } from '../core/ports/blob-cache.js';
import { REMOVE_OR_REJECT, type RemoveLeftover } from './leftovers.js';
import { BLOB_MODE, partialSize, writePartial } from './partial-blob.js';

interface Entry {
  readonly sizeBytes: number;
  /** Number of users. */
  pins: number;
  /** Last use according to the file's mtime. */
  usedAtMs: number;
  /** True when this process has verified the digest: an earlier one may have ended in a power failure. */
  verified: boolean;
}

/** Minimum interval between updates of a file's mtime, on which only the order after a restart depends. */
const TOUCHED_EVERY_MS = 60_000;

/** Size below which free space is not checked in advance. */
const WORTH_ASKING_BYTES = 1024 * 1024;

/** `<digest>` or `<digest>.partial` */
const NAME = /^([0-9a-f]{64})(\.partial)?$/;

export class DiskCache implements BlobCache {
  readonly #folder: string;
  readonly #limitBytes: number;
  readonly #runtime: Runtime;
  /** Least recently used first. */
  readonly #entries = new Map<string, Entry>();
  /** Sizes of partial blobs that are not being received, oldest first. */
  readonly #partials = new Map<string, number>();
  readonly #receiving = new Map<string, Promise<void>>();
  /** Total size of both. */
  #sizeBytes = 0;

  private constructor(folder: string, limitBytes: number, runtime: Runtime) {
    this.#folder = folder;
    this.#limitBytes = limitBytes;
    this.#runtime = runtime;
  }

  static async open(
    folder: string,
    limitBytes: number,
    runtime: Runtime,
    removeLeftover: RemoveLeftover = REMOVE_OR_REJECT,
  ): Promise<DiskCache> {
    await mkdir(folder, { recursive: true, mode: PRIVATE_FOLDER_MODE });
    const cache = new DiskCache(folder, limitBytes, runtime);
    const found: { digest: string; isPartial: boolean; sizeBytes: number; usedAtMs: number }[] = [];
    for (const name of await readdir(folder)) {
      const path = join(folder, name);
      const [, digest, suffix] = NAME.exec(name) ?? [];
      const remove = () => rm(path, { recursive: true, force: true });
      if (digest === undefined) await removeLeftover(path, remove);
      else {
        const { size, mtimeMs, mode } = await stat(path);
        // Earlier versions used a stricter mode.
        if ((mode & BLOB_MODE) !== BLOB_MODE) await chmod(path, BLOB_MODE);
        found.push({ digest, isPartial: suffix !== undefined, sizeBytes: size, usedAtMs: mtimeMs });
      }
    }
    for (const { digest, isPartial, sizeBytes, usedAtMs } of found.sort((a, b) => a.usedAtMs - b.usedAtMs)) {
      if (isPartial) cache.#addPartial(digest, sizeBytes);
      else cache.#add(digest, { sizeBytes, pins: 0, usedAtMs, verified: false });
    }
    await cache.#evict();
    return cache;
  }

  /** Path of a pinned blob. */
  pathOf(digest: string): string {
    return join(this.#folder, digest);
  }

  async pin(file: FileRef): Promise<boolean> {
    const entry = this.#entries.get(file.digest);
    if (!entry) return false;
    entry.pins++;
    // A verified blob is not read again, but it may have been removed.
    if (entry.verified) entry.verified = sizeOf(this.pathOf(file.digest)) === file.sizeBytes;
    else {
      entry.verified =
        entry.sizeBytes === file.sizeBytes && (await digestOf(this.pathOf(file.digest))) === file.digest;
    }
    const current = this.#entries.get(file.digest);
    if (current !== entry) {
      // It was replaced meanwhile, and the pin moved to the replacement.
      if (current) current.pins--;
      return this.pin(file);
    }
    if (!entry.verified) {
      entry.pins--;
      if (entry.pins === 0) await this.#remove(file.digest, entry);
      return false;
    }
    this.#entries.delete(file.digest);
    this.#entries.set(file.digest, entry);
    return true;
  }

  unpin(digest: string): void {
    const entry = this.#entries.get(digest);
    if (!entry) return;
    entry.pins--;
    const nowMs = this.#runtime.clock.nowMs();
    if (Math.abs(nowMs - entry.usedAtMs) < TOUCHED_EVERY_MS) return;
    entry.usedAtMs = nowMs;
    // A file whose mtime cannot be updated is removed a little earlier.
    utimes(this.pathOf(digest), nowMs / 1000, nowMs / 1000).catch(() => undefined);
  }

  async expect({ sizeBytes }: FileRef): Promise<void> {
    if (sizeBytes < WORTH_ASKING_BYTES) return;
    await mkdir(this.#folder, { recursive: true, mode: PRIVATE_FOLDER_MODE }); // may have been removed
    const { bsize, bavail } = await statfs(this.#folder);
    let roomBytes = bsize * bavail;
    for (const partialBytes of this.#partials.values()) roomBytes += partialBytes;
    for (const entry of this.#entries.values()) if (entry.pins === 0) roomBytes += entry.sizeBytes;
    if (sizeBytes > roomBytes)
      throw new NoRoom(`it has ${sizeBytes} bytes, and there is room for ${roomBytes}`);
  }

  async keptBytes(digest: string): Promise<number> {
    await this.#receiving.get(digest);
    return partialSize(this.#partialPath(digest));
  }

  async put(file: FileRef, stream: AsyncIterable<Uint8Array>, fromByte: number): Promise<void> {
    const { digest } = file;
    // One at a time: they write into the same file.
    while (this.#receiving.has(digest)) await this.#receiving.get(digest);
    const received = this.#receive(file, stream, fromByte);
    this.#receiving.set(
      digest,
      received.catch(() => undefined).finally(() => this.#receiving.delete(digest)),
    );
    await received;
  }

  /** Removes the least recently used file; false when all are pinned. */
  async makeRoom(): Promise<boolean> {
    return this.#removeOldest(undefined);
  }

  async #receive(file: FileRef, stream: AsyncIterable<Uint8Array>, fromByte: number): Promise<void> {
    const { digest } = file;
    const path = this.#partialPath(digest);
    await mkdir(this.#folder, { recursive: true, mode: PRIVATE_FOLDER_MODE }); // may have been removed
    this.#forgetPartial(digest);
    try {
      await writePartial(path, file, stream, fromByte, () => this.makeRoom());
    } catch (error) {
      const keptBytes = await partialSize(path);
      if (keptBytes === 0) await rm(path, { force: true });
      else this.#addPartial(digest, keptBytes);
      await this.#evict(digest);
      throw error;
    }
    await replaceFile(path, this.pathOf(digest));
    const before = this.#entries.get(digest);
    this.#sizeBytes -= before?.sizeBytes ?? 0;
    const usedAtMs = this.#runtime.clock.nowMs();
    this.#add(digest, { sizeBytes: file.sizeBytes, pins: before?.pins ?? 0, usedAtMs, verified: true });
    await this.#evict(digest);
  }

  #partialPath(digest: string): string {
    return join(this.#folder, `${digest}.partial`);
  }

  #addPartial(digest: string, sizeBytes: number): void {
    this.#partials.set(digest, sizeBytes);
    this.#sizeBytes += sizeBytes;
  }

  #forgetPartial(digest: string): void {
    this.#sizeBytes -= this.#partials.get(digest) ?? 0;
    this.#partials.delete(digest);
  }

  #add(digest: string, entry: Entry): void {
    this.#entries.delete(digest);
    this.#entries.set(digest, entry);
    this.#sizeBytes += entry.sizeBytes;
  }

  /** Removes files down to the limit, except pinned ones and `except`. */
  async #evict(except?: string): Promise<void> {
    while (this.#sizeBytes > this.#limitBytes && (await this.#removeOldest(except)));
  }

  async #removeOldest(except: string | undefined): Promise<boolean> {
    for (const digest of this.#partials.keys()) {
      if (digest === except) continue;
      this.#forgetPartial(digest);
      await this.#discard(this.#partialPath(digest));
      return true;
    }
    for (const [digest, entry] of this.#entries) {
      if (entry.pins > 0 || digest === except) continue;
      await this.#remove(digest, entry);
      return true;
    }
    return false;
  }

  async #remove(digest: string, entry: Entry): Promise<void> {
    this.#entries.delete(digest);
    this.#sizeBytes -= entry.sizeBytes;
    await this.#discard(this.pathOf(digest));
  }

  /** Renames synchronously: a download of the same blob may create the file again in the next turn. */
  async #discard(path: string): Promise<void> {
    const aside = join(this.#folder, `${this.#runtime.newId()}.removed`);
    try {
      renameSync(path, aside);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
    await rm(aside, { force: true });
  }
}

/** Synchronous, since a thread would cost more. */
function sizeOf(path: string): number | undefined {
  try {
    return statSync(path).size;
  } catch {
    return undefined;
  }
}

async function digestOf(path: string): Promise<string | undefined> {
  const hash = createHash('sha256');
  try {
    for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) hash.update(chunk);
  } catch {
    return undefined; // an unreadable file is fetched again
  }
  return hash.digest('hex');
}
