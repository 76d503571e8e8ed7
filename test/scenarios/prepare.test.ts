/** Preparation of a clone: its lock, and npm, which is quiet and ends with the process that started it. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.js';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.js';

const PREPARE = new URL('../../deploy/prepare/', import.meta.url);
const moduleAt = (name: string) => JSON.stringify(new URL(name, PREPARE).href);

let folder: TemporaryFolder;
let children: ChildProcess[];
beforeEach(async () => {
  folder = await temporaryFolder();
  children = [];
});
afterEach(async () => {
  for (const child of children) {
    child.kill('SIGKILL');
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  }
  await folder.remove();
});

interface Running {
  readonly child: ChildProcess;
  readonly ended: Promise<number | null>;
  printed(): string;
}

/** Runs a module that is given as text. */
function run(source: string, env: NodeJS.ProcessEnv = {}): Running {
  const child = spawn(process.execPath, ['--input-type=module', '--eval', source], {
    cwd: folder.path,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  children.push(child);
  let text = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (text += chunk));
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  return { child, ended, printed: () => text };
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    // An ended process stays as a zombie until its parent reads its status.
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

describe('the lock of a clone', () => {
  const holder = () => `
    import { takeCloneLock } from ${moduleAt('clone-lock.mjs')};
    const release = await takeCloneLock(${JSON.stringify(folder.path)});
    process.once('SIGTERM', () => { release(); process.exit(0); });
    console.log('taken');
    setInterval(() => undefined, 1000);`;
  const lock = () => join(folder.path, '.prepare-lock');

  it('is held by one process; the next says for which one it waits', async () => {
    const first = run(holder());
    await eventually(() => first.printed() === 'taken\n');
    const second = run(holder());
    await eventually(() => second.printed() !== '');
    expect(second.printed()).toBe(
      `Waiting: process ${first.child.pid} installs or builds in this clone ...\n`,
    );
    first.child.kill('SIGTERM');
    await eventually(() => second.printed().endsWith('taken\n'));
    second.child.kill('SIGTERM');
    expect(await second.ended).toBe(0);
    expect(existsSync(lock())).toBe(false);
  });

  it('of a killed process is taken over, also when another has its id now', async () => {
    const first = run(holder());
    await eventually(() => first.printed() === 'taken\n');
    first.child.kill('SIGKILL');
    await first.ended;
    const second = run(holder());
    await eventually(() => second.printed() === 'taken\n');
    second.child.kill('SIGKILL');
    await second.ended;
    writeFileSync(lock(), `${process.pid} 1`);
    const third = run(holder());
    await eventually(() => third.printed() === 'taken\n');
  });
});

describe('npm for a clone', () => {
  /** Runs a script as npm. */
  function runAs(npmScript: string): Running {
    const file = join(folder.path, 'npm.mjs');
    writeFileSync(file, npmScript);
    const source = `
      import { runNpm } from ${moduleAt('npm.mjs')};
      await runNpm(['ci'], { root: '.', activity: 'fetching packages', log: console.log })
        .catch((error) => { console.log(error.message); process.exitCode = 3; });`;
    return run(source, { npm_execpath: file });
  }

  it('is quiet, and says when SQLite is compiled', async () => {
    const npm =
      runAs(`console.log('npm warn deprecated x\\n> better-sqlite3@12.0.0 install\\ngyp info it worked if it ends with ok');
      console.error('noise');`);
    expect(await npm.ended).toBe(0);
    expect(npm.printed().split('\n')).toEqual([
      '  ... looking for a SQLite add-on that is built for this Node.js',
      '  ... compiling SQLite, since there is no build for this Node.js and system: this can take minutes',
      '',
    ]);
  });

  it('shows the end of its output when it fails, and what compiling needs', async () => {
    const npm = runAs(
      `console.log('> better-sqlite3@12.0.0 install\\nnode-gyp rebuild\\ngyp ERR! no python'); process.exit(7);`,
    );
    expect(await npm.ended).toBe(3);
    expect(npm.printed()).toContain('npm ci failed (exit code 7). The end of its output:');
    expect(npm.printed()).toContain('gyp ERR! no python\nSQLite must be compiled here, which needs Python 3');
  });

  it('ends with all its processes when the process that runs it is killed', async () => {
    const pidsFile = join(folder.path, 'pids');
    const npm = runAs(`import { spawn } from 'node:child_process';
      import { writeFileSync } from 'node:fs';
      const compiler = spawn('sleep', ['1000']);
      writeFileSync(${JSON.stringify(pidsFile)}, process.pid + ' ' + compiler.pid);
      setInterval(() => undefined, 1000);`);
    await eventually(() => existsSync(pidsFile) && readFileSync(pidsFile, 'utf8').includes(' '));
    const pids = readFileSync(pidsFile, 'utf8').split(' ').map(Number);
    expect(pids.map(isAlive)).toEqual([true, true]);
    npm.child.kill('SIGKILL');
    await npm.ended;
    await eventually(() => !pids.some(isAlive));
  });
});
