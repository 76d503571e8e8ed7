/**
 * Bytes that many responses share, plain or as a part of a compressed response. A `deflate` response (RFC 9110, section 8.4.1.2) is
 * one zlib stream (RFC 1950): a header, blocks of RFC 1951, and the Adler-32 of all that it holds. Each part is compressed once, without
 * reference to any other, and ends at a byte, so that parts of any responses can follow each other. The checksum of a response
 * is computed from those of its parts.
 */
import { deflateRawSync, constants as zlib } from 'node:zlib';

/** Smaller bytes are stored as they are: a compressor costs more than it saves. */
const MIN_COMPRESSED_BYTES = 1024;

/** With fewer responses, writing plain bytes costs less than to compress them. */
const MIN_SHARES = 8;

/** zlib with a window of 32 KiB, compressed fast. */
const HEADER = Buffer.from([0x78, 0x01]);
/** An empty stored block that is the last one. */
const LAST_BLOCK = Buffer.from([0x01, 0x00, 0x00, 0xff, 0xff]);
const MAX_STORED_BYTES = 0xffff;

/** The largest prime below 2^16. */
const ADLER_BASE = 65_521;
/** Bytes whose sums cannot exceed 2^32. */
const ADLER_RUN = 5552;

export class SharedBytes {
  readonly plain: Buffer;
  readonly #isCompressed: boolean;
  #deflated: Buffer | undefined;
  #adler: number | undefined;

  /** `shares` is the number of responses that may have these bytes. */
  constructor(plain: Buffer | string, shares = 1) {
    this.plain = typeof plain === 'string' ? Buffer.from(plain) : plain;
    this.#isCompressed = shares >= MIN_SHARES && this.plain.length >= MIN_COMPRESSED_BYTES;
  }

  get length(): number {
    return this.plain.length;
  }

  /** Blocks of RFC 1951, none of which is the last one. */
  get deflated(): Buffer {
    this.#deflated ??= this.#isCompressed ? compressed(this.plain) : stored(this.plain);
    return this.#deflated;
  }

  get adler(): number {
    this.#adler ??= adlerOf(this.plain);
    return this.#adler;
  }
}

/** The parts of one compressed response, in their order. */
export class DeflatedResponse {
  #adler = 1;

  /** First bytes of the response. */
  begin(): Buffer {
    return HEADER;
  }

  /** Bytes of this part. */
  part(bytes: SharedBytes): Buffer {
    this.#adler = combined(this.#adler, bytes.adler, bytes.length);
    return bytes.deflated;
  }

  /** Last bytes of the response. */
  end(): Buffer {
    const checksum = Buffer.alloc(4);
    checksum.writeUInt32BE(this.#adler);
    return Buffer.concat([LAST_BLOCK, checksum]);
  }
}

function compressed(plain: Buffer): Buffer {
  return deflateRawSync(plain, { level: zlib.Z_BEST_SPEED, finishFlush: zlib.Z_SYNC_FLUSH });
}

function stored(plain: Buffer): Buffer {
  const blocks: Buffer[] = [];
  for (let at = 0; at < plain.length; at += MAX_STORED_BYTES) {
    const content = plain.subarray(at, at + MAX_STORED_BYTES);
    const head = Buffer.alloc(5);
    head.writeUInt16LE(content.length, 1);
    head.writeUInt16LE(~content.length & 0xffff, 3);
    blocks.push(head, content);
  }
  return Buffer.concat(blocks);
}

function adlerOf(bytes: Buffer): number {
  let low = 1;
  let high = 0;
  for (let at = 0; at < bytes.length; ) {
    const end = Math.min(at + ADLER_RUN, bytes.length);
    for (; at < end; at++) {
      low += bytes[at] as number;
      high += low;
    }
    low %= ADLER_BASE;
    high %= ADLER_BASE;
  }
  return ((high << 16) | low) >>> 0;
}

/** Checksum of bytes that are followed by others, from both checksums and the number of the others. */
function combined(first: number, second: number, secondLength: number): number {
  const [low1, high1] = [first & 0xffff, first >>> 16];
  const [low2, high2] = [second & 0xffff, second >>> 16];
  const low = (low1 + low2 - 1 + ADLER_BASE) % ADLER_BASE;
  const high = (high1 + high2 + (secondLength % ADLER_BASE) * (low1 - 1 + ADLER_BASE)) % ADLER_BASE;
  return ((high << 16) | low) >>> 0;
}
