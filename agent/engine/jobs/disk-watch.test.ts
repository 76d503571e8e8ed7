import { type ManualRuntime, manualRuntime } from '@workbench-hub/shared/runtime/manual-runtime';
import { pino } from 'pino';
import { beforeEach, describe, expect, test } from 'vitest';
import { DiskWatch } from './disk-watch.js';

const SIZE_BYTES = 8 * 1024 ** 2;
const FULL = '0 bytes of 8 MiB were free for jobs';

let runtime: ManualRuntime;
let freeBytes: number;
let looks: number;
let fault: Error | undefined;
let disks: DiskWatch;

beforeEach(() => {
  runtime = manualRuntime();
  freeBytes = SIZE_BYTES;
  looks = 0;
  fault = undefined;
  const freeSpace = async () => {
    looks++;
    if (fault) throw fault;
    return [{ use: 'jobs', freeBytes, sizeBytes: SIZE_BYTES, freeFiles: null }];
  };
  disks = new DiskWatch({ workspace: { freeSpace }, runtime, log: pino({ level: 'silent' }) });
});

describe('a watch of the disks', () => {
  test('sees one that is full when it is asked', async () => {
    const watch = disks.begin();
    expect(await watch.seen()).toBeUndefined();
    freeBytes = 0;
    expect(await watch.seen()).toBe(FULL);
  });

  test('has seen one that was full for a while, and one that began later has not', async () => {
    const watch = disks.begin();
    freeBytes = 0;
    await runtime.advance(1000);
    freeBytes = SIZE_BYTES;
    const later = disks.begin();
    expect(await later.seen()).toBeUndefined();
    expect(await watch.seen()).toBe(FULL);
  });

  test('looks as often for many jobs as for one, and not when none runs', async () => {
    const watches = [disks.begin(), disks.begin()];
    await runtime.advance(10_000);
    expect(looks).toBe(10);
    for (const watch of watches) watch.stop();
    await runtime.advance(10_000);
    expect(looks).toBe(10);
    expect(runtime.pendingTimers).toBe(0);
  });

  test('sees nothing on a disk that cannot be asked', async () => {
    fault = new Error('EIO');
    expect(await disks.begin().seen()).toBeUndefined();
  });
});
