/** Encrypted blobs: a read returns what was written, or fails. */
import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  BlobCipher,
  CHUNK_BYTES,
  EncryptedFileUnreadable,
  findEncrypted,
  HEADER_BYTES,
} from './encrypted.js';

const KEY = Buffer.alloc(32, 'a key');
const SEALED_CHUNK = CHUNK_BYTES + 16;
const SIZES = [0, 1, CHUNK_BYTES - 1, CHUNK_BYTES, CHUNK_BYTES + 1, 3 * CHUNK_BYTES, 40 * CHUNK_BYTES + 7];

let folder: string;
let path: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'encrypted-'));
  path = join(folder, 'content.enc');
});
afterEach(() => rm(folder, { recursive: true }));

const digestOf = (content: Buffer) => createHash('sha256').update(content).digest('hex');
const contentOf = (bytes: number) => Buffer.from(Array.from({ length: bytes }, (_, at) => (at * 31) % 251));

function sealed(content: Buffer, pieceBytes = 10_000): Buffer {
  const sealing = new BlobCipher(KEY);
  const pieces: Buffer[] = [];
  for (let at = 0; at < content.length; at += pieceBytes) {
    pieces.push(...sealing.add(content.subarray(at, at + pieceBytes)));
  }
  pieces.push(...sealing.end());
  return Buffer.concat([sealing.header(digestOf(content), content.length), ...pieces]);
}

async function opened(content: Buffer, range?: { start: number; end: number }, key = KEY): Promise<Buffer> {
  const found = await findEncrypted(path, digestOf(content), key);
  if (!found) throw new Error('there is no file');
  expect(found.sizeBytes).toBe(content.length);
  return Buffer.concat(await found.open(range).toArray());
}

describe('a blob', () => {
  test.each(SIZES)(
    'of %d bytes is read back unchanged, and no plain byte of it is on the disk',
    async (bytes) => {
      const content = contentOf(bytes);
      for (const pieceBytes of [10_000, CHUNK_BYTES, 1_000_000]) {
        const file = sealed(content, pieceBytes);
        await writeFile(path, file);
        expect((await opened(content)).equals(content)).toBe(true);
        if (bytes > 16) expect(file.includes(content.subarray(0, 16))).toBe(false);
      }
    },
  );

  test.each(SIZES.slice(1))('of %d bytes can be read in part', async (bytes) => {
    const content = contentOf(bytes);
    await writeFile(path, sealed(content));
    const edges = [0, 1, CHUNK_BYTES - 1, CHUNK_BYTES, CHUNK_BYTES + 1, 20 * CHUNK_BYTES, bytes - 1, bytes];
    for (const start of edges.filter((edge) => edge >= 0 && edge <= bytes)) {
      for (const end of edges.filter((edge) => edge >= start && edge <= bytes)) {
        const part = await opened(content, { start, end });
        expect(part.equals(content.subarray(start, end)), `${start} to ${end}`).toBe(true);
      }
    }
  });

  test('is encrypted differently each time', () => {
    const content = contentOf(1000);
    expect(sealed(content).subarray(HEADER_BYTES).equals(sealed(content).subarray(HEADER_BYTES))).toBe(false);
  });

  test('that does not exist is not found', async () => {
    expect(await findEncrypted(path, digestOf(contentOf(1)), KEY)).toBeUndefined();
  });
});

