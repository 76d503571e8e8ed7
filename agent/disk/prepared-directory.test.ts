import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { DiskCache } from './disk-cache.js';
import { type DiskWorkspace, openWorkspace } from './disk-workspace.js';

const REF = { taskId: '019c0000-0000-7000-8000-000000000001', attempt: 1, instanceId: 'sim' };

let directory: string;
let root: string;
let workspace: DiskWorkspace;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'directory-test-'));
  root = join(directory, 'work');
  const cache = await DiskCache.open(join(directory, 'cache'), 1000, systemRuntime);
  workspace = await openWorkspace(root, cache);
});

afterEach(() => rm(directory, { recursive: true, force: true }));

describe('a prepared directory', () => {
  test('becomes the working directory of one attempt, with all folders that a job may write', async () => {
    const directory = workspace.prepare();
    const work = await workspace.create(REF, directory);
    await work.writeVariables({ a: 'b' });
    expect(dirname(work.files)).toBe(directory.path);
    expect([work.files, work.outputStorage, work.checkpoint, dirname(work.variables)]).toEqual(
      directory.writable,
    );
    const other = await workspace.create({ ...REF, attempt: 2 }, directory);
    expect(dirname(other.files)).toBe(join(dirname(directory.path), `${REF.taskId}-2`));
    await work.discard();
    await other.discard();
    expect(await readdir(root)).toEqual([]);
  });

  test('is removed with its program, unless an attempt uses it', async () => {
    const [taken, free] = [workspace.prepare(), workspace.prepare()];
    const work = await workspace.create(REF, taken);
    await writeFile(join(work.files, 'out'), 'x');
    await Promise.all([taken.abandon(), free.abandon()]);
    expect(await readFile(join(work.files, 'out'), 'utf8')).toBe('x');
    expect(await readdir(root)).toHaveLength(1);
  });

  test('that is missing is no host fault: the attempt gets an ordinary directory', async () => {
    const directory = workspace.prepare();
    await directory.abandon();
    const work = await workspace.create(REF, directory);
    expect(await readdir(root)).toEqual([`${REF.taskId}-1`]);
    await work.discard();
  });

  test('that is kept gets the name of its attempt, and outlasts a restart', async () => {
    const work = await workspace.create(REF, workspace.prepare());
    await writeFile(join(work.files, 'out'), 'x');
    await work.keep();
    workspace.prepare();
    await openWorkspace(root, await DiskCache.open(join(directory, 'cache'), 1000, systemRuntime));
    expect(await readdir(root)).toEqual([`${REF.taskId}-1`]);
    expect(await readFile(join(root, `${REF.taskId}-1`, 'files', 'out'), 'utf8')).toBe('x');
  });

  test('is created even if the folder of working directories was removed', async () => {
    await rm(root, { recursive: true });
    expect(dirname(workspace.prepare().path)).toContain('work');
    expect(await readdir(root)).toHaveLength(1);
  });
});
