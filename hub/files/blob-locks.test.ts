import { expect, it } from 'vitest';
import { BlobLocks } from './blob-locks.js';

it('two callers that lock some of the same blobs, in different orders, both get them', async () => {
  const locks = new BlobLocks();
  const of = (digest: string) => ({ digest, encrypted: false });
  let release = (): void => undefined;
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  const holder = locks.locked(of('m'), () => held);
  const pass = locks.allLocked([of('a'), of('m'), of('b')], async () => 'pass');
  const sweep = locks.allLocked([of('b'), of('a')], async () => 'sweep');
  release();
  expect(await Promise.all([holder, pass, sweep])).toEqual([undefined, 'pass', 'sweep']);
});
