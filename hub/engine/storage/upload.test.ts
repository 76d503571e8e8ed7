import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { Upload, type UploadOptions } from './upload.js';

const USER = { owner: 'eve', changesAll: false };

/** An upload to a store of blobs that removes none before the test says so. */
function uploadBesideRemoval() {
  let remove = (): void => undefined;
  let fail = (): void => undefined;
  const removed = new Promise<void>((resolve, reject) => {
    remove = resolve;
    fail = () => reject(new Error('the hub is being stopped'));
  });
  const upload = new Upload({
    user: USER,
    names: { find: async () => undefined, put: async () => ({ kind: 'NAMED' }) },
    files: {
      hold: () => ({ release: () => undefined, abandon: () => undefined }),
      store: async () => ({ digest: 'd', sizeBytes: 3 }),
      reclaim: () => removed,
    },
    use: {
      release: () => undefined,
      end: () => undefined,
      whileNaming: (step: () => Promise<void>) => step(),
    },
    nowMs: () => 0,
    settings: { maxFileBytes: 10, quotaPerUserBytes: null },
  } as unknown as UploadOptions);
  const take = (overwrite: boolean) =>
    upload.take({ name: 'gear', overwrite, encrypt: false }, Readable.from([Buffer.from('abc')]));
  return { upload, take, remove, fail };
}

describe('an upload, while blobs that others have dropped are removed,', () => {
  it('ends at once when it has a name and could overwrite none', async () => {
    const { upload, take } = uploadBesideRemoval();
    await take(false);
    await upload.name(USER);
    await upload.end();
  });

  it('succeeds also when the removal fails after its end', async () => {
    const { upload, take, fail } = uploadBesideRemoval();
    await take(false);
    await upload.name(USER);
    await upload.end();
    fail();
    // A failure that nobody takes ends the test run.
    await new Promise((resolve) => setImmediate(resolve));
  });

  it.each([
    ['overwrites a file', true],
    ['has no name', false],
  ])('ends after the removal when it %s', async (_, isNamed) => {
    const { upload, take, remove } = uploadBesideRemoval();
    await take(isNamed);
    if (isNamed) await upload.name(USER);
    const order: string[] = [];
    const ended = upload.end().then(() => order.push('ended'));
    await new Promise((resolve) => setImmediate(resolve));
    order.push('removed');
    remove();
    await ended;
    expect(order).toEqual(['removed', 'ended']);
  });
});
