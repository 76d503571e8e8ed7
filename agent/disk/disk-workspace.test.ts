import { execFile } from 'node:child_process';
import {
  appendFile,
  chmod,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  unlink,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { FileNotReadable, type WorkingDirectory, type Workspace } from '../core/ports/workspace.js';
import { DiskCache } from './disk-cache.js';
import { openSpool } from './disk-spool.js';
import { openWorkspace } from './disk-workspace.js';

const REF = { taskId: '019c0000-0000-7000-8000-000000000001', attempt: 1, instanceId: 'sim' };
const NEVER = new AbortController().signal;

let directory: string;
let workspace: Workspace;
let work: WorkingDirectory;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'workspace-test-'));
  const cache = await DiskCache.open(join(directory, 'cache'), 1000, systemRuntime);
  workspace = await openWorkspace(join(directory, 'work'), cache);
  work = await workspace.create(REF);
});

afterEach(() => rm(directory, { recursive: true, force: true }));

const inFiles = (path: string) => join(work.files, path);

async function collect(signal = NEVER) {
  const spool = await openSpool(join(directory, 'spool'), systemRuntime, pino({ level: 'silent' }));
  const folder = await spool.createFolder(REF);
  const collected = await work.collect(folder, signal).finally(() => spool.close());
  const contents: Record<string, string> = {};
  for (const { path, digest } of collected.files) {
    contents[path] = await readFile(join(directory, 'spool', 'files', folder.name, digest), 'utf8');
  }
  return { ...collected, contents };
}

describe('outputs', () => {
  beforeEach(async () => {
    await mkdir(inFiles('in'));
    for (const name of ['same', 'appended', 'touched', 'replaced', 'deleted', 'in/deep']) {
      await writeFile(inFiles(name), 'staged');
    }
    await work.seal();
  });

  test('are the files that are new or changed, however they were changed', async () => {
    await appendFile(inFiles('appended'), '!');
    const { atime, mtime } = await stat(inFiles('touched'));
    await writeFile(inFiles('touched'), 'STAGED');
    await utimes(inFiles('touched'), atime, mtime);
    await writeFile(inFiles('fresh'), 'staged');
    await rename(inFiles('fresh'), inFiles('replaced'));
    await unlink(inFiles('deleted'));
    await mkdir(inFiles('a/b'), { recursive: true });
    await writeFile(inFiles('a/b/new'), '');
    const { contents, leftOut } = await collect();
    expect(contents).toEqual({ 'a/b/new': '', appended: 'staged!', replaced: 'staged', touched: 'STAGED' });
    expect(leftOut).toEqual([]);
  });

  test('are no links, and nothing behind one', async () => {
    await writeFile(join(directory, 'outside'), 'secret');
    await symlink(join(directory, 'outside'), inFiles('link'));
    await symlink(directory, inFiles('folder'));
    await writeFile(inFiles('.workbench-state'), 'x');
    expect((await collect()).files).toEqual([]);
  });

  test('whose names are no text are left out, with the reason', async () => {
    await writeFile(Buffer.concat([Buffer.from(inFiles('bad')), Buffer.from([0xff])]), 'x');
    const { files, leftOut } = await collect();
    expect(files).toEqual([]);
    expect(leftOut).toEqual([{ name: 'bad\ufffd', why: 'its name is not valid UTF-8' }]);
  });

  test('that change while they are read are whole and agree with their digest', async () => {
    const growing = inFiles('growing');
    await writeFile(growing, 'x'.repeat(3_000_000));
    let stop = false;
    const grow = (async () => {
      while (!stop) await appendFile(growing, 'y'.repeat(1000));
    })();
    const { files, contents } = await collect().finally(() => {
      stop = true;
    });
    await grow;
    expect(contents['growing']).toHaveLength(files[0]?.sizeBytes ?? 0);
  });

  test('are not collected further when nobody wants them', async () => {
    await writeFile(inFiles('new'), 'x');
    await expect(collect(AbortSignal.abort(new Error('canceled')))).rejects.toThrow('canceled');
  });
});

describe('a working directory', () => {
  test('is gone when it is discarded, whatever the job did to it', async () => {
    await mkdir(inFiles('locked/in'), { recursive: true });
    await writeFile(inFiles('locked/in/file'), 'x');
    await chmod(inFiles('locked/in'), 0o000);
    await chmod(inFiles('locked'), 0o500);
    await work.discard();
    expect(await readdir(join(directory, 'work'))).toEqual([]);
  });

  test('whose rights a job took away is collected and removed all the same', async () => {
    const closed = fileURLToPath(new URL('fixtures/closed-directory.mjs', import.meta.url));
    // Rights bind everybody but root.
    const user = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : {};
    const { href: adapters } = new URL('../dist/disk/', import.meta.url);
    const { stdout } = await promisify(execFile)(process.execPath, [closed, adapters], {
      ...user,
      cwd: tmpdir(),
    });
    const all = [1, 436, 0]; // result.csv and 0 + 1 + … + 29 others
    expect(JSON.parse(stdout)).toEqual({ collected: [all, all, all, all], left: [] });
  });

  test('is removed at the next start unless it is to be kept', async () => {
    const kept = await workspace.create(REF);
    await kept.keep();
    const cache = await DiskCache.open(join(directory, 'cache'), 1000, systemRuntime);
    await openWorkspace(join(directory, 'work'), cache);
    expect(await readdir(join(directory, 'work'))).toEqual([`${REF.taskId}-1.2`]);
  });

  test('takes a copy of a file of the host', async () => {
    const source = join(directory, 'model');
    await writeFile(source, 'model', { mode: 0o400 });
    const placed = await work.placeLocalFile('model', source);
    await appendFile(placed, '!');
    expect(await readFile(source, 'utf8')).toBe('model');
    expect(await readFile(inFiles('model'), 'utf8')).toBe('model!');
  });
});

describe('a file of the host', () => {
  test('is resolved through links', async () => {
    await writeFile(join(directory, 'real'), 'x');
    await symlink('real', join(directory, 'link'));
    expect(await workspace.resolve(join(directory, 'link'))).toBe(
      await workspace.resolve(join(directory, 'real')),
    );
    expect(await workspace.resolveFolders([directory, join(directory, 'missing')])).toHaveLength(1);
  });

  test('must be there and be a file', async () => {
    await expect(workspace.resolve(join(directory, 'missing'))).rejects.toThrow('there is no such file');
    await expect(workspace.resolve(directory)).rejects.toThrow(FileNotReadable);
  });
});
