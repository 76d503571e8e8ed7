/** Contents by digest in one folder, the least recently used removed first when there are too many bytes. */
import { createHash } from 'node:crypto';
import { createReadStream, renameSync } from 'node:fs';
import { mkdir, readdir, rm, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import type { FileRef } from '@workbench-hub/shared/domain/job';
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import { type ContentCache, ContentMismatch } from '../core/ports/content-cache.js';
import { beginContent } from './content-writer.js';

interface Entry {
  readonly sizeBytes: number;
  /** How often it is in use. */
  pins: number;
  /** Read and found to be what its digest says, by this process: an earlier one may have ended with the power. */
  verified: boolean;
}

export class DiskCache implements ContentCache {
  readonly #folder: string;
  readonly #limitBytes: number;
  readonly #runtime: Runtime;
  /** Least recently used first. */
  readonly #entries = new Map<string, Entry>();
  #sizeBytes = 0;

  private constructor(folder: string, limitBytes: number, runtime: Runtime) {
    this.#folder = folder;
    this.#limitBytes = limitBytes;
    this.#runtime = runtime;
  }

  static async open(folder: string, limitBytes: number, runtime: Runtime): Promise<DiskCache> {
    await mkdir(folder, { recursive: true });
    const cache = new DiskCache(folder, limitBytes, runtime);
    const found: { digest: string; sizeBytes: number; usedAtMs: number }[] = [];
    for (const name of await readdir(folder)) {
      const path = join(folder, name);
      if (!/^[0-9a-f]{64}$/.test(name)) await rm(path, { recursive: true, force: true });
      else {
        const { size, mtimeMs } = await stat(path);
        found.push({ digest: name, sizeBytes: size, usedAtMs: mtimeMs });
      }
    }
    for (const { digest, sizeBytes } of found.sort((a, b) => a.usedAtMs - b.usedAtMs)) {
      cache.#add(digest, { sizeBytes, pins: 0, verified: false });
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
    if (entry.verified) entry.verified = (await sizeOf(this.pathOf(file.digest))) === file.sizeBytes;
    else {
      entry.verified =
        entry.sizeBytes === file.sizeBytes && (await digestOf(this.pathOf(file.digest))) === file.digest;
    }
    if (this.#entries.get(file.digest) !== entry) return this.pin(file); // it was put anew meanwhile
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
    const usedAtS = this.#runtime.clock.nowMs() / 1000;
    // Only the order after the next start depends on it; a file that cannot be touched is removed a little earlier.
    utimes(this.pathOf(digest), usedAtS, usedAtS).catch(() => undefined);
  }

  async put(file: FileRef, content: AsyncIterable<Uint8Array>): Promise<void> {
    await mkdir(this.#folder, { recursive: true }); // somebody may have taken it away
    const writer = await beginContent(this.#folder, `${this.#runtime.newId()}.partial`, file.digest);
    let written: FileRef;
    try {
      let sizeBytes = 0;
      for await (const bytes of content) {
        sizeBytes += bytes.length;
        if (sizeBytes > file.sizeBytes)
          throw new ContentMismatch(`content ${file.digest} is longer than it should be`);
        await writer.write(bytes);
      }
      written = await writer.finish();
    } catch (error) {
      await writer.abandon().catch(() => undefined);
      throw error;
    }
    const before = this.#entries.get(file.digest);
    this.#sizeBytes -= before?.sizeBytes ?? 0;
    this.#add(file.digest, { sizeBytes: written.sizeBytes, pins: before?.pins ?? 0, verified: true });
    await this.#evict(file.digest);
  }

  #add(digest: string, entry: Entry): void {
    this.#entries.delete(digest);
    this.#entries.set(digest, entry);
    this.#sizeBytes += entry.sizeBytes;
  }

  /** Down to the limit, except what is in use and what came just now. */
  async #evict(except?: string): Promise<void> {
    for (const [digest, entry] of this.#entries) {
      if (this.#sizeBytes <= this.#limitBytes) return;
      if (entry.pins === 0 && digest !== except) await this.#remove(digest, entry);
    }
  }

  async #remove(digest: string, entry: Entry): Promise<void> {
    this.#entries.delete(digest);
    this.#sizeBytes -= entry.sizeBytes;
    // Moved in this very turn: a download of the same content may put a file there again in the next.
    const aside = join(this.#folder, `${this.#runtime.newId()}.removed`);
    try {
      renameSync(this.pathOf(digest), aside);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
    await rm(aside, { force: true });
  }
}

async function sizeOf(path: string): Promise<number | undefined> {
  return stat(path).then(
    ({ size }) => size,
    () => undefined,
  );
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
