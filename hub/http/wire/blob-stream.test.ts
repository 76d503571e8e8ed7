import { expect, it } from 'vitest';
import type { FoundBlob } from '../../core/ports/blobs.js';
import { blobStream } from './blob-stream.js';

it.each([
  ['ends', () => Promise.resolve({ done: true, value: undefined })],
  ['fails', () => Promise.reject(new Error('closed'))],
])('a file that %s when the reader of its stream has left is no failure', async (_, afterwards) => {
  let goOn: (result: ReturnType<typeof afterwards>) => void = () => undefined;
  const chunks = {
    next: () => new Promise((resolve) => (goOn = resolve)),
    return: async () => ({ done: true, value: undefined }),
  };
  const file = { open: () => ({ [Symbol.asyncIterator]: () => chunks }) } as unknown as FoundBlob;
  const failures: unknown[] = [];
  const reader = blobStream(file, (error) => failures.push(error)).getReader();
  const read = reader.read();
  // The stream asks for a chunk once it has started.
  await new Promise(setImmediate);
  await reader.cancel();
  goOn(afterwards());
  await read;
  await new Promise(setImmediate);
  expect(failures).toEqual([]);
});
