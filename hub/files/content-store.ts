/**
 * Contents of files under their SHA-256: small ones in the database, where they share the commit of the task that
 * names them, large ones as files `<folder>/<first two digits>/<digest>`. A file is there when it is whole and synced:
 * it is written under a temporary name, synced, renamed, and its folder synced.
 */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, open, readdir, rename, rm, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import type { FileRef } from '@workbench-hub/shared/domain/job';
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import { writeStream } from '@workbench-hub/shared/runtime/write-stream';
import { HubError } from '../core/errors.js';
import {
  type ByteRange,
  ContentTooLarge,
  DigestMismatch,
  type FileStore,
  type SmallFiles,
  type StoredFile,
  WrongOffset,
} from '../core/ports/files.js';
import { PartialContents } from './partial-contents.js';
import { SealedContents } from './sealed-contents.js';
import { SYNC_EVERY_BYTES, syncFolder } from './sync-folder.js';

/** Contents up to this size go into the database, unless they are to be encrypted. */
export const MAX_SMALL_BYTES = 32 * 1024;

/** Read at a time. */
const READ_BYTES = 256 * 1024;

const TEMPORARY_FOLDER = 'incoming';

/** Prepares the folder and removes what a crash left half-written. `encryptionKey` has 32 bytes. */
export async function openContentStore(
  folder: string,
  small: SmallFiles,
  runtime: Runtime,
  encryptionKey: Buffer,
): Promise<FileStore> {
  const temporaryFolder = join(folder, TEMPORARY_FOLDER);
  await mkdir(temporaryFolder, { recursive: true });
  const partial = await PartialContents.open(temporaryFolder, runtime);

  const sealed = new SealedContents(folder, temporaryFolder, encryptionKey, runtime);

  const pathOf = (digest: string) => join(folder, digest.slice(0, 2), digest);

  /** Marks a content as used now, so that the sweep leaves it until something names it. */
  const touch = async (path: string): Promise<boolean> => {
    const now = runtime.clock.nowMs() / 1000;
    return utimes(path, now, now).then(() => true, absent(false));
  };

  /** Gives a whole and synced file its name. */
  const keep = async (path: string, digest: string): Promise<void> => {
    const parent = join(folder, digest.slice(0, 2));
    await mkdir(parent, { recursive: true });
    await rename(path, pathOf(digest));
    await syncFolder(parent);
    await syncFolder(folder);
  };

  const writeFile = async (content: AsyncIterable<Buffer>): Promise<FileRef> => {
    const temporary = join(temporaryFolder, runtime.newId());
    const hash = createHash('sha256');
    let sizeBytes = 0;
    try {
      const handle = await open(temporary, 'wx', 0o600);
      try {
        const onChunk = (chunk: Uint8Array) => {
          hash.update(chunk);
          sizeBytes += chunk.length;
        };
        await writeStream(handle, content, { onChunk, syncEveryBytes: SYNC_EVERY_BYTES });
        const now = runtime.clock.nowMs() / 1000;
        await handle.utimes(now, now);
        await handle.sync();
      } finally {
        await handle.close();
      }
      const digest = hash.digest('hex');
      await keep(temporary, digest);
      return { digest, sizeBytes };
    } catch (error) {
      await rm(temporary, { force: true });
      throw fault(error);
    }
  };

  const putSmall = async (content: Buffer): Promise<FileRef> => {
    const digest = createHash('sha256').update(content).digest('hex');
    await small.put(digest, content, runtime.clock.nowMs());
    return { digest, sizeBytes: content.length };
  };

  const findClear = async (digest: string): Promise<StoredFile | undefined> => {
    const content = await small.find(digest);
    if (content) {
      const open = (range?: ByteRange) => Readable.from([part(content, range)]);
      return { sizeBytes: content.length, isEncrypted: false, open };
    }
    const info = await stat(pathOf(digest)).catch(absent(undefined));
    if (!info) return undefined;
    await touch(pathOf(digest));
    return { sizeBytes: info.size, isEncrypted: false, open: (range) => readFile(pathOf(digest), range) };
  };

  const findSealed = async (digest: string): Promise<StoredFile | undefined> => {
    if (!(await touch(sealed.pathOf(digest)))) return undefined;
    return sealed.find(digest);
  };

  /** Removes the contents of a folder that lie encrypted, or those that do not, and that nothing names. */
  const sweepFolder = async (prefix: string, encrypted: boolean, beforeMs: number): Promise<number> => {
    const digestOf = encrypted ? SealedContents.digestOf : clearDigestOf;
    const digests = (await readdir(join(folder, prefix)))
      .map(digestOf)
      .filter((digest) => digest !== undefined);
    const named = await small.named(digests, encrypted);
    let removed = 0;
    for (const digest of digests) {
      if (named.has(digest)) continue;
      const path = encrypted ? sealed.pathOf(digest) : pathOf(digest);
      const info = await stat(path).catch(absent(undefined));
      if (!info || info.mtimeMs >= beforeMs) continue;
      await rm(path, { force: true });
      removed++;
    }
    return removed;
  };

  const store: FileStore = {
    async put(content) {
      if (content.length <= MAX_SMALL_BYTES) return putSmall(content);
      const digest = createHash('sha256').update(content).digest('hex');
      if (await touch(pathOf(digest))) return { digest, sizeBytes: content.length };
      return writeFile(chunksOf(content));
    },

    async store(content, maxBytes) {
      const stream = limited(content, maxBytes);
      const first = await readUpTo(stream, MAX_SMALL_BYTES);
      if (first.isWhole) return putSmall(first.bytes);
      return writeFile(rejoined(first.bytes, stream));
    },

    async receive(expected, content, fromByte = 0) {
      const { digest: announced } = expected;
      if (expected.sizeBytes > MAX_SMALL_BYTES) {
        await partial
          .receive(expected, content, fromByte, (path) => keep(path, announced))
          .catch((error: unknown) => {
            throw fault(error);
          });
        return;
      }
      if (fromByte > 0) throw new WrongOffset(0);
      const whole = await readAll(content, expected.sizeBytes);
      const digest = createHash('sha256').update(whole).digest('hex');
      if (digest !== expected.digest || whole.length !== expected.sizeBytes) {
        throw new DigestMismatch(
          `announced ${expected.digest} (${expected.sizeBytes} bytes), came ${digest}`,
        );
      }
      await putSmall(whole);
    },

    receivedBytes: (digest) => partial.sizeOf(digest),

    async storeEncrypted(content, maxBytes) {
      try {
        return await sealed.store(limited(content, maxBytes));
      } catch (error) {
        throw fault(error);
      }
    },

    async find(content) {
      if (typeof content === 'string') return (await findClear(content)) ?? findSealed(content);
      const { digest, sizeBytes, encrypted } = content;
      const found = await (encrypted ? findSealed(digest) : findClear(digest));
      if (found && found.sizeBytes !== sizeBytes) {
        throw new Error(
          `content ${digest} is damaged: it has ${found.sizeBytes} instead of ${sizeBytes} bytes`,
        );
      }
      return found;
    },

    async renew(digest) {
      if (await touch(pathOf(digest))) return true;
      const content = await small.find(digest);
      if (content) await small.put(digest, content, runtime.clock.nowMs());
      return content !== undefined;
    },

    async sweep(ageMs) {
      const beforeMs = runtime.clock.nowMs() - ageMs;
      let removed = await small.sweep(beforeMs);
      for (const prefix of await readdir(folder)) {
        if (!/^[0-9a-f]{2}$/.test(prefix)) continue;
        removed += await sweepFolder(prefix, false, beforeMs);
        removed += await sweepFolder(prefix, true, beforeMs);
      }
      return removed + (await partial.sweep(beforeMs));
    },
  };
  return store;
}

