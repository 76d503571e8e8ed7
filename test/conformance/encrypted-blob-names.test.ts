/** File names of encrypted blobs, now and before names were keyed. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { beforeEach, describe, expect, it } from 'vitest';
import {
  blobStoreForEachTest,
  files,
  HOUR_MS,
  nameBlob,
  onDisk,
  read,
  refOf,
  reopen,
  root,
  runtime,
} from './blob-store-for-each-test.js';

blobStoreForEachTest();

describe('the file name of an encrypted blob', () => {
  const blob = Buffer.from('a content of before names were keyed');
  const ref = { ...refOf(blob), encrypted: true } as const;
  const FORMER =
    'V0JIRU5DAAFc7lPw12svhtYWZQcmFO/ScJmnhGgiHKC/NNrruxjvzGktav9pFCUzyUvKu9/TtXPhnWTYqPX09T5NIlD7JeVUAAAAAAAAACQqbwuRHTY3' +
    'CVfQswGSM68OgEPfNXuDlL2wFkom+7KXhAfp1iasN7q9KQdYGrc+HVOJFL+MceUSo9i634yQX3T2gAGZYXE1jgTJgzWVbEirO4Hy2xM=';
  const formerName = () => join(ref.digest.slice(0, 2), `${ref.digest}.enc`);
  beforeEach(async () => {
    await mkdir(join(root(), ref.digest.slice(0, 2)), { recursive: true });
    await writeFile(join(root(), formerName()), Buffer.from(FORMER, 'base64'));
  });

  it('is changed at the next start if it reveals the digest, and the blob can be read as before', async () => {
    await reopen({ key: 'a key' });
    const [only = '', ...others] = await onDisk();
    expect([only, others]).toEqual([expect.stringMatching(/^(..).\1.{62}\.sealed$/), []]);
    expect(only).not.toContain(ref.digest);
    expect((await read(ref))?.equals(blob)).toBe(true);
  });

  it('stays when the key is another one, and the error names the file', async () => {
    await reopen({ key: 'another key' });
    expect(await onDisk()).toEqual([formerName()]);
    await expect(files.find(ref)).rejects.toThrow(
      `${join(root(), formerName())} was encrypted with another key than storage.encryptionKey`,
    );
  });

  it('depends on the key: with another key the blob is not found, the error says why, and no sweep removes it', async () => {
    await reopen({ key: 'a key' });
    const [path = ''] = await onDisk();
    await reopen({ key: 'another key' });
    await expect(files.find(ref)).rejects.toThrow(`${join(root(), path)} was encrypted with another key`);
    runtime.skip(30 * 24 * HOUR_MS);
    await files.sweep(HOUR_MS);
    expect(await onDisk()).toEqual([path]);
    await reopen({ key: 'a key' });
    expect(await files.find(ref)).toBeDefined();
  });

  it('is enough for a sweep to find blobs without a reference or hold', async () => {
    await writeFile(join(root(), formerName()), '');
    const stored = await files.storeEncrypted(Readable.from([blob]), 1000);
    const named = await files.storeEncrypted(Readable.from(['named']), 1000);
    await nameBlob('a', named);
    const hold = files.hold();
    await files.find(stored, hold);
    runtime.skip(HOUR_MS + 10_000);
    expect(await files.sweep(HOUR_MS)).toBe(0);
    hold.release();
    expect(await files.sweep(HOUR_MS)).toBe(1);
    expect((await onDisk()).filter((name) => name.endsWith('.sealed'))).toHaveLength(1);
    expect(await files.find(named)).toBeDefined();
  });
});
