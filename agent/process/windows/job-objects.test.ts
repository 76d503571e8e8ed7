/** Processes of Windows and their job objects; `npm run test:windows` runs these tests. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import koffi from 'koffi';
import { afterEach, describe, expect, it } from 'vitest';
import type { ControlGroups, ProgramGroup } from '../control-groups.js';
import { openPlatform } from '../this-platform.js';
import { jobLimits, systemCalls } from './system-calls.js';

/** A program that starts a process on each line that it reads, apart from itself and without its environment, and prints its id. */
const PROGRAM = `
const { spawn } = require('node:child_process');
const idle = ['--eval', 'setInterval(() => undefined, 1000)'];
process.stdin.on('data', () => {
  const child = spawn(process.execPath, idle, { detached: true, stdio: 'ignore', env: { SystemRoot: process.env.SystemRoot } });
  child.unref();
  console.log(child.pid);
});
process.stdin.on('end', () => process.exit());
console.log('ready');
`;

describe('limits of a job object', () => {
  // Places of fields by Microsoft's pages: extended limits (9), and control of the rate (15).
  const extended = (values: Buffer | undefined) => [values?.readUInt32LE(16), values?.readBigUInt64LE(120)];
  const part = (values: Buffer | undefined) => [values?.readUInt32LE(0), values?.readUInt32LE(4)];

  it('are the end with its last handle, and no others unless some are set', () => {
    const [[kind, values] = [], ...others] = jobLimits(null, 4);
    expect([kind, values?.length, extended(values), others]).toEqual([9, 144, [0x2000, 0n], []]);
  });

  it('are memory, and a part of all processors of the host', () => {
    const [memory, processors] = jobLimits({ memoryBytes: 2 ** 33, processors: 1.5 }, 4);
    expect(extended(memory?.[1])).toEqual([0x2200, 2n ** 33n]);
    expect([processors?.[0], processors?.[1].length]).toEqual([15, 8]);
    expect(part(processors?.[1])).toEqual([0x5, 3750]);
    expect(part(jobLimits({ memoryBytes: null, processors: 64 }, 4)[1]?.[1])).toEqual([0x5, 10_000]);
  });
});

