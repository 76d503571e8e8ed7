/**
 * Bytes of unfinished uploads, in the folder `uploads`: a plain upload is one file that grows and is renamed at the end. An encrypted
 * one is a folder of segments, each encrypted on its own with another key, since a chunk that was cut off must not be encrypted again
 * with the same nonce; the segments become one blob at the end.
 */
import { createHash, type Hash } from 'node:crypto';
import { join } from 'node:path';
import type { FileRef } from '@workbench-hub/shared/domain/job';
import { writeStream } from '@workbench-hub/shared/runtime/write-stream';
import { HubError } from '../core/errors.js';
import { type Hold, type UploadedBytes, UploadLost, type UploadRef } from '../core/ports/blobs.js';
import { absent } from './blob-disk.js';
import { readAll } from './blob-streams.js';
import { storageFull } from './disk-full.js';
import { findEncrypted } from './encrypted.js';
import { type EncryptedBlobs, writeEncrypted } from './encrypted-blobs.js';
import type { BlobLocation, PlainBlobs } from './plain-blobs.js';

/** Bytes between two points up to which everything is durable: as much is sent again after a crash. */
const SEGMENT_BYTES = 16 * 1024 * 1024;

/** Limit of the files of one encrypted upload. */
const MAX_SEGMENTS = 10_000;

/** Uploads whose hash is kept between two requests; others are read again at their end. */
const MAX_HASHES = 256;

const ID = /^[0-9A-Za-z-]{1,64}$/;

export interface UploadFilesOptions {
  readonly folder: string;
  readonly location: BlobLocation;
  readonly plain: PlainBlobs;
  readonly encrypted: EncryptedBlobs;
  /** 32 bytes. */
  readonly key: Buffer;
  readonly maxInlineBytes: number;
  readonly putInline: (blob: Buffer, hold: Hold) => Promise<FileRef>;
}

export class UploadFiles implements UploadedBytes {
  readonly #options: UploadFilesOptions;
  /** Hash of the first `bytes` of an upload; the latest last. */
  readonly #hashes = new Map<string, { readonly hash: Hash; readonly bytes: number }>();

  constructor(options: UploadFilesOptions) {
    this.#options = options;
  }

  freeBytes(): Promise<number> {
    const { folder, location } = this.#options;
    return location.disk.freeBytes(folder);
  }

  async append(
    upload: UploadRef,
    fromByte: number,
    pieces: AsyncIterable<Buffer>,
    onDurable: (bytes: number) => Promise<void>,
  ): Promise<void> {
    try {
      if (upload.encrypt) await this.#appendEncrypted(upload.id, fromByte, pieces, onDurable);
      else await this.#appendPlain(upload.id, fromByte, pieces, onDurable);
    } catch (error) {
      throw storageFull(error);
    }
  }