/** Large buffers go to disk in pieces, so that hashing and writing never hold the event loop for long. */
async function* chunksOf(content: Buffer): AsyncGenerator<Buffer> {
  const pieceBytes = 1024 * 1024;
  for (let start = 0; start < content.length; start += pieceBytes) {
    yield content.subarray(start, start + pieceBytes);
  }
}

/** The stream, which fails as soon as it has given more than `maxBytes`. */
async function* limited(content: AsyncIterable<Buffer>, maxBytes: number): AsyncGenerator<Buffer> {
  let sizeBytes = 0;
  for await (const chunk of content) {
    sizeBytes += chunk.length;
    if (sizeBytes > maxBytes) throw new ContentTooLarge(maxBytes);
    yield chunk;
  }
}

/** Reads until more than `limitBytes` have come, or the end. */
async function readUpTo(
  stream: AsyncGenerator<Buffer>,
  limitBytes: number,
): Promise<{ bytes: Buffer; isWhole: boolean }> {
  const pieces: Buffer[] = [];
  let length = 0;
  while (length <= limitBytes) {
    const { value, done } = await stream.next();
    if (done) return { bytes: Buffer.concat(pieces), isWhole: true };
    pieces.push(value);
    length += value.length;
  }
  return { bytes: Buffer.concat(pieces), isWhole: false };
}

async function* rejoined(first: Buffer, rest: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  yield first;
  yield* rest;
}

function part(content: Buffer, range: ByteRange | undefined): Buffer {
  return range ? content.subarray(range.start, range.end) : content;
}

function readFile(path: string, range: ByteRange | undefined): Readable {
  if (!range) return createReadStream(path, { highWaterMark: READ_BYTES });
  if (range.start >= range.end) return Readable.from([]);
  return createReadStream(path, { highWaterMark: READ_BYTES, start: range.start, end: range.end - 1 });
}

/** Reads a stream that should have `sizeBytes`; stops soon after when it has more. */
async function readAll(content: AsyncIterable<Buffer>, sizeBytes: number): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let length = 0;
  for await (const piece of content) {
    pieces.push(piece);
    length += piece.length;
    if (length > sizeBytes) break;
  }
  return Buffer.concat(pieces);
}

/** Turns "there is no such file" into a value; everything else stays an error. */
function absent<T>(value: T): (error: unknown) => T {
  return (error) => {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return value;
    throw error;
  };
}

/** What a full disk says, in the words of the hub; everything else stays as it is. */
function fault(error: unknown): unknown {
  const code = (error as NodeJS.ErrnoException | null)?.code;
  if (code !== 'ENOSPC' && code !== 'EDQUOT') return error;
  return new HubError('STORAGE_FULL', 'the disk of the hub is full; the file was not kept', { cause: error });
}

function clearDigestOf(name: string): string | undefined {
  return /^[0-9a-f]{64}$/.test(name) ? name : undefined;
}