describe.skipIf(process.platform !== 'win32')('on Windows', () => {
  const children: ChildProcess[] = [];
  let groups: ControlGroups;

  afterEach(async () => {
    for (const child of children.splice(0)) {
      child.kill();
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    }
    await groups?.close();
  });

  const calls = process.platform === 'win32' ? systemCalls(koffi) : undefined;
  const isAlive = (pid: number) => calls?.creationTimeOf(pid) !== undefined;

  async function openGroup(): Promise<ProgramGroup> {
    const { findControlGroups } = await openPlatform(tmpdir());
    const found = await findControlGroups('node', systemRuntime);
    if ('unavailable' in found) throw new Error(found.unavailable);
    groups = found.groups;
    return groups.create('sim', null);
  }

  /** Starts {@link PROGRAM}; `startAnother` resolves with the id of the process that it starts. */
  async function startProgram() {
    const child = spawn(process.execPath, ['--eval', PROGRAM], { stdio: ['pipe', 'pipe', 'inherit'] });
    children.push(child);
    const nextLine = async () => {
      const [line] = (await once(child.stdout.setEncoding('utf8'), 'data')) as [string];
      return line.trim();
    };
    expect(await nextLine()).toBe('ready');
    const startAnother = async () => {
      const line = nextLine();
      child.stdin.write('\n');
      return Number(await line);
    };
    return { child, pid: child.pid as number, startAnother };
  }

  it('a group ends what a job left behind, and spares the program and what that had before', async () => {
    const group = await openGroup();
    const { child, pid, startAnother } = await startProgram();
    group.addProcess(pid);
    const helper = await startAnother();
    group.jobBegins();
    const stray = await startAnother();
    expect([isAlive(helper), isAlive(stray)]).toEqual([true, true]);
    expect(await group.endJob()).toBeGreaterThan(0);
    expect([isAlive(pid), isAlive(helper), isAlive(stray)]).toEqual([true, true, false]);
    expect(await group.endJob()).toBe(0);
    const exited = once(child, 'exit');
    await group.end();
    await exited;
    expect(isAlive(helper)).toBe(false);
  });

  // Wine takes this limit, and does not keep it; it refuses one of processors.
  it('a group with a limit of memory takes a program', async () => {
    await openGroup();
    const group = groups.create('limited', { memoryBytes: 2 ** 30, processors: null });
    const { pid } = await startProgram();
    group.addProcess(pid);
    await group.end();
    expect(isAlive(pid)).toBe(false);
  });

  it('a group takes in what a program had started before it was added', async () => {
    const group = await openGroup();
    const { pid, startAnother } = await startProgram();
    const early = await startAnother();
    group.addProcess(pid);
    await group.end();
    expect([isAlive(pid), isAlive(early)]).toEqual([false, false]);
  });

  it('the end of an agent by force ends everything that it started, also what hides', async () => {
    const agent = spawn(
      process.execPath,
      [
        '--input-type=module',
        '--eval',
        `import { openPlatform } from ${JSON.stringify(new URL('../../dist/process/this-platform.js', import.meta.url).href)};
import { systemRuntime } from ${JSON.stringify(import.meta.resolve('@workbench-hub/shared/runtime/system-runtime'))};
import { spawn } from 'node:child_process';
const { findControlGroups } = await openPlatform(${JSON.stringify(tmpdir())});
const found = await findControlGroups('node', systemRuntime);
if ('unavailable' in found) throw new Error(found.unavailable);
const child = spawn(process.execPath, ['--eval', ${JSON.stringify(PROGRAM)}], { stdio: ['pipe', 'pipe', 'inherit'] });
child.stdout.on('data', (text) => String(text).trim() === 'ready' ? child.stdin.write('\\n') : console.log(child.pid + ' ' + text));
`,
      ],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    );
    children.push(agent);
    const [line] = (await once(agent.stdout.setEncoding('utf8'), 'data')) as [string];
    const pids = line.trim().split(/\s+/).map(Number);
    expect(pids.map(isAlive)).toEqual([true, true]);
    agent.kill('SIGKILL');
    await expect.poll(() => pids.map(isAlive)).toEqual([false, false]);
  });

  it('a process is found by its cookie, and belongs to the instance above it', async () => {
    const { platform } = await openPlatform(tmpdir());
    const env = { ...process.env, WORKBENCH_INSTANCE_COOKIE: 'node-1/sim/1', WORKBENCH_TASK_ID: 'task-1' };
    const child = spawn(process.execPath, ['--eval', PROGRAM], { env, stdio: ['pipe', 'pipe', 'inherit'] });
    children.push(child);
    await once(child.stdout, 'data');
    const pid = child.pid as number;
    expect((await platform.findByCookie('node-1/sim/')).pids).toEqual([pid]);
    expect((await platform.findByCookie('node-1/sim/1', { taskId: 'task-1' })).pids).toEqual([pid]);
    expect((await platform.findByCookie('node-1/sim/1', { taskId: 'task-2' })).pids).toEqual([]);
    expect((await platform.findByCookie('node-1/si')).pids).toEqual([]);
    expect(await platform.ownerOf(pid, 'node-1/sim/', process.pid)).toBe('node-1/sim/1');
    expect(await platform.ownerOf(pid, 'node-2/sim/', process.pid)).toBe('CHILD');
    child.stdin.write('\n');
    const [stray] = (await once(child.stdout, 'data')) as [Buffer];
    expect(await platform.ownerOf(Number(String(stray)), 'node-1/sim/', process.pid)).toBe('node-1/sim/1');
    await platform.findByCookie('node-1/');
    calls?.terminate(Number(String(stray)), calls.creationTimeOf(Number(String(stray))) ?? 0n);
  });

  it('a process has an identity that a later one with its id has not', async () => {
    const { platform } = await openPlatform(tmpdir());
    const { child, pid } = await startProgram();
    const identity = platform.identify(pid);
    expect(identity).toMatch(new RegExp(`^${pid}@\\d+$`));
    expect(platform.identify(process.pid)).not.toBe(identity);
    expect(calls?.terminate(pid, 1n)).toBe(false);
    expect(platform.identify(pid)).toBe(identity);
    child.stdin.end();
    await once(child, 'exit');
    expect(platform.identify(pid)).toBeUndefined();
  });
});
