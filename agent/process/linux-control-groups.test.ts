import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ControlGroups, ProgramGroup } from './control-groups.js';
import { hasControlGroups } from './fixtures/isolation.js';
import { startTimeOf } from './linux.js';
import { openControlGroups, ownGroup } from './linux-control-groups.js';

describe('the group of this process', () => {
  const mount = (root: string, point: string, type = 'cgroup2') =>
    `31 23 0:28 ${root} ${point} rw,relatime shared:9 - ${type} ${type} rw,nsdelegate\n`;

  it.each([
    [
      'alone',
      mount('/', '/sys/fs/cgroup'),
      '0::/system.slice/a.service\n',
      '/sys/fs/cgroup/system.slice/a.service',
    ],
    [
      'beside those of version 1',
      mount('/', '/sys/fs/cgroup/memory', 'cgroup') + mount('/', '/sys/fs/cgroup/unified'),
      '4:memory:/x\n0::/\n',
      '/sys/fs/cgroup/unified/',
    ],
    ['in a container', mount('/box', '/sys/fs/cgroup'), '0::/box/agent\n', '/sys/fs/cgroup/agent'],
    ['at a path with blanks', mount('/', '/my\\040groups'), '0::/a\n', '/my groups/a'],
  ])('is found %s', (_, mountinfo, membership, folder) => {
    expect(ownGroup(mountinfo, membership)).toBe(folder);
  });

  it.each([
    ['there are only groups of version 1', mount('/', '/sys/fs/cgroup', 'cgroup'), '4:memory:/x\n'],
    ['the groups are not mounted', '', '0::/a\n'],
    ['another part of them is mounted', mount('/box', '/sys/fs/cgroup'), '0::/boxes/agent\n'],
    ['it lies outside the namespace', mount('/', '/sys/fs/cgroup'), '0::/../a\n'],
  ])('is not known where %s', (_, mountinfo, membership) => {
    expect(ownGroup(mountinfo, membership)).toBeUndefined();
  });
});

describe.skipIf(!(await hasControlGroups()))('the control group of a program', () => {
  const nodeId = `of-a-test-${process.pid}`;
  let groups: ControlGroups;
  let group: ProgramGroup;
  let program: ChildProcess;
  let said: AsyncIterator<string>;

  /** A shell as the program: it runs each line that it is given. */
  beforeEach(async () => {
    groups = await open();
    group = groups.create('sim', null);
    program = spawn('/bin/sh', [], { stdio: ['pipe', 'pipe', 'inherit'] });
    said = createInterface(program.stdout as NonNullable<ChildProcess['stdout']>)[Symbol.asyncIterator]();
    group.addProcess(program.pid as number);
  });
  afterEach(async () => {
    if (program.exitCode === null && program.signalCode === null) {
      program.kill('SIGKILL');
      await once(program, 'exit');
    }
    await groups.close();
    expect(existsSync(groups.path ?? '')).toBe(false);
  });

  async function open(): Promise<ControlGroups> {
    const found = await openControlGroups(nodeId, systemRuntime);
    if ('unavailable' in found) throw new Error(found.unavailable);
    return found.groups;
  }
  /** Runs a line; resolves with its output. */
  async function run(line: string): Promise<string> {
    program.stdin?.write(`${line}\n`);
    return String((await said.next()).value);
  }
  const isAlive = (pid: string) => startTimeOf(Number(pid)) !== undefined;

  it('loses what was started during the job, and nothing else', async () => {
    const helper = await run('sleep 1000 >&- & echo $!');
    group.jobBegins();
    const stray = await run('setsid env -i sleep 1000 >&- & echo $!');
    expect(await group.endJob()).toBe(1);
    expect([isAlive(stray), isAlive(helper), isAlive(`${program.pid}`)]).toEqual([false, true, true]);
    group.jobBegins();
    const next = await run('sleep 1000 >&- & echo $!');
    expect(await group.endJob()).toBe(1);
    expect([isAlive(next), isAlive(helper)]).toEqual([false, true]);
  });

  it('stays as it is when a job leaves nothing behind', async () => {
    const place = () => readFileSync(`/proc/${program.pid}/cgroup`, 'utf8');
    const before = place();
    expect(before).toContain(`workbench-agent-${nodeId}/instance-sim-`);
    group.jobBegins();
    await run('true; echo done');
    expect(await group.endJob()).toBe(0);
    expect(place()).toBe(before);
  });

  it('ends processes that fork faster than they can be found', async () => {
    group.jobBegins();
    // Each lives for a moment and starts the next one, in a session of its own.
    await run(`hop() { setsid sh -c "$0 & exit" & }; echo '#!/bin/sh
setsid "$0" & exit' > /tmp/hop-${process.pid}; chmod +x /tmp/hop-${process.pid}; env -i /tmp/hop-${process.pid} >&- & echo begun`);
    try {
      while ((await group.endJob()) === 0);
      group.jobBegins();
      expect(await group.endJob()).toBe(0);
      await run('sleep 0.05; echo slept');
      expect(await group.endJob()).toBe(0);
    } finally {
      await run(`rm /tmp/hop-${process.pid}; echo removed`);
    }
  });

  it('ends what has made itself a group below it', async () => {
    group.jobBegins();
    const stray = await run('sleep 1000 >&- & echo $!');
    const folder = join(groups.path ?? '', 'instance-sim-1', 'below');
    mkdirSync(folder);
    writeFileSync(join(folder, 'cgroup.procs'), stray);
    expect(await group.endJob()).toBe(1);
    expect(isAlive(stray)).toBe(false);
  });

  it('takes in what a wrapper has started before', async () => {
    const wrapper = spawn('/bin/sh', ['-c', 'sh -c "sleep 1000 >&- & echo \\$!; wait" & wait'], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const exited = once(wrapper, 'exit');
    const lines = createInterface(wrapper.stdout);
    const [sleeper] = (await once(lines, 'line')) as [string];
    const wrapped = groups.create('wrapped', null);
    wrapped.addProcess(wrapper.pid as number);
    await wrapped.end();
    expect(isAlive(sleeper)).toBe(false);
    await exited;
  });

  it('ends as a whole with the program', async () => {
    const stray = await run('setsid env -i sleep 1000 >&- & echo $!');
    await group.end();
    expect([isAlive(stray), isAlive(`${program.pid}`)]).toEqual([false, false]);
  });

  it('is ended without waiting when the agent has no more time', async () => {
    groups.killAll();
    await once(program, 'exit');
    expect(program.signalCode).toBe('SIGKILL');
  });

  it('of an earlier run of the agent is ended by the next one', async () => {
    const stray = await run('setsid env -i sleep 1000 >&- & echo $!');
    const found = await openControlGroups(nodeId, systemRuntime);
    expect(found).toMatchObject({ leftOver: 2 });
    expect([isAlive(stray), isAlive(`${program.pid}`)]).toEqual([false, false]);
  });
});
