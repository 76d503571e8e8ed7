/**
 * Format of encrypted blobs: AES-256-GCM in chunks that are authenticated one by one, so that a blob of any size is encrypted,
 * read and verified as a stream, and any part can be read without the rest.
 *
 *   header   magic (8 bytes), salt (32), keyed digest of the plain blob (32, see blob-names.ts), its length (8,
 *            big-endian), HMAC-SHA-256 of all that (32)
 *   chunks   64 KiB of the blob each, with its tag (16); the last one is shorter, and present even for an empty blob
 *
 * Each file has keys of its own, derived from the hub's key and the salt (HKDF-SHA-256), so that no nonce is ever used
 * twice with a key. The nonce of a chunk is its number (11 bytes) and whether it is the last (1 byte): chunks that are
 * missing, repeated, reordered or taken from another file fail the tag, and so does a truncated or extended end. The header
 * binds the blob to its digest, and so to its name. In files of the former format, whose magic ends
 * with 1, the digest is the plain SHA-256.
 */
import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  hkdfSync,
  randomBytes,
  timingSafeEqual,
} from 'node:crypto';
import { Readable } from 'node:stream';
import { BlobUnreadable, type ByteRange } from '../core/ports/blobs.js';
import { type BlobDisk, systemDisk } from './blob-disk.js';
import { KeyedNames } from './blob-names.js';
import type { OpenFile } from './blob-place.js';
import { openDiskFile } from './disk-file.js';

const MAGIC = Buffer.from('WBHENC\x00\x02', 'latin1');
const FORMER_MAGIC = Buffer.from('WBHENC\x00\x01', 'latin1');
const SALT_BYTES = 32;
const DIGEST_BYTES = 32;
const MAC_BYTES = 32;
const TAG_BYTES = 16;
const LENGTH_AT = MAGIC.length + SALT_BYTES + DIGEST_BYTES;
const MAC_AT = LENGTH_AT + 8;

export const HEADER_BYTES = MAC_AT + MAC_BYTES;
export const CHUNK_BYTES = 64 * 1024;

/** Bytes of a whole chunk in the file. */
const STORED_CHUNK_BYTES = CHUNK_BYTES + TAG_BYTES;

/** Bytes read from the disk at a time. */
const CHUNKS_AT_A_TIME = 16;

/** An encrypted file that cannot be read: another key, or damage. The message names the file. */
export class EncryptedFileUnreadable extends BlobUnreadable {
  override readonly name = 'EncryptedFileUnreadable';
}

interface Keys {
  readonly content: Buffer;
  readonly header: Buffer;
}

function keysOf(key: Buffer, salt: Buffer): Keys {
  const derived = Buffer.from(hkdfSync('sha256', key, salt, 'workbench-hub content 1', 64));
  return { content: derived.subarray(0, 32), header: derived.subarray(32) };
}

function nonceOf(chunk: number, isLast: boolean): Buffer {
  const nonce = Buffer.alloc(12);
  nonce.writeUIntBE(chunk, 5, 6);
  nonce[11] = isLast ? 1 : 0;
  return nonce;
}

/** Encrypts one blob. The output is written in order; the header, which comes first in the file, is written last. */
export class BlobCipher {
  readonly #salt = randomBytes(SALT_BYTES);
  readonly #names: KeyedNames;
  readonly #keys: Keys;
  #chunk = 0;
  /** Pending bytes: at most one chunk, since the last one must be known as such. */
  #rest: Buffer[] = [];
  #restBytes = 0;

  constructor(key: Buffer) {
    this.#names = new KeyedNames(key);
    this.#keys = keysOf(key, this.#salt);
  }

  /** Placeholder of the header. */
  static readonly placeholder = Buffer.alloc(HEADER_BYTES);

  *add(bytes: Buffer): Generator<Buffer> {
    let left = bytes;
    while (this.#restBytes + left.length > CHUNK_BYTES) {
      const missing = CHUNK_BYTES - this.#restBytes;
      yield* this.#encrypt([...this.#rest, left.subarray(0, missing)], false);
      this.#rest = [];
      this.#restBytes = 0;
      left = left.subarray(missing);
    }
    if (left.length === 0) return;
    // A copy, since the caller may reuse the memory.
    this.#rest.push(Buffer.from(left));
    this.#restBytes += left.length;
  }

