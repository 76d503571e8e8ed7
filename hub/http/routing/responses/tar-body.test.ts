import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { setImmediate as turn } from 'node:timers/promises';
import type { NamedFileRef } from '@workbench-hub/shared/domain/job';
import { beforeEach, expect, it } from 'vitest';
import type { FoundBlob, Hold } from '../../../core/ports/blobs.js';
import { tarBody } from './tar-body.js';

const CONTENT = 'content';
const file = (path: string): NamedFileRef => ({ path, digest: path, sizeBytes: CONTENT.length });

let opened: Readable[];
let failures: unknown[];
let holds: ('BEGUN' | 'RELEASED')[];
beforeEach(() => {
  opened = [];
  failures = [];
  holds = [];
});

const beginHold = (): Hold => {
  holds.push('BEGUN');
  return { add: () => undefined, release: () => void holds.push('RELEASED'), abandon: () => undefined };
};

const blob = (open: () => Readable = () => Readable.from([Buffer.from(CONTENT)])): FoundBlob => ({
  sizeBytes: CONTENT.length,
  isEncrypted: false,
  open: () => {
    const stream = open();
    opened.push(stream);
    return stream;
  },
});

function bodyOf(paths: readonly string[], find: () => Promise<FoundBlob>): ReadableStream<Uint8Array> {
  const archived = { files: paths.map(file), folder: 'task', modifiedAtMs: 0, beginHold, find };
  return tarBody(archived, (error) => failures.push(error));
}

it('a body that is read to its end has all files, and holds them until then', async () => {
  const bytes = await buffer(bodyOf(['a', 'b'], async () => blob()));
  for (const part of ['task/a', 'task/b', CONTENT]) expect(bytes.includes(part)).toBe(true);
  expect(holds).toEqual(['BEGUN', 'RELEASED']);
  expect(failures).toEqual([]);
});

it('a body that nobody reads holds nothing', async () => {
  await bodyOf(['a'], async () => blob()).cancel();
  expect(holds).toEqual([]);
});

it('a file that is found when the reader has left is not opened, and is no failure', async () => {
  let give: (found: FoundBlob) => void = () => undefined;
  let finds = 0;
  const found = new Promise<FoundBlob>((resolve) => {
    give = resolve;
  });
  const body = bodyOf(['a', 'b'], () => {
    finds++;
    return found;
  });
  const reader = body.getReader();
  const chunk = reader.read();
  await turn();
  await reader.cancel();
  give(blob());
  await turn();
  expect(await chunk).toMatchObject({ done: true });
  expect({ opened, failures, finds }).toEqual({ opened: [], failures: [], finds: 1 });
  expect(holds).toEqual(['BEGUN', 'RELEASED']);
});

it('a file that is being read when the reader leaves is closed', async () => {
  const reader = bodyOf(['a', 'b'], async () =>
    blob(() => new Readable({ read: () => undefined })),
  ).getReader();
  await reader.read();
  const chunk = reader.read();
  await reader.cancel();
  await turn();
  expect(await chunk).toMatchObject({ done: true });
  expect(opened.map(({ destroyed }) => destroyed)).toEqual([true]);
  expect({ failures, holds }).toEqual({ failures: [], holds: ['BEGUN', 'RELEASED'] });
});

it.each([
  ['cannot be found', () => Promise.reject(new Error('gone'))],
  [
    'cannot be opened',
    async () => blob(() => new Readable({ read: () => undefined }).destroy(new Error('gone'))),
  ],
])('a file that %s fails the body and ends the hold', async (_, find) => {
  await expect(buffer(bodyOf(['a', 'b'], find))).rejects.toThrow('gone');
  expect(failures).toEqual([expect.objectContaining({ message: 'gone' })]);
  expect(holds).toEqual(['BEGUN', 'RELEASED']);
});
