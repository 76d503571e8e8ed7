import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import {
  appendFile,
  chmod,
  link,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  truncate,
  unlink,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { FileNotReadable, type WorkingDirectory, type Workspace } from '../core/ports/workspace.js';
import { DiskCache } from './disk-cache.js';
import { openSpool } from './disk-spool.js';
import { openWorkspace } from './disk-workspace.js';
import { hooked } from './fixtures/hooked-directory.js';
import { openDirectory } from './open-directory.js';

const REF = { taskId: '019c0000-0000-7000-8000-000000000001', attempt: 1, instanceId: 'sim' };

const TEXT = '#!/bin/sh\necho hello\n';
const SCRIPT = { digest: createHash('sha256').update(TEXT).digest('hex'), sizeBytes: TEXT.length };

let directory: string;
let cache: DiskCache;
let workspace: Workspace;
let work: WorkingDirectory;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'workspace-test-'));
  cache = await DiskCache.open(join(directory, 'cache'), 1000, systemRuntime);
  workspace = await openWorkspace(join(directory, 'work'), cache);
  work = await workspace.create(REF);
});

afterEach(() => rm(directory, { recursive: true, force: true }));

const inFiles = (path: string) => join(work.files, path);

const LIMITS = { totalBytes: 1e9, fileBytes: 1e8, files: 1000 };

async function collect({ stay = false, limits = LIMITS, isStored = true, isPartial = false } = {}) {
  const spool = await openSpool(join(directory, 'spool'), systemRuntime, pino({ level: 'silent' }));
  const folder = await spool.createFolder(REF);
  const collected = await work
    .collect(async () => folder, { limits, stay, isStored, isPartial })
    .finally(() => spool.close());
  const contents: Record<string, string> = {};
  const taken = [...collected.files, ...collected.storedFiles];
  for (const { path, digest } of taken) {
    contents[path] = await readFile(join(directory, 'spool', 'files', folder.name, digest), 'utf8');
  }
  const spooled = await readdir(join(directory, 'spool', 'files', folder.name));
  // Nothing else is left there.
  expect(spooled.sort()).toEqual([...new Set(taken.map(({ digest }) => digest))].sort());
  const { skipped, notStored } = collected;
  return {
    ...collected,
    ...{ skipped: skipped.named, notStored: notStored.named },
    ...{ othersSkipped: skipped.others, othersNotStored: notStored.others },
    contents,
  };
}