  *end(): Generator<Buffer> {
    yield* this.#encrypt(this.#rest, true);
  }

  header(digest: string, sizeBytes: number): Buffer {
    const header = Buffer.alloc(HEADER_BYTES);
    MAGIC.copy(header);
    this.#salt.copy(header, MAGIC.length);
    this.#names.idOf(digest).copy(header, MAGIC.length + SALT_BYTES);
    header.writeBigUInt64BE(BigInt(sizeBytes), LENGTH_AT);
    macOf(header, this.#keys).copy(header, MAC_AT);
    return header;
  }

  *#encrypt(pieces: readonly Buffer[], isLast: boolean): Generator<Buffer> {
    const cipher = createCipheriv('aes-256-gcm', this.#keys.content, nonceOf(this.#chunk++, isLast));
    for (const piece of pieces) yield cipher.update(piece);
    cipher.final();
    yield cipher.getAuthTag();
  }
}

/** File size of a blob of this size. */
export function encryptedSize(sizeBytes: number): number {
  return HEADER_BYTES + sizeBytes + chunkCount(sizeBytes) * TAG_BYTES;
}

export interface EncryptedFile {
  readonly sizeBytes: number;
  open(range?: ByteRange): Readable;
}

/** Opens a file; undefined when it does not exist. */
export type FileOpener = () => Promise<OpenFile | undefined>;

/** Does the same as {@link openEncrypted} for a file of the local disk. */
export function findEncrypted(
  path: string,
  digest: string,
  key: Buffer,
  disk: BlobDisk = systemDisk,
): Promise<EncryptedFile | undefined> {
  return openEncrypted(() => openDiskFile(disk, path), digest, key);
}

/** Reads the header of the file of a blob with this digest. Undefined when the file does not exist; rejects with {@link
 *  EncryptedFileUnreadable} when the header does not match key, digest, or file size. */
export async function openEncrypted(
  open: FileOpener,
  digest: string,
  key: Buffer,
): Promise<EncryptedFile | undefined> {
  const file = await open();
  if (!file) return undefined;
  try {
    const { sizeBytes } = await readHeader(file, digest, key);
    return {
      sizeBytes,
      open: (range) => Readable.from(decrypted(open, digest, key, range), { objectMode: false }),
    };
  } finally {
    await file.close();
  }
}

/** True when the file was encrypted with this key; false also when it is not encrypted, or missing. */
export async function isEncryptedWith(key: Buffer, open: FileOpener): Promise<boolean> {
  const file = await open();
  if (!file) return false;
  try {
    await headerOf(file, key);
    return true;
  } catch (error) {
    if (error instanceof EncryptedFileUnreadable) return false;
    throw error;
  } finally {
    await file.close();
  }
}

/** Reads the header and verifies that it was written with this key. */
async function headerOf(
  file: OpenFile,
  key: Buffer,
): Promise<{ readonly header: Buffer; readonly keys: Keys; readonly isFormer: boolean }> {
  const { location } = file;
  const header = await startOf(file);
  const magic = header.subarray(0, MAGIC.length);
  const isFormer = magic.equals(FORMER_MAGIC);
  if (header.length < HEADER_BYTES || !(isFormer || magic.equals(MAGIC))) {
    throw new EncryptedFileUnreadable(`${location} is not an encrypted file of a hub: it is damaged`);
  }
  const keys = keysOf(key, header.subarray(MAGIC.length, MAGIC.length + SALT_BYTES));
  if (!timingSafeEqual(macOf(header, keys), header.subarray(MAC_AT))) throw anotherKey(location);
  return { header, keys, isFormer };
}

/** The bytes of the header; fewer when the file is shorter. */
async function startOf(file: OpenFile): Promise<Buffer> {
  const end = Math.min(HEADER_BYTES, file.sizeBytes);
  if (end === 0) return Buffer.alloc(0);
  for await (const block of file.blocks(0, end, HEADER_BYTES)) return block;
  return Buffer.alloc(0);
}

/** Error for a file that this key cannot read. */
export function anotherKey(path: string): EncryptedFileUnreadable {
  return new EncryptedFileUnreadable(
    `${path} was encrypted with another key than storage.encryptionKey (or storage-key), or is damaged`,
  );
}

async function readHeader(file: OpenFile, digest: string, key: Buffer) {
  const { location, sizeBytes: fileBytes } = file;
  const { header, keys, isFormer } = await headerOf(file, key);
  const held = header.subarray(MAGIC.length + SALT_BYTES, LENGTH_AT);
  const expected = isFormer ? Buffer.from(digest, 'hex') : new KeyedNames(key).idOf(digest);
  if (!held.equals(expected)) throw new EncryptedFileUnreadable(`${location} holds another blob`);
  const sizeBytes = Number(header.readBigUInt64BE(LENGTH_AT));
  if (fileBytes !== encryptedSize(sizeBytes)) {
    throw new EncryptedFileUnreadable(
      `${location} is damaged: it has ${fileBytes} bytes instead of ${encryptedSize(sizeBytes)}`,
    );
  }
  return { keys, sizeBytes };
}

/** Each chunk is verified before it is emitted. */
async function* decrypted(
  open: FileOpener,
  digest: string,
  key: Buffer,
  range: ByteRange | undefined,
): AsyncGenerator<Buffer, void> {
  // One open file for the whole read: another blob may take the name meanwhile, with other keys.
  const file = await open();
  if (!file) throw new EncryptedFileUnreadable(`the file of the encrypted blob ${digest} is gone`);
  try {
    const { keys, sizeBytes } = await readHeader(file, digest, key);
    const { start, end } = range ?? { start: 0, end: sizeBytes };
    const lastChunk = chunkCount(sizeBytes) - 1;
    const until = Math.min(Math.floor(Math.max(end - 1, start) / CHUNK_BYTES), lastChunk);
    let chunk = Math.floor(start / CHUNK_BYTES);
    const stored = file.blocks(
      HEADER_BYTES + chunk * STORED_CHUNK_BYTES,
      Math.min(HEADER_BYTES + (until + 1) * STORED_CHUNK_BYTES, file.sizeBytes),
      CHUNKS_AT_A_TIME * STORED_CHUNK_BYTES,
    );
    for await (const block of stored) {
      const plain: Buffer[] = [];
      for (let from = 0; from < block.length; from += STORED_CHUNK_BYTES, chunk++) {
        const encrypted = block.subarray(from, from + STORED_CHUNK_BYTES);
        const opened = decryptChunk(encrypted, keys, chunk, chunk === lastChunk);
        if (!opened) throw damagedIn(file, chunk);
        const position = chunk * CHUNK_BYTES;
        plain.push(opened.subarray(Math.max(start - position, 0), Math.max(end - position, 0)));
      }
      const bytes = Buffer.concat(plain);
      if (bytes.length > 0) yield bytes;
    }
    if (chunk <= until) throw damagedIn(file, chunk);
  } finally {
    await file.close();
  }
}

function damagedIn({ location }: OpenFile, chunk: number): EncryptedFileUnreadable {
  return new EncryptedFileUnreadable(`${location} is damaged in chunk ${chunk}`);
}

function decryptChunk(
  encrypted: Buffer,
  { content }: Keys,
  chunk: number,
  isLast: boolean,
): Buffer | undefined {
  if (encrypted.length < TAG_BYTES) return undefined;
  const tagAt = encrypted.length - TAG_BYTES;
  const decipher = createDecipheriv('aes-256-gcm', content, nonceOf(chunk, isLast), {
    authTagLength: TAG_BYTES,
  });
  decipher.setAuthTag(encrypted.subarray(tagAt));
  const plain = decipher.update(encrypted.subarray(0, tagAt));
  try {
    decipher.final();
    return plain;
  } catch {
    return undefined;
  }
}

function macOf(header: Buffer, { header: key }: Keys): Buffer {
  return createHmac('sha256', key).update(header.subarray(0, MAC_AT)).digest();
}

function chunkCount(sizeBytes: number): number {
  return Math.max(Math.ceil(sizeBytes / CHUNK_BYTES), 1);
}
