/** The working directory of a job on a disk that is really full. */
import { appendFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { DiskCache } from '@workbench-hub/agent/disk/disk-cache';
import { openWorkspace } from '@workbench-hub/agent/disk/disk-workspace';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import { expect, it, onTestFinished } from 'vitest';
import { hasSmallDisks, mountSmallDisk } from '../support/stores/small-disk.js';
import { temporaryFolder } from '../support/temporary-folder.js';

const DISK_MIB = 8;
const REF = { taskId: '019c0000-0000-7000-8000-000000000001', attempt: 1, instanceId: 'sim' };

it.skipIf(!hasSmallDisks())(
  'a working directory tells whether its disk takes more, and keeps nothing of the try',
  async () => {
    const folder = await temporaryFolder();
    onTestFinished(folder.remove);
    const disk = join(folder.path, 'disk');
    onTestFinished(mountSmallDisk(disk, DISK_MIB));
    const cache = await DiskCache.open(join(folder.path, 'cache'), 1000, systemRuntime);
    const work = await (await openWorkspace(join(disk, 'work'), cache)).create(REF);
    expect(await work.takesMore()).toBe(true);
    const filler = join(disk, 'filler');
    await expect(appendFile(filler, Buffer.alloc(2 * DISK_MIB * 1024 ** 2))).rejects.toThrow('ENOSPC');
    expect(await work.takesMore()).toBe(false);
    await rm(filler);
    expect(await work.takesMore()).toBe(true);
    await work.discard();
  },
);
