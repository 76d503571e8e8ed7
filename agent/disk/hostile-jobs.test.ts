/** Processes that replace folders by links while the agent works in a working directory. Files outside are neither read nor
 *  changed nor moved. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import {
  chmod,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { WorkingDirectory, Workspace } from '../core/ports/workspace.js';
import type { OpenDirectory } from './directory.js';
import { DiskCache } from './disk-cache.js';
import { openSpool } from './disk-spool.js';
import { openWorkspace } from './disk-workspace.js';
import { hooked, type OnStep } from './fixtures/hooked-directory.js';
import { LinuxDirectory } from './linux-directory.js';
import { PortableDirectory } from './portable-directory.js';

const REF = { taskId: '019c0000-0000-7000-8000-000000000001', attempt: 1, instanceId: 'sim' };
const LIMITS = { totalBytes: 1e9, fileBytes: 1e8, files: 10_000 };
/** Number of entries with the same names in the folder of the job and outside: each is an opportunity for a swap. */
const ENTRIES = 200;
/** In some of them the folder is missing when it is looked up. */
const ROUNDS = 4;

let directory: string;
let outside: string;
let cache: DiskCache;
let workspace: Workspace;
let work: WorkingDirectory;
let orphans: ChildProcess[];

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'hostile-jobs-'));
  outside = join(directory, 'outside');
  orphans = [];
  cache = await DiskCache.open(join(directory, 'cache'), 1000, systemRuntime);
  await mkdir(outside);
});

afterEach(async () => {
  await endOrphans();
  await rm(directory, { recursive: true, force: true });
});

const inFiles = (path: string) => join(work.files, path);

const nameOf = (index: number) => `entry-${index}`;

async function begin(open: OpenDirectory): Promise<void> {
  workspace = await openWorkspace(join(directory, 'work'), cache, { open });
  work = await workspace.create(REF);
  await mkdir(join(directory, 'work', 'aside'));
}

async function fill(folder: string, content: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (let index = 0; index < ENTRIES; index++) writeFileSync(join(folder, nameOf(index)), content);
}