  async toBlob(upload: UploadRef, hold: Hold, onDigest: (digest: string) => Promise<void>): Promise<FileRef> {
    try {
      return await (upload.encrypt
        ? this.#encryptedBlob(upload, hold, onDigest)
        : this.#plainBlob(upload, hold, onDigest));
    } catch (error) {
      throw storageFull(error);
    }
  }

  async remove(id: string): Promise<void> {
    this.#hashes.delete(id);
    await this.#options.location.disk.remove(this.#pathOf(id));
  }

  ids(): Promise<string[]> {
    const { folder, location } = this.#options;
    return location.disk.list(folder);
  }

  async #appendPlain(
    id: string,
    fromByte: number,
    pieces: AsyncIterable<Buffer>,
    onDurable: (bytes: number) => Promise<void>,
  ): Promise<void> {
    const { folder, location } = this.#options;
    const hash = this.#takeHash(id, fromByte);
    const file = await location.disk.open(this.#pathOf(id), 'a+');
    let durableBytes = fromByte;
    try {
      if ((await file.stat()).size < fromByte) throw new UploadLost();
      await file.truncate(fromByte);
      if (fromByte === 0) await location.disk.syncFolder(folder);
      for await (const segment of segmentsOf(pieces)) {
        let bytes = 0;
        const onChunk = (chunk: Uint8Array) => {
          hash?.update(chunk);
          bytes += chunk.length;
        };
        await writeStream(file, segment, { onChunk });
        await file.datasync();
        await onDurable(durableBytes + bytes);
        durableBytes += bytes;
      }
      if (hash) this.#keepHash(id, hash, durableBytes);
    } catch (error) {
      // Uploads that are not durable only take room.
      await file.truncate(durableBytes).catch(() => undefined);
      throw error;
    } finally {
      await file.close();
    }
  }

  async #appendEncrypted(
    id: string,
    fromByte: number,
    pieces: AsyncIterable<Buffer>,
    onDurable: (bytes: number) => Promise<void>,
  ): Promise<void> {
    const { folder, location, key } = this.#options;
    const { disk } = location;
    await disk.makeFolder(this.#pathOf(id));
    const starts = await this.#segmentStarts(id);
    for (const start of starts.filter((each) => each >= fromByte))
      await disk.remove(this.#segment(id, start));
    const kept = starts.filter((each) => each < fromByte);
    const last = kept.at(-1);
    if ((last === undefined ? 0 : last + (await this.#openSegment(id, last)).sizeBytes) !== fromByte)
      throw new UploadLost();
    if (fromByte === 0) await disk.syncFolder(folder);
    let [at, count] = [fromByte, kept.length];
    for await (const segment of segmentsOf(pieces)) {
      if (++count > MAX_SEGMENTS) throw tooManyParts();
      const path = this.#segment(id, at);
      try {
        const { sizeBytes } = await writeEncrypted(location, key, path, segment, placeOf(id, at));
        await disk.syncFolder(this.#pathOf(id));
        await onDurable(at + sizeBytes);
        at += sizeBytes;
      } catch (error) {
        await disk.remove(path);
        throw error;
      }
    }
  }

  async #plainBlob(
    { id, sizeBytes }: UploadRef,
    hold: Hold,
    onDigest: (digest: string) => Promise<void>,
  ): Promise<FileRef> {
    const { location, plain, maxInlineBytes, putInline } = this.#options;
    const path = this.#pathOf(id);
    const { disk } = location;
    if (sizeBytes === 0) {
      await onDigest(createHash('sha256').digest('hex'));
      return putInline(Buffer.alloc(0), hold);
    }
    const stored = await disk.stat(path).catch(absent(undefined));
    if (stored?.size !== sizeBytes) throw new UploadLost();
    const content = () => disk.read(path, 0, sizeBytes) as AsyncIterable<Buffer>;
    const digest = (this.#takeHash(id, sizeBytes) ?? (await hashOf(content()))).digest('hex');
    await onDigest(digest);
    if (sizeBytes <= maxInlineBytes) return putInline(await readAll(content(), sizeBytes), hold);
    hold.add({ digest });
    await plain.keep(path, digest);
    return { digest, sizeBytes };
  }

  async #encryptedBlob(
    { id, sizeBytes }: UploadRef,
    hold: Hold,
    onDigest: (digest: string) => Promise<void>,
  ): Promise<FileRef> {
    const ref = await this.#options.encrypted.store(this.#joined(id, sizeBytes), hold);
    await onDigest(ref.digest);
    return ref;
  }

  async *#joined(id: string, sizeBytes: number): AsyncGenerator<Buffer> {
    let at = 0;
    for (const start of await this.#segmentStarts(id)) {
      if (start !== at) throw new UploadLost();
      const segment = await this.#openSegment(id, start);
      yield* segment.open() as AsyncIterable<Buffer>;
      at += segment.sizeBytes;
    }
    if (at !== sizeBytes) throw new UploadLost();
  }

  async #openSegment(id: string, start: number) {
    const { location, key } = this.#options;
    const segment = await findEncrypted(this.#segment(id, start), placeOf(id, start), key, location.disk);
    if (!segment) throw new UploadLost();
    return segment;
  }

  async #segmentStarts(id: string): Promise<number[]> {
    const names = await this.#options.location.disk.list(this.#pathOf(id)).catch(absent<string[]>([]));
    return names.map(Number).sort((a, b) => a - b);
  }

  #segment(id: string, start: number): string {
    return join(this.#pathOf(id), String(start));
  }

  #pathOf(id: string): string {
    if (!ID.test(id)) throw new Error(`${JSON.stringify(id)} is no id of an upload`);
    return join(this.#options.folder, id);
  }

  /** Hash of the bytes so far, which is no longer kept; undefined when it is not known. */
  #takeHash(id: string, bytes: number): Hash | undefined {
    const kept = this.#hashes.get(id);
    this.#hashes.delete(id);
    if (bytes === 0) return createHash('sha256');
    return kept?.bytes === bytes ? kept.hash : undefined;
  }

  #keepHash(id: string, hash: Hash, bytes: number): void {
    this.#hashes.set(id, { hash, bytes });
    const [oldest] = this.#hashes.keys();
    if (this.#hashes.size > MAX_HASHES && oldest !== undefined) this.#hashes.delete(oldest);
  }
}

/** Digest that binds an encrypted segment to its place, so that none is taken for another. */
function placeOf(id: string, start: number): string {
  return createHash('sha256').update(`${id}/${start}`).digest('hex');
}

async function hashOf(content: AsyncIterable<Buffer>): Promise<Hash> {
  const hash = createHash('sha256');
  for await (const piece of content) hash.update(piece);
  return hash;
}

/** Splits a stream into streams of at least {@link SEGMENT_BYTES}, but for the last. Each must be read before the next. */
async function* segmentsOf(pieces: AsyncIterable<Buffer>): AsyncGenerator<AsyncGenerator<Buffer>> {
  const iterator = pieces[Symbol.asyncIterator]();
  let next = await iterator.next();
  async function* segment(): AsyncGenerator<Buffer> {
    for (let bytes = 0; !next.done && bytes < SEGMENT_BYTES; next = await iterator.next()) {
      bytes += next.value.length;
      yield next.value;
    }
  }
  try {
    while (!next.done) yield segment();
  } finally {
    await iterator.return?.();
  }
}

function tooManyParts(): HubError {
  return new HubError(
    'INVALID_INPUT',
    `Upload-Offset: an encrypted upload may arrive in at most ${MAX_SEGMENTS} parts; send larger ones`,
  );
}