describe('a file is refused', () => {
  const content = contentOf(5 * CHUNK_BYTES + 100);
  const another = contentOf(5 * CHUNK_BYTES + 101).subarray(1);
  const chunk = (file: Buffer, at: number) =>
    file.subarray(HEADER_BYTES + at * SEALED_CHUNK, HEADER_BYTES + (at + 1) * SEALED_CHUNK);
  const header = (file: Buffer) => file.subarray(0, HEADER_BYTES);
  const flipped = (file: Buffer, at: number) => {
    const copy = Buffer.from(file);
    copy[at] = (copy[at] as number) ^ 1;
    return copy;
  };

  test.each<[string, (file: Buffer) => Buffer]>([
    ['is empty', () => Buffer.alloc(0)],
    ['is only a header', header],
    ['is not an encrypted file', () => Buffer.alloc(10_000, 'text')],
    ['lacks its last byte', (file) => file.subarray(0, -1)],
    ['lacks its last chunk', (file) => file.subarray(0, HEADER_BYTES + 5 * SEALED_CHUNK)],
    ['was lengthened by a byte', (file) => Buffer.concat([file, Buffer.alloc(1)])],
    ['was lengthened by a chunk', (file) => Buffer.concat([file, chunk(file, 1)])],
    [
      'has two chunks in another order',
      (file) => {
        const chunks = [0, 2, 1, 3, 4, 5].map((at) => chunk(file, at));
        return Buffer.concat([header(file), ...chunks]);
      },
    ],
    [
      'has a chunk twice',
      (file) => Buffer.concat([header(file), ...[0, 1, 1, 3, 4, 5].map((at) => chunk(file, at))]),
    ],
    [
      'has a chunk of another file',
      (file) => {
        const other = sealed(another);
        return Buffer.concat([
          header(file),
          chunk(other, 0),
          ...[1, 2, 3, 4, 5].map((at) => chunk(file, at)),
        ]);
      },
    ],
    [
      'has the header of another one',
      (file) => Buffer.concat([header(sealed(content)), file.subarray(HEADER_BYTES)]),
    ],
    ['is another one, whole', () => sealed(another)],
  ])('that %s', async (_, damaged) => {
    await writeFile(path, damaged(sealed(content)));
    await expect(opened(content)).rejects.toThrow(EncryptedFileUnreadable);
    await expect(opened(content)).rejects.toThrow(path);
  });

  test('whichever byte of it was changed', async () => {
    const file = sealed(content);
    const inHeader = Array.from({ length: HEADER_BYTES }, (_, at) => at);
    const beyond = [
      0,
      1,
      CHUNK_BYTES,
      SEALED_CHUNK - 1,
      SEALED_CHUNK,
      5 * SEALED_CHUNK,
      5 * SEALED_CHUNK + 115,
    ];
    for (const at of [...inHeader, ...beyond.map((offset) => HEADER_BYTES + offset)]) {
      await writeFile(path, flipped(file, at));
      await expect(opened(content), `byte ${at}`).rejects.toThrow(EncryptedFileUnreadable);
    }
  });

  test('when it was encrypted with another key, which the error says', async () => {
    await writeFile(path, sealed(content));
    await expect(opened(content, undefined, Buffer.alloc(32, 'another key'))).rejects.toThrow(
      `${path} was encrypted with another key than storage.encryptionKey (or storage-key), or is damaged`,
    );
  });

  test('only where it is damaged: a damaged chunk yields nothing, and the rest can be read', async () => {
    await writeFile(path, flipped(sealed(content), HEADER_BYTES + 3 * SEALED_CHUNK + 5));
    const before = await opened(content, { start: 0, end: 3 * CHUNK_BYTES });
    expect(before.equals(content.subarray(0, 3 * CHUNK_BYTES))).toBe(true);
    const last = { start: 4 * CHUNK_BYTES, end: content.length };
    expect((await opened(content, last)).equals(content.subarray(last.start))).toBe(true);
    await expect(opened(content, { start: 3 * CHUNK_BYTES, end: 3 * CHUNK_BYTES + 1 })).rejects.toThrow(
      `${path} is damaged in chunk 3`,
    );
  });

  test('when it was replaced after it was found, not while it is read', async () => {
    await writeFile(path, sealed(content));
    const found = await findEncrypted(path, digestOf(content), KEY);
    await writeFile(path, sealed(another));
    await expect(found?.open().toArray()).rejects.toThrow(EncryptedFileUnreadable);
    expect((await readFile(path)).length).toBeGreaterThan(0);
  });
});