describe('outputs', () => {
  beforeEach(async () => {
    const source = join(directory, 'source');
    await writeFile(source, 'staged');
    for (const name of ['same', 'appended', 'touched', 'replaced', 'deleted', 'in/deep']) {
      await work.placeLocalFile(name, source, directory);
    }
    await work.seal();
  });

  test('are the new or changed files, however they were changed', async () => {
    await appendFile(inFiles('appended'), '!');
    const { atime, mtime } = await stat(inFiles('touched'));
    await writeFile(inFiles('touched'), 'STAGED');
    await utimes(inFiles('touched'), atime, mtime);
    await writeFile(inFiles('fresh'), 'staged');
    await rename(inFiles('fresh'), inFiles('replaced'));
    await unlink(inFiles('deleted'));
    await mkdir(inFiles('a/b'), { recursive: true });
    await writeFile(inFiles('a/b/new'), '');
    const { contents, skipped } = await collect();
    expect(contents).toEqual({ 'a/b/new': '', appended: 'staged!', replaced: 'staged', touched: 'STAGED' });
    expect(skipped).toEqual([]);
  });

  test('are recognized by their time, also when they change within one tick of the clock', async () => {
    const { mtimeMs } = await stat(inFiles('same'));
    const { mtimeMs: nowMs } = await stat(inFiles('.'));
    expect(nowMs - mtimeMs).toBeGreaterThan(1000);
  });

  test('are never links, nor behind one', async () => {
    await writeFile(join(directory, 'outside'), 'secret');
    await symlink(join(directory, 'outside'), inFiles('link'));
    await symlink(directory, inFiles('folder'));
    await writeFile(inFiles('.workbench-state'), 'x');
    expect((await collect()).files).toEqual([]);
  });

  test('with names that are not UTF-8 are left out, with the reason', async () => {
    await writeFile(Buffer.concat([Buffer.from(inFiles('bad')), Buffer.from([0xff])]), 'x');
    const { files, skipped } = await collect();
    expect(files).toEqual([]);
    expect(skipped).toEqual([{ name: 'bad\ufffd', why: 'its name is not valid UTF-8' }]);
  });

  test('that change while they are read are whole and match their digest', async () => {
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

  test('are moved when the directory is discarded, and copied otherwise', async () => {
    await writeFile(inFiles('new'), 'x'.repeat(2_500_000));
    const { ino } = await stat(inFiles('new'));
    expect((await collect({ stay: true })).contents).toEqual({ new: 'x'.repeat(2_500_000) });
    expect((await stat(inFiles('new'))).ino).toBe(ino);
    expect((await collect()).contents).toEqual({ new: 'x'.repeat(2_500_000) });
    await expect(stat(inFiles('new'))).rejects.toThrow('ENOENT');
  });

  test('with a second name are copied, since a process may continue to write them', async () => {
    await writeFile(join(directory, 'elsewhere'), 'before');
    await link(join(directory, 'elsewhere'), inFiles('linked'));
    const { contents, files } = await collect();
    expect(contents).toEqual({ linked: 'before' });
    await writeFile(join(directory, 'elsewhere'), 'after!');
    const folders = await readdir(join(directory, 'spool', 'files'));
    const kept = join(directory, 'spool', 'files', folders[0] ?? '', files[0]?.digest ?? '');
    expect(await readFile(kept, 'utf8')).toBe('before');
  });

  test('are never pipes, sockets or devices, which block nothing', async () => {
    await promisify(execFile)('mkfifo', [inFiles('pipe')]);
    const server = createServer().listen(inFiles('socket'));
    await once(server, 'listening');
    if (process.getuid?.() === 0) await promisify(execFile)('mknod', [inFiles('device'), 'c', '1', '5']);
    await writeFile(inFiles('new'), 'x');
    expect((await collect()).contents).toEqual({ new: 'x' });
    server.close();
    await once(server, 'close');
  });

  test('beyond the limits are refused before they are read, and none is kept', async () => {
    await writeFile(inFiles('small'), 'x');
    await truncate(inFiles('small'), 10);
    await writeFile(inFiles('sparse'), '');
    await truncate(inFiles('sparse'), 100 * 1024 ** 3);
    await expect(collect()).rejects.toThrow(
      'the job left the output file "sparse" of 100 GiB, and this agent takes at most 95.37 MiB (100000000 bytes) in one file (setting "limits.outputFile")',
    );
    const [folder] = await readdir(join(directory, 'spool', 'files'));
    expect(await readdir(join(directory, 'spool', 'files', folder ?? ''))).toEqual([]);
    expect(await readFile(inFiles('small'))).toHaveLength(10);
  });

  test('are searched for up to their limit, and the names of others are kept up to one', async () => {
    for (let at = 0; at < 1010; at++) await writeFile(inFiles(`\\${at}`), '');
    for (let at = 0; at < 12; at++) await writeFile(inFiles(`${at}`), '');
    const { files, skipped, othersSkipped } = await collect();
    expect([files.length, skipped.length, othersSkipped]).toEqual([12, 1000, 10]);
  });

  test('of which there are too many are not counted further', async () => {
    for (const name of ['a', 'b', 'c', 'd']) await writeFile(inFiles(name), '');
    await writeFile(join(work.outputStorage, 'e'), '');
    await expect(collect({ limits: { ...LIMITS, files: 1 } })).rejects.toThrow(
      'the job left more than 1 output files, and this agent takes no more of a task (setting "limits.outputFiles")',
    );
  });

  test('of a job that was ended early are kept within the limits', async () => {
    const sizes = { a: 400, b: 2000, c: 500, d: 200, e: 100, f: 0, g: 0 };
    for (const [name, size] of Object.entries(sizes)) await writeFile(inFiles(name), 'x'.repeat(size));
    await writeFile(join(work.outputStorage, 'h'), '');
    const limits = { totalBytes: 1000, fileBytes: 1500, files: 4 };
    const { files, skipped, storedFiles, notStored } = await collect({ isPartial: true, limits });
    const taken = files.map(({ path }) => path);
    expect(taken).toHaveLength(4);
    expect(taken).not.toContain('b');
    expect(files.reduce((total, { sizeBytes }) => total + sizeBytes, 0)).toBeLessThanOrEqual(1000);
    expect(skipped.find(({ name }) => name === 'b')?.why).toBe(
      'larger than 1.46 KiB (1500 bytes) (setting "limits.outputFile")',
    );
    expect([...taken, ...skipped.map(({ name }) => name)].sort()).toEqual(Object.keys(sizes));
    expect(storedFiles).toEqual([]);
    expect(notStored).toEqual([{ name: 'h', why: 'beyond 4 files (setting "limits.outputFiles")' }]);
  });
});

describe('a file in the folder for the output storage', () => {
  const inStorage = (path: string) => join(work.outputStorage, path);
  beforeEach(() => work.seal());

  test('becomes a stored file, never an output file', async () => {
    await writeFile(inFiles('both'), 'an output');
    await writeFile(inStorage('both'), 'stored');
    await writeFile(inStorage('.workbench-a'), 'a');
    await writeFile(inStorage('größe.csv'), 'stored');
    const { files, storedFiles, skipped, notStored } = await collect();
    expect(files.map(({ path }) => path)).toEqual(['both']);
    expect(storedFiles.map(({ path, sizeBytes }) => [path, sizeBytes])).toEqual([
      ['.workbench-a', 1],
      ['both', 6],
      ['größe.csv', 6],
    ]);
    expect([skipped, notStored]).toEqual([[], []]);
  });

  test('is left out, with the reason, when its name is too long', async () => {
    await mkdir(inStorage('plots'));
    await writeFile(inStorage('plots/a.png'), 'x');
    await writeFile(inStorage('back\\slash'), 'x');
    await writeFile(Buffer.concat([Buffer.from(inStorage('bad')), Buffer.from([0xff])]), 'x');
    await symlink('/etc/passwd', inStorage('link'));
    const { storedFiles, skipped, notStored } = await collect();
    expect([storedFiles, skipped]).toEqual([[], []]);
    expect(Object.fromEntries(notStored.map(({ name, why }) => [name, why]))).toEqual({
      'back\\slash': expect.stringMatching(/^its name must use "\/"/),
      'bad\ufffd': 'its name is not valid UTF-8',
      link: 'it is a link or another special file; only regular files are stored',
      'plots/a.png': 'it lies in a folder; only files at the top of WORKBENCH_OUTPUT_STORAGE are stored',
    });
  });

  test('is left out when the hub accepts none', async () => {
    await writeFile(inStorage('a'), 'x'.repeat(2000));
    const limits = { ...LIMITS, totalBytes: 1000 };
    const { storedFiles, notStored } = await collect({ isStored: false, limits });
    expect(storedFiles).toEqual([]);
    expect(notStored).toEqual([
      {
        name: 'a',
        why: 'the hub has no output storage, or it is switched off ("storage.output.enabled" of the hub)',
      },
    ]);
  });

  test('counts towards the limits of outputs', async () => {
    await writeFile(inFiles('a'), 'x'.repeat(600));
    await writeFile(inStorage('b'), 'x'.repeat(600));
    await expect(collect({ limits: { ...LIMITS, totalBytes: 1000 } })).rejects.toThrow(
      'the job left 2 output files with 1.17 KiB (1200 bytes) in all',
    );
  });

  test('is not found when a job removed the folder or replaced it by a link', async () => {
    await rm(work.outputStorage, { recursive: true });
    expect(await collect()).toMatchObject({ storedFiles: [], notStored: [] });
    await mkdir(join(directory, 'elsewhere'));
    await writeFile(join(directory, 'elsewhere', 'secret'), 'x');
    await symlink(join(directory, 'elsewhere'), work.outputStorage);
    expect(await collect()).toMatchObject({ storedFiles: [], notStored: [] });
    expect(await readdir(join(directory, 'elsewhere'))).toEqual(['secret']);
  });
});

test('the space for working directories and for temporary files is known', async () => {
  const spaces = await workspace.freeSpace();
  expect(spaces.map(({ use }) => use)).toEqual(['working directories', 'temporary files']);
  for (const { freeBytes, sizeBytes } of spaces) expect(sizeBytes).toBeGreaterThanOrEqual(freeBytes);
});

describe('a working directory', () => {
  test('is removed when it is discarded, whatever the job did to it', async () => {
    await mkdir(inFiles('locked/in'), { recursive: true });
    await writeFile(inFiles('locked/in/file'), 'x');
    await chmod(inFiles('locked/in'), 0o000);
    await chmod(inFiles('locked'), 0o500);
    await work.discard();
    expect(await readdir(join(directory, 'work'))).toEqual([]);
  });

  test('is removed when it is discarded, with staged files in folders, and without those that the job removed', async () => {
    await cache.put(SCRIPT, Readable.from([Buffer.from(TEXT)]), 0);
    for (const path of ['model.xml', 'in/a/mesh.obj', 'other']) await work.placeFile(path, SCRIPT.digest);
    expect((await stat(inFiles('other'))).mode & 0o777).toBe(0o644);
    await work.placeScript(0, SCRIPT.digest, '');
    await work.writeVariables({ a: 'b' });
    expect(await readFile(work.variables, 'utf8')).toBe('{"a":"b"}');
    await rm(inFiles('model.xml'));
    await work.discard();
    expect(await readdir(join(directory, 'work'))).toEqual([]);
    work = await workspace.create(REF);
    for (const path of ['model.xml', 'other']) await work.placeFile(path, SCRIPT.digest);
    await rm(inFiles('model.xml'));
    await work.discard();
    expect(await readdir(join(directory, 'work'))).toEqual([]);
  });

  test('without permissions is collected and removed nevertheless', async () => {
    const closed = fileURLToPath(new URL('fixtures/closed-directory.mjs', import.meta.url));
    const { href: adapters } = new URL('../dist/disk/', import.meta.url);
    const { stdout } = await promisify(execFile)(process.execPath, [closed, adapters, directory]);
    const all = [1, 436, 0]; // result.csv and 0 + 1 + … + 29 others
    expect(JSON.parse(stdout)).toEqual({ collected: [all, all, all, all], left: [] });
  });

  test('is removed at the next start unless it has to be kept', async () => {
    const kept = await workspace.create(REF);
    await kept.keep();
    const restarted = await DiskCache.open(join(directory, 'cache'), 1000, systemRuntime);
    await openWorkspace(join(directory, 'work'), restarted);
    expect(await readdir(join(directory, 'work'))).toEqual([`${REF.taskId}-1.2`]);
  });

  test.each([
    ['came now', () => cache.put(SCRIPT, Readable.from([Buffer.from(TEXT)]), 0)],
    ['was cached by an earlier version', () => writeFile(cache.pathOf(SCRIPT.digest), TEXT, { mode: 0o600 })],
  ])('has executable scripts from a blob that %s', async (_, come) => {
    await come();
    const restarted = await DiskCache.open(join(directory, 'cache'), 1000, systemRuntime);
    const opened = await openWorkspace(join(directory, 'work'), restarted);
    expect(await restarted.pin(SCRIPT)).toBe(true);
    const script = await (await opened.create(REF)).placeScript(0, SCRIPT.digest, '');
    expect((await promisify(execFile)(script)).stdout).toBe('hello\n');
  });

  test('gets a copy of a file of the host', async () => {
    const source = join(directory, 'model');
    await writeFile(source, 'model', { mode: 0o400 });
    const placed = await work.placeLocalFile('model', source, directory);
    await appendFile(placed, '!');
    expect(await readFile(source, 'utf8')).toBe('model');
    expect(await readFile(inFiles('model'), 'utf8')).toBe('model!');
  });
});

describe('a folder of the outputs that cannot be listed', () => {
  const collectWith = async (code: string) => {
    let isFaulty = false;
    const open = hooked(openDirectory, (step) => {
      if (isFaulty && step === 'list') throw Object.assign(new Error(code), { code });
    });
    work = await (await openWorkspace(join(directory, 'other'), cache, { open })).create(REF);
    await writeFile(inFiles('out.txt'), 'x');
    isFaulty = true;
    return collect();
  };

  test.each(['EIO', 'EMFILE', 'ENOMEM'])(
    'for a fault of the host (%s) fails the collection',
    async (code) => {
      await expect(collectWith(code)).rejects.toMatchObject({ code });
    },
  );

  test.each(['EACCES', 'EPERM'])('for its permissions (%s) is left out', async (code) => {
    await expect(collectWith(code)).resolves.toBeDefined();
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

  test('must exist and be a file', async () => {
    await expect(workspace.resolve(join(directory, 'missing'))).rejects.toThrow('there is no such file');
    await expect(workspace.resolve(directory)).rejects.toThrow(FileNotReadable);
  });
});
