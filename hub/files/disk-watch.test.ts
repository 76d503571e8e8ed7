import { manualRuntime } from '@workbench-hub/shared/runtime/manual-runtime';
import { expect, it } from 'vitest';
import type { diskSpace } from './disk-space.js';
import { DiskWatch } from './disk-watch.js';

const SPACE = { totalBytes: 1000, freeBytes: 250, exists: true };
const NONE = { totalBytes: 0, freeBytes: 0, exists: false };

/** A watch with a disk of its own, and the messages that it logged. */
function watched(read?: typeof diskSpace, path = '/disk') {
  const runtime = manualRuntime();
  const logged: string[] = [];
  const note = (_: unknown, message: string) => void logged.push(message);
  const log = { info: note, error: note } as never;
  const watch = new DiskWatch({ path, timers: runtime.timers, log, ...(read && { read }) });
  return { watch, runtime, logged };
}

it('shows no space of a disk that cannot be read, and logs each change once', async () => {
  let fault: Error | null = null;
  const { watch, logged } = watched(async () => {
    if (fault) throw fault;
    return SPACE;
  });
  expect(await watch.space()).toEqual(SPACE);
  for (const code of ['EIO', 'EACCES', 'ESTALE']) {
    fault = Object.assign(new Error(code), { code });
    expect(await watch.space()).toEqual(NONE);
  }
  fault = null;
  for (let at = 0; at < 2; at++) expect(await watch.space()).toEqual(SPACE);
  expect(logged).toEqual(['the disk cannot be read: its health is DOWN', 'the disk can be read again']);
});

it('shows no space of a path below a file', async () => {
  const { watch } = watched(undefined, `${process.execPath}/below`);
  expect(await watch.space()).toEqual(NONE);
});

it('does not wait for a disk that hangs, and asks it once only', async () => {
  const asked: ((space: typeof SPACE) => void)[] = [];
  const { watch, runtime, logged } = watched(() => new Promise((resolve) => asked.push(resolve)));
  for (let at = 0; at < 3; at++) {
    const space = watch.space();
    await runtime.advance(2000);
    expect(await space).toEqual(NONE);
  }
  expect(asked.length).toBe(1);
  const space = watch.space();
  asked[0]?.(SPACE);
  expect(await space).toEqual(SPACE);
  expect(logged).toEqual(['the disk cannot be read: its health is DOWN', 'the disk can be read again']);
});
