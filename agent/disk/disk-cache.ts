/** Contents by digest in one folder, the least recently used removed first when there are too many bytes. What broke off
 *  on its way is kept beside them as `<digest>.partial`, and goes before them. */
import { createHash } from 'node:crypto';
import { createReadStream, renameSync, statSync } from 'node:fs';
import { chmod, mkdir, readdir, rename, rm, stat, statfs, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import type { FileRef } from '@workbench-hub/shared/domain/job';
import { NoRoom } from '@workbench-hub/shared/runtime/no-room';
import { PRIVATE_FOLDER_MODE } from '@workbench-hub/shared/runtime/private-files';
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import type { BlobCache } from '../core/ports/blob-cache.js';
import { REMOVE_OR_REJECT, type RemoveLeftover } from './leftovers.js';
import { CONTENT_MODE, partialSize, writePartial } from './partial-blob.js';

interface Entry {
  readonly sizeBytes: number;
  /** How often it is in use. */
  pins: number;
  /** What the file's time says of its last use. */
  usedAtMs: number;
  /** Read and found to be what its digest says, by this process: an earlier one may have ended with the power. */
  verified: boolean;
}

/** Only the order after the next start depends on the times of files, so they need not be told of every use. */
const TOUCHED_EVERY_MS = 60_000;

/** Whether there is room for what is smaller shows when it is written. */
const WORTH_ASKING_BYTES = 1024 * 1024;

/** `<digest>` or `<digest>.partial` */
const NAME = /^([0-9a-f]{64})(\.partial)?$/;

export class DiskCache implements BlobCache {
  readonly #folder: string;
  readonly #limitBytes: number;
  readonly #runtime: Runtime;
  /** Least recently used first. */
  readonly #entries = new Map<string, Entry>();
  /** Bytes of what broke off and nobody is receiving, oldest first. */
  readonly #partials = new Map<string, number>();
  readonly #receiving = new Map<string, Promise<void>>();
  /** Of both together. */
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
        // Earlier versions gave it fewer rights.
        if ((mode & CONTENT_MODE) !== CONTENT_MODE) await chmod(path, CONTENT_MODE);
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

  /** Where a content lies that is pinned. */
  pathOf(digest: string): string {
    return join(this.#folder, digest);
  }

  async pin(file: FileRef): Promise<boolean> {
    const entry = this.#entries.get(file.digest);
    if (!entry) return false;
    entry.pins++;
    // What this process has read once is not read again, but it may have been taken away.
    if (entry.verified) entry.verified = sizeOf(this.pathOf(file.digest)) === file.sizeBytes;
    else {
      entry.verified =
        entry.sizeBytes === file.sizeBytes && (await digestOf(this.pathOf(file.digest))) === file.digest;
    }
    const current = this.#entries.get(file.digest);
    if (current !== entry) {
      // It was put anew meanwhile, and this pin went over to what was put.
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
    // A file that cannot be touched is removed a little earlier.
    utimes(this.pathOf(digest), nowMs / 1000, nowMs / 1000).catch(() => undefined);
  }

  async expect({ sizeBytes }: FileRef): Promise<void> {
    if (sizeBytes < WORTH_ASKING_BYTES) return;
    await mkdir(this.#folder, { recursive: true, mode: PRIVATE_FOLDER_MODE }); // somebody may have taken it away
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

  async put(file: FileRef, content: AsyncIterable<Uint8Array>, fromByte: number): Promise<void> {
    const { digest } = file;
    // One after the other: they write into the same file.
    while (this.#receiving.has(digest)) await this.#receiving.get(digest);
    const received = this.#receive(file, content, fromByte);
    this.#receiving.set(
      digest,
      received.catch(() => undefined).finally(() => this.#receiving.delete(digest)),
    );
    await received;
  }

  /** Removes what was not used for longest, to make room on the disk; false when everything is in use. */
  async makeRoom(): Promise<boolean> {
    return this.#removeOldest(undefined);
  }

  async #receive(file: FileRef, content: AsyncIterable<Uint8Array>, fromByte: number): Promise<void> {
    const { digest } = file;
    const path = this.#partialPath(digest);
    await mkdir(this.#folder, { recursive: true, mode: PRIVATE_FOLDER_MODE }); // somebody may have taken it away
    this.#forgetPartial(digest);
    try {
      await writePartial(path, file, content, fromByte, () => this.makeRoom());
    } catch (error) {
      const keptBytes = await partialSize(path);
      if (keptBytes === 0) await rm(path, { force: true });
      else this.#addPartial(digest, keptBytes);
      await this.#evict(digest);
      throw error;
    }
    await rename(path, this.pathOf(digest));
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

  /** Down to the limit, except what is in use and what came just now. */
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

  /** Moves it in this very turn: a download of the same content may put a file there again in the next. */
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

/** The system says it at once; asking from a thread would cost more. */
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
    return undefined; // a file that cannot be read is fetched again
  }
  return hash.digest('hex');
}
