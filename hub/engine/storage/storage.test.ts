import { manualRuntime } from '@workbench-hub/shared/runtime/manual-runtime';
import { expect, it } from 'vitest';
import type { NamedObject } from '../../core/ports/named-objects.js';
import { Storage, type StorageOptions } from './storage.js';

const objectOf = (digest: string): NamedObject => ({
  area: 'INPUT',
  name: 'mesh',
  owner: null,
  storedAtMs: 1,
  expiresAtMs: 9,
  digest,
  sizeBytes: 3,
});

/** A storage whose name stands for these blobs, one look after the other; of them, one is there. */
function storageOf(digests: readonly string[], there: string): Storage {
  const left = [...digests];
  return new Storage({
    names: { find: async () => objectOf(left.shift() ?? '') },
    files: {
      find: async ({ digest }: { readonly digest: string }) => (digest === there ? { digest } : undefined),
    },
    clock: manualRuntime().clock,
    settings: { input: { enabled: true }, output: { enabled: false } },
    mayExpire: () => true,
  } as unknown as StorageOptions);
}

it('a name that gets another blob between the looks for name and blob stands for the new one', async () => {
  const storage = storageOf(['old', 'new'], 'new');
  expect(await storage.inputContent('mesh')).toMatchObject({ digest: 'new', file: { digest: 'new' } });
});

it('a name whose blob is missing each time is a defect of the storage', async () => {
  const storage = storageOf(['gone', 'gone'], 'new');
  await expect(storage.inputContent('mesh')).rejects.toThrow(
    'blob gone of "mesh" in the INPUT storage is missing',
  );
});
