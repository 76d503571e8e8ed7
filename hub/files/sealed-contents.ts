/** The encrypted contents of a content store: files `<first two digits>/<digest>.enc` beside the clear ones. A content that
 *  was stored encrypted has no clear byte on this disk, however small it is. */
import { createHash } from 'node:crypto';
import { mkdir, open, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { FileRef } from '@workbench-hub/shared/domain/job';
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import { writeStream } from '@workbench-hub/shared/runtime/write-stream';
import type { StoredFile } from '../core/ports/files.js';
import { findSealed, Sealing } from './encrypted.js';
import { SYNC_EVERY_BYTES, syncFolder } from './sync-folder.js';

const SUFFIX = '.enc';

export class SealedContents {
  readonly #folder: string;
  readonly #temporaryFolder: string;
  readonly #key: Buffer;
  readonly #runtime: Runtime;

  /** `key` has 32 bytes. */
  constructor(folder: string, temporaryFolder: string, key: Buffer, runtime: Runtime) {
    this.#folder = folder;
    this.#temporaryFolder = temporaryFolder;
    this.#key = key;
    this.#runtime = runtime;
  }

  pathOf(digest: string): string {
    return join(this.#folder, digest.slice(0, 2), digest + SUFFIX);
  }

  /** The digest of the content that a file of this name holds; undefined for a name of another kind. */
  static digestOf(name: string): string | undefined {
    return /^([0-9a-f]{64})\.enc$/.exec(name)?.[1];
  }

  async store(content: AsyncIterable<Buffer>): Promise<FileRef> {
    const temporary = join(this.#temporaryFolder, this.#runtime.newId());
    try {
      const ref = await this.#write(temporary, content);
      const path = this.pathOf(ref.digest);
      await mkdir(dirname(path), { recursive: true });
      await rename(temporary, path);
      await syncFolder(dirname(path));
      await syncFolder(this.#folder);
      return ref;
    } catch (error) {
      await rm(temporary, { force: true });
      throw error;
    }
  }

  async find(digest: string): Promise<StoredFile | undefined> {
    const found = await findSealed(this.pathOf(digest), digest, this.#key);
    return found && { ...found, isEncrypted: true };
  }

  async #write(path: string, content: AsyncIterable<Buffer>): Promise<FileRef> {
    const hash = createHash('sha256');
    const sealing = new Sealing(this.#key);
    let sizeBytes = 0;
    const handle = await open(path, 'wx', 0o600);
    try {
      const onClear = (chunk: Buffer) => {
        hash.update(chunk);
        sizeBytes += chunk.length;
      };
      await writeStream(handle, sealed(sealing, content, onClear), {
        onChunk: () => undefined,
        syncEveryBytes: SYNC_EVERY_BYTES,
      });
      const digest = hash.digest('hex');
      const header = sealing.header(digest, sizeBytes);
      await handle.write(header, 0, header.length, 0);
      const now = this.#runtime.clock.nowMs() / 1000;
      await handle.utimes(now, now);
      await handle.sync();
      return { digest, sizeBytes, encrypted: true };
    } finally {
      await handle.close();
    }
  }
}

/** The file from its beginning, with room for the header. */
async function* sealed(
  sealing: Sealing,
  content: AsyncIterable<Buffer>,
  onClear: (chunk: Buffer) => void,
): AsyncGenerator<Buffer> {
  yield Sealing.placeholder;
  for await (const chunk of content) {
    onClear(chunk);
    yield* sealing.add(chunk);
  }
  yield* sealing.end();
}
