import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ManualRuntime, manualRuntime } from '@workbench-hub/shared/runtime/manual-runtime';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { systemError } from './directory.js';
import { DiskCache } from './disk-cache.js';
import { openWorkspace } from './disk-workspace.js';
import { hooked } from './fixtures/hooked-directory.js';
import { Leftovers } from './leftovers.js';
import { openDirectory } from './open-directory.js';

const REF = { taskId: '019c0000-0000-7000-8000-000000000001', attempt: 1, instanceId: 'sim' };
const STUCK = `${REF.taskId}-${REF.attempt}`;
const RETRY_MS = 10 * 60_000;

let root: string;
let lines: string[];
let runtime: ManualRuntime;
let leftovers: Leftovers;
let isStuck: boolean;

/** Directories with a file that cannot be removed while it is stuck, such as an immutable file or one of another user. */
const open = hooked(openDirectory, (step, name) => {
  if (isStuck && step === 'unlink' && name === 'stuck') throw systemError('EPERM', 'operation not permitted');
});

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'leftovers-test-'));
  lines = [];
  runtime = manualRuntime();
  const log = pino({ level: 'debug' }, { write: (line) => void lines.push(line) });
  leftovers = new Leftovers(runtime, log);
  isStuck = true;
  for (const name of [STUCK, 'other']) {
    await mkdir(join(root, 'work', name, 'files'), { recursive: true });
    await writeFile(join(root, 'work', name, 'files', name === STUCK ? 'stuck' : 'file'), 'x');
  }
});

afterEach(async () => {
  leftovers.close();
  await rm(root, { recursive: true, force: true });
});

async function openAgain() {
  const cache = await DiskCache.open(join(root, 'cache'), 1000, systemRuntime);
  return openWorkspace(join(root, 'work'), cache, { open, removeLeftover: leftovers.remove });
}

test('a directory that cannot be removed is logged with the remedy, and the start continues', async () => {
  await openAgain();
  expect(await readdir(join(root, 'work'))).toEqual([STUCK]);
  expect(lines.join('')).toContain(`${join(root, 'work', STUCK)} of an earlier run could not be removed`);
  expect(lines.join('')).toContain('remove it as its owner or as root');
});

test('a directory that cannot be removed is not used', async () => {
  const workspace = await openAgain();
  const directory = await workspace.create(REF);
  expect(directory.files).toBe(join(root, 'work', `${STUCK}.2`, 'files'));
  await directory.discard();
});

test('a directory that cannot be removed is removed later, as soon as that is possible', async () => {
  await openAgain();
  await runtime.advance(RETRY_MS);
  await expect.poll(() => lines.join('')).toContain('still cannot be removed');
  expect(await readdir(join(root, 'work'))).toEqual([STUCK]);
  await expect.poll(() => runtime.pendingTimers).toBe(1);
  isStuck = false;
  await runtime.advance(RETRY_MS);
  await expect.poll(() => readdir(join(root, 'work'))).toEqual([]);
  await expect.poll(() => lines.join('')).toContain('removed a leftover of an earlier run');
  expect(runtime.pendingTimers).toBe(0);
});

test('after the close no removal is retried', async () => {
  await openAgain();
  leftovers.close();
  expect(runtime.pendingTimers).toBe(0);
});
