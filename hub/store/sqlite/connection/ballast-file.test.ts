import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { openBallastFile } from './ballast-file.js';

const MIB = 1024 * 1024;
const log = { debug: () => undefined } as unknown as Logger;

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'reserve-'));
});
afterEach(() => rm(folder, { recursive: true }));

it('a ballast file occupies space, frees it, takes it back, and still has it after a restart', async () => {
  const database = join(folder, 'hub.sqlite');
  const onDisk = async () => {
    const { size, blocks } = await stat(`${database}-reserve`);
    return { size, isReal: blocks * 512 >= size };
  };
  const first = openBallastFile(database, log);
  expect(await onDisk()).toEqual({ size: 8 * MIB, isReal: true });
  first.release();
  first.release();
  expect(await onDisk()).toMatchObject({ size: 0 });
  first.take();
  first.take();
  expect(await onDisk()).toEqual({ size: 8 * MIB, isReal: true });
  first.close();
  const second = openBallastFile(database, log);
  expect(await onDisk()).toMatchObject({ size: 8 * MIB });
  second.close();
});
