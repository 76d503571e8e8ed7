import { mkdtemp, open, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { writeStream } from './write-stream.js';

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'write-stream-'));
});

afterEach(() => rm(folder, { recursive: true }));

/** Writes the pieces, each when everything before it is on the disk; resolves with its content. */
async function written(pieces: readonly string[]): Promise<string> {
  const path = join(folder, 'file');
  const file = await open(path, 'w');
  let length = 0;
  async function* slowly(): AsyncGenerator<Buffer> {
    for (const piece of pieces) {
      yield Buffer.from(piece);
      length += piece.length;
      while ((await file.stat()).size < length);
      // The writer has to notice it, too.
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
  try {
    await writeStream(file, slowly(), { onChunk: () => undefined, syncEveryBytes: 3 });
  } finally {
    await file.close();
  }
  return readFile(path, 'utf8');
}

describe('a stream', () => {
  test.each([[[]], [['']], [['a', 'bc', 'def']], [['', 'a', '', '', 'bc', '']]])(
    'of %j is written whole',
    async (pieces: string[]) => {
      expect(await written(pieces)).toBe(pieces.join(''));
    },
  );

  test('that breaks is written up to the break', async () => {
    const path = join(folder, 'file');
    const file = await open(path, 'w');
    async function* breaking(): AsyncGenerator<Buffer> {
      yield Buffer.from('abc');
      throw new Error('broken');
    }
    await expect(writeStream(file, breaking(), { onChunk: () => undefined })).rejects.toThrow('broken');
    await file.close();
    expect(await readFile(path, 'utf8')).toBe('abc');
  });
});