/** A process in a session of its own and without environment, which the agent cannot find. */
async function leaveStray(folder: string): Promise<void> {
  const program = fileURLToPath(new URL('fixtures/swapping.mjs', import.meta.url));
  const orphan = spawn(process.execPath, [program, folder, outside, join(directory, 'work', 'aside')], {
    detached: true,
    env: {},
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  orphans.push(orphan);
  await once(orphan.stdout as NodeJS.EventEmitter, 'data');
}

async function endOrphans(): Promise<void> {
  for (const orphan of orphans.splice(0)) {
    const ended = once(orphan, 'exit');
    orphan.stdin?.end();
    await ended;
  }
}

/** Contents of the collected files. */
async function collect(whenAsked: () => void = () => undefined): Promise<string[]> {
  const spool = await openSpool(join(directory, 'spool'), systemRuntime, pino({ level: 'silent' }));
  const folder = await spool.createFolder(REF);
  const into = async () => {
    whenAsked();
    return folder;
  };
  const options = { limits: LIMITS, isPartial: false, stay: false, isStored: true };
  const { files, storedFiles } = await work.collect(into, options).finally(() => spool.close());
  const spooled = join(directory, 'spool', 'files', folder.name);
  const taken = [...files, ...storedFiles];
  expect((await readdir(spooled)).sort()).toEqual([...new Set(taken.map(({ digest }) => digest))].sort());
  return Promise.all(taken.map(({ digest }) => readFile(join(spooled, digest), 'utf8')));
}

/** Everything outside is as {@link fill} left it. */
async function expectUntouched(): Promise<void> {
  expect((await readdir(outside)).length).toBe(ENTRIES);
  for (let index = 0; index < ENTRIES; index++) {
    expect(readFileSync(join(outside, nameOf(index)), 'utf8')).toBe('secret');
  }
}

/** Replaces something by a link to the outside, once. */
function swapOnce(path: () => string): () => void {
  let isDone = false;
  return () => {
    if (isDone) return;
    isDone = true;
    renameSync(path(), join(directory, 'work', 'aside', 'real'));
    symlinkSync(outside, path());
  };
}

const ways = [
  ...(process.platform === 'linux' ? [{ system: 'Linux', open: LinuxDirectory.open }] : []),
  { system: 'any system', open: PortableDirectory.open },
];

describe.each(ways)('a process that keeps swapping a folder for a link, on $system', ({ open }) => {
  beforeEach(() => begin(open));

  test('causes no file of the host to be collected or moved', async () => {
    await fill(outside, 'secret');
    await work.seal();
    await fill(inFiles('out'), 'mine');
    await leaveStray(inFiles('out'));
    for (let round = 0; round < ROUNDS; round++) {
      expect(new Set(await collect())).not.toContain('secret');
      await expectUntouched();
    }
  });
});

// On other systems, only luck prevents a swap right before a change.
describe.skipIf(process.platform !== 'linux')('a process that keeps swapping, with descriptors', () => {
  beforeEach(() => begin(LinuxDirectory.open));

  test('causes no file of another job to be staged elsewhere', async () => {
    const source = join(directory, 'source');
    await writeFile(source, 'input of another');
    await work.placeLocalFile('in/first', source, directory);
    await leaveStray(inFiles('in'));
    const refused: unknown[] = [];
    for (let index = 0; index < ENTRIES; index++) {
      await work
        .placeLocalFile(`in/${nameOf(index)}`, source, directory)
        .catch((error: { code: unknown }) => refused.push(error.code));
    }
    await endOrphans();
    expect(await readdir(outside)).toEqual([]);
    // Both are faults of the host.
    expect(refused.filter((code) => code !== 'ESTALE' && code !== 'ENOENT')).toEqual([]);
  });

  test('causes no file of the host to be removed', async () => {
    await fill(outside, 'secret');
    for (let round = 0; round < ROUNDS; round++) {
      work = await workspace.create(REF);
      await fill(inFiles('out'), 'mine');
      await leaveStray(inFiles('out'));
      // Something may be left, since the process continues.
      await work.discard().catch(() => undefined);
      await endOrphans();
    }
    await expectUntouched();
  });
});

describe.each(ways)('a link put in place at the worst moment, on $system', ({ open }) => {
  /** Steps before which the link is put in place. */
  let onStep: OnStep;

  beforeEach(async () => {
    onStep = () => undefined;
    await begin(hooked(open, (step, name) => onStep(step, name)));
    await fill(outside, 'secret');
  });

  const before = (wanted: string, act: () => void) => {
    onStep = (step) => {
      if (step === wanted) act();
    };
  };

  test('after the outputs were found, adds no output', async () => {
    await fill(inFiles('out'), 'mine');
    expect(new Set(await collect(swapOnce(() => inFiles('out'))))).toEqual(new Set());
    await expectUntouched();
  });

  test.each(['list', 'statNow', 'stat', 'openFile', 'moveOut'])(
    'before the step %s, adds no output',
    async (step) => {
      await mkdir(inFiles('out'));
      await fill(inFiles('out'), 'mine');
      before(
        step,
        swapOnce(() => inFiles('out')),
      );
      expect(new Set(await collect())).not.toContain('secret');
      await expectUntouched();
    },
  );

  test('in place of the folder for the output storage, adds no stored file', async () => {
    await fill(work.outputStorage, 'mine');
    expect(new Set(await collect(swapOnce(() => work.outputStorage)))).not.toContain('secret');
    await expectUntouched();
  });

  test('in place of a folder without permissions, changes no permissions', async () => {
    await mkdir(inFiles('in'), { mode: 0o500 });
    await chmod(outside, 0o500);
    before(
      'list',
      swapOnce(() => inFiles('in')),
    );
    await collect();
    await work.discard().catch(() => undefined);
    expect((await lstat(outside)).mode & 0o777).toBe(0o500);
    await chmod(outside, 0o700);
    await expectUntouched();
  });

  test('in place of the whole directory, adds no output', async () => {
    await mkdir(join(outside, 'files'));
    await mkdir(join(outside, 'output-storage'));
    await writeFile(join(outside, 'files', 'mine'), 'secret');
    await fill(inFiles('out'), 'mine');
    swapOnce(() => join(work.files, '..'))();
    expect(new Set(await collect())).not.toContain('secret');
    await work.discard().catch(() => undefined);
    expect((await readdir(outside)).length).toBe(ENTRIES + 2);
    expect(await readFile(join(outside, 'files', 'mine'), 'utf8')).toBe('secret');
  });

  test('before the step createFile or copyFile, gets no staged file', async () => {
    const source = join(directory, 'source');
    await writeFile(source, 'input of another');
    await work.placeLocalFile('in/first', source, directory);
    before(
      'copyFile',
      swapOnce(() => inFiles('in')),
    );
    await work.placeLocalFile('in/second', source, directory).catch(() => undefined);
    await expectUntouched();
    before(
      'createFile',
      swapOnce(() => join(work.files, '..')),
    );
    await work.writeVariables({ key: 'value' }).catch(() => undefined);
    await expectUntouched();
  });

  test('before the staging, returns the job', async () => {
    const source = join(directory, 'source');
    await writeFile(source, 'input of another');
    await work.placeLocalFile('in/first', source, directory);
    swapOnce(() => inFiles('in'))();
    await expect(work.placeLocalFile('in/second', source, directory)).rejects.toMatchObject({
      code: 'ESTALE',
    });
    await expectUntouched();
  });

  test.each(['list', 'unlink', 'openDirectory', 'removeDirectory'])(
    'before the step %s of a removal, causes no removal',
    async (step) => {
      await fill(inFiles('out/in'), 'mine');
      before(
        step,
        swapOnce(() => inFiles('out')),
      );
      await work.discard().catch(() => undefined);
      await expectUntouched();
      onStep = () => undefined;
    },
  );

  test('or another file or folder in place of an opened one is not kept', async () => {
    await writeFile(inFiles('a'), 'mine');
    await writeFile(inFiles('b'), 'mine');
    await writeFile(inFiles('c'), 'mine');
    const instead = {
      a: () => symlinkSync(join(outside, nameOf(0)), inFiles('a')),
      b: () => writeFileSync(inFiles('b'), 'other'),
      c: () => symlinkSync(outside, inFiles('c')),
    };
    onStep = (step, name) => {
      const put = step === 'moveOut' ? instead[name as keyof typeof instead] : undefined;
      if (!put) return;
      renameSync(inFiles(name), join(directory, 'work', 'aside', name));
      put();
    };
    expect(await collect()).toEqual(['mine', 'mine', 'mine']);
    await expectUntouched();
  });

  test('in the path of a file of the host, is not followed out of the permitted folder', async () => {
    const shared = join(directory, 'shared', 'models');
    await mkdir(shared, { recursive: true });
    await writeFile(join(shared, nameOf(0)), 'model');
    await rename(shared, join(directory, 'shared', 'was'));
    await symlink(outside, shared);
    const placed = work.placeLocalFile('model', join(shared, nameOf(0)), join(directory, 'shared'));
    await expect(placed).rejects.toThrow('it was changed while it was read');
    expect(await readdir(work.files)).toEqual([]);
  });
});

describe.each(ways)('a tree that a job made, on $system', ({ open }) => {
  beforeEach(() => begin(open));

  /** Goes down by steps: the path as a whole is too long for the system. */
  async function dig(levels: number): Promise<void> {
    const inside = `
      const { mkdirSync, writeFileSync } = require('node:fs');
      for (let level = 0; level < ${levels}; level++) {
        mkdirSync('a-folder');
        process.chdir('a-folder');
        writeFileSync('file', '');
      }`;
    const digger = spawn(process.execPath, ['-e', inside], { cwd: work.files, stdio: 'inherit' });
    expect(await once(digger, 'exit')).toEqual([0, null]);
  }

  // A path has a maximum length where directories have no handles.
  if (open === LinuxDirectory.open) {
    test('is removed at any depth, and collected up to the longest path that is possible', async () => {
      await dig(1500);
      const before = (await readdir('/proc/self/fd')).length;
      const contents = await collect();
      // The names of 112 folders and of the file, with their separators, have 1,012 characters.
      expect(contents.length).toBe(113);
      await work.discard();
      expect(await readdir(join(directory, 'work'))).toEqual(['aside']);
      expect((await readdir('/proc/self/fd')).length).toBeLessThanOrEqual(before);
    });
  }

  test('is removed as a whole, even if its folders lack permissions', async () => {
    await fill(inFiles('in'), 'x');
    await chmod(inFiles('in'), 0);
    await work.discard();
    expect(await readdir(join(directory, 'work'))).toEqual(['aside']);
  });
});
