/** Transformations of blob streams on their way to the store. */
import { BlobTooLarge } from '../core/ports/blobs.js';

/** Splits large buffers, so that hashing and writing do not block the event loop for long. */
export async function* chunksOf(blob: Buffer): AsyncGenerator<Buffer> {
  const pieceBytes = 1024 * 1024;
  for (let start = 0; start < blob.length; start += pieceBytes) {
    yield blob.subarray(start, start + pieceBytes);
  }
}

/** Fails the stream after more than `maxBytes`. */
export async function* limited(stream: AsyncIterable<Buffer>, maxBytes: number): AsyncGenerator<Buffer> {
  let sizeBytes = 0;
  for await (const chunk of stream) {
    sizeBytes += chunk.length;
    if (sizeBytes > maxBytes) throw new BlobTooLarge(maxBytes);
    yield chunk;
  }
}

/** Reads up to the end, or until more than `limitBytes` were read. */
export async function readUpTo(
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

export async function* rejoined(first: Buffer, rest: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  yield first;
  yield* rest;
}

/** Reads a stream of expected size; stops soon after exceeding it. */
export async function readAll(stream: AsyncIterable<Buffer>, sizeBytes: number): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let length = 0;
  for await (const piece of stream) {
    pieces.push(piece);
    length += piece.length;
    if (length > sizeBytes) break;
  }
  return Buffer.concat(pieces);
}

/** Joins and splits the pieces of a stream into blocks of this size, of which only the last one may be shorter. */
export async function* blocksOf(stream: AsyncIterable<Buffer>, blockBytes: number): AsyncGenerator<Buffer> {
  let pieces: Buffer[] = [];
  let length = 0;
  for await (const piece of stream) {
    pieces.push(piece);
    length += piece.length;
    if (length < blockBytes) continue;
    const joined = Buffer.concat(pieces);
    let at = 0;
    for (; length - at >= blockBytes; at += blockBytes) yield joined.subarray(at, at + blockBytes);
    pieces = at < length ? [joined.subarray(at)] : [];
    length -= at;
  }
  if (length > 0) yield Buffer.concat(pieces);
}
