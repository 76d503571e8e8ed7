import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { platform, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { linux } from './linux.js';
import { COOKIE_VARIABLE, TASK_VARIABLE } from './platform.js';
import { signalGroup } from './process-group.js';

describe.skipIf(platform() !== 'linux')('the owner of a process below a common one', () => {
  const cookie = `owner-of-${process.pid}/sim-1/`;
  const clean = { PATH: process.env['PATH'] };
  const children: ChildProcess[] = [];
  const start = (script: string, env: NodeJS.ProcessEnv) => {
    const child = spawn('sh', ['-c', script], { env, stdio: ['ignore', 'pipe', 'ignore'], detached: true });
    children.push(child);
    return child;
  };
  /** Id of a process that the script starts and prints. */
  const started = async (script: string, env: NodeJS.ProcessEnv) => {
    const { stdout } = start(script, env);
    const [line] = (await once(stdout as NonNullable<typeof stdout>, 'data')) as [Buffer];
    return Number(line.toString());
  };
  const left: number[] = [];
  afterEach(() => {
    for (const pid of left.splice(0)) process.kill(pid, 'SIGKILL');
    for (const { pid } of children.splice(0)) signalGroup(pid as number, 'SIGKILL');
  });
  const ownerOf = (pid: number) => linux.ownerOf(pid, cookie, process.pid);

  it.each([
    ['its instance', `${cookie}sim-2`, `${cookie}sim-2`],
    ['the program', cookie, 'PROGRAM'],
    ['nobody, as a child of the program', `owner-of-${process.pid}/sim-2/`, 'CHILD'],
  ])('is %s by its environment', async (_, carried, owner) => {
    const pid = await started('echo $$; sleep 1000; :', { ...clean, [COOKIE_VARIABLE]: carried });
    await expect.poll(() => ownerOf(pid)).toBe(owner);
  });

  it('is that of the process above it, if it has cleared its environment', async () => {
    const env = { ...clean, [COOKIE_VARIABLE]: `${cookie}sim-2` };
    const pid = await started(`env -i sh -c 'echo $$; sleep 1000; :'; :`, env);
    expect(await ownerOf(pid)).toBe(`${cookie}sim-2`);
  });

  it('is unknown, if it has also left the process above it', async () => {
    const env = { ...clean, [COOKIE_VARIABLE]: `${cookie}sim-2` };
    const pid = await started(`setsid env -i sh -c 'echo $$; exec sleep 1000' &`, env);
    left.push(pid);
    await expect.poll(() => ownerOf(pid)).toBeUndefined();
  });
});

describe.skipIf(platform() !== 'linux')('processes of a task', () => {
  const cookie = `cookie-of-${process.pid}/sim`;
  const taskId = 'the-task';
  let before: number;
  let child: ChildProcess;

  beforeEach(async () => {
    before = linux.newestPid() as number;
    const env = { ...process.env, [COOKIE_VARIABLE]: cookie, [TASK_VARIABLE]: taskId };
    child = spawn(process.execPath, ['-e', 'console.log(0); setTimeout(() => {}, 60_000)'], { env });
    await once(child.stdout as NonNullable<ChildProcess['stdout']>, 'data');
  });
  afterEach(async () => {
    child.kill('SIGKILL');
    await once(child, 'exit');
  });

  it('are found by its id, and by the cookie of their instance or their agent', async () => {
    expect((await linux.findByCookie(cookie, { taskId })).pids).toEqual([child.pid]);
    expect((await linux.findByCookie(cookie)).pids).toEqual([child.pid]);
    expect((await linux.findByCookie(`cookie-of-${process.pid}/`)).pids).toEqual([child.pid]);
    expect((await linux.findByCookie(cookie, { taskId: 'another' })).pids).toEqual([]);
    expect((await linux.findByCookie('cookie-of', { taskId })).pids).toEqual([]);
  });

  it('are looked for among those that are younger than the task', async () => {
    const pid = child.pid as number;
    expect((await linux.findByCookie(cookie, { taskId, afterPid: before })).pids).toEqual([pid]);
    expect((await linux.findByCookie(cookie, { taskId, afterPid: pid - 1 })).pids).toEqual([pid]);
    expect((await linux.findByCookie(cookie, { taskId, afterPid: pid })).pids).toEqual([]);
  });

  it('are found also when the ids have wrapped around since', async () => {
    const highest = 2 ** 31;
    expect((await linux.findByCookie(cookie, { taskId, afterPid: highest })).pids).toEqual([child.pid]);
  });

  it.each([
    ['in a name that ends like the right one', `NO_${COOKIE_VARIABLE}`],
    ['in the value of another', 'OTHER'],
  ])('are not those that have the cookie %s', async (_, name) => {
    const mark = `${COOKIE_VARIABLE}=${cookie}-decoy`;
    const value = name === 'OTHER' ? mark : `${cookie}-decoy`;
    const decoy = spawn('sleep', ['1000'], {
      env: { PATH: process.env['PATH'], [name]: value },
      stdio: 'ignore',
    });
    const ours = spawn('sleep', ['1000'], {
      env: { PATH: process.env['PATH'], [name]: value, [COOKIE_VARIABLE]: `${cookie}-decoy` },
      stdio: 'ignore',
    });
    try {
      await Promise.all([once(decoy, 'spawn'), once(ours, 'spawn')]);
      expect((await linux.findByCookie(`${cookie}-decoy`)).pids).toEqual([ours.pid]);
    } finally {
      decoy.kill('SIGKILL');
      ours.kill('SIGKILL');
      await Promise.all([once(decoy, 'exit'), once(ours, 'exit')]);
    }
  });

  it('are never overlooked while they become other programs', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'linux-test-'));
    const script = join(folder, 'again');
    await writeFile(script, '#!/bin/sh\nexec "$0"\n', { mode: 0o755 });
    const env = { ...process.env, [COOKIE_VARIABLE]: cookie, [TASK_VARIABLE]: 'another' };
    const restless = spawn(script, { env, stdio: 'ignore' });
    try {
      const wanted = { taskId: 'another', afterPid: (restless.pid as number) - 1 };
      for (let look = 0; look < 300; look++) {
        const { pids, mayBeMore } = await linux.findByCookie(cookie, wanted);
        expect(mayBeMore || pids.includes(restless.pid as number)).toBe(true);
      }
    } finally {
      restless.kill('SIGKILL');
      await once(restless, 'exit');
      await rm(folder, { recursive: true });
    }
  });
});
