import { type ManualRuntime, manualRuntime } from '@workbench-hub/shared/runtime/manual-runtime';
import { pino } from 'pino';
import { beforeEach, describe, expect, test } from 'vitest';
import { FakePrograms } from './fixtures/fake-programs.js';
import { Supervisor } from './supervisor.js';

let runtime: ManualRuntime;
let programs: FakePrograms;
let supervisor: Supervisor;
let statuses: string[];
let logLines: Record<string, unknown>[];

beforeEach(() => {
  runtime = manualRuntime();
  programs = new FakePrograms();
  statuses = [];
  logLines = [];
  supervisor = new Supervisor(
    {
      id: 'sim',
      version: '9',
      revision: '1',
      labels: [],
      autostart: true,
      command: ['program'],
      env: {},
      sandbox: null,
      limits: null,
      commonProcess: null,
      startTimeoutMs: 30_000,
      stopTimeoutMs: 10_000,
      cancelTimeoutMs: 10_000,
    },
    {
      programs,
      runtime,
      log: pino({}, { write: (line) => void logLines.push(JSON.parse(line) as Record<string, unknown>) }),
      sharing: null,
      onChange: ({ status }) => statuses.push(status),
    },
  );
});

const console = () => supervisor.output.read('console');
const crash = () => programs.last.ends({ kind: 'EXITED', exitCode: 1, signal: null });

async function start(): Promise<void> {
  supervisor.command('start');
  programs.last.becomesReady();
  await runtime.advance(0);
}

describe('a start', () => {
  test('is done when the program has answered', async () => {
    supervisor.command('start');
    expect(supervisor.state()).toMatchObject({ status: 'STARTING', upForMs: null });
    expect(supervisor.reserve({ taskId: 'task' })).toBeUndefined();
    programs.last.becomesReady();
    await runtime.advance(5000);
    expect(supervisor.state()).toMatchObject({ status: 'UP', upForMs: 5000 });
    expect(statuses).toEqual(['STARTING', 'UP']);
  });

  test('tells the kind of jobs that the program runs, also when it is down again', async () => {
    const runs = { models: ['MJCF'], scripts: ['JavaScript'] };
    supervisor.command('start');
    expect(supervisor.state().runs).toBeUndefined();
    programs.last.becomesReady({ runs });
    await runtime.advance(0);
    expect(supervisor.state()).toMatchObject({ status: 'UP', runs });
    crash();
    await runtime.advance(0);
    expect(supervisor.state()).toMatchObject({ status: 'STARTING', runs });
    await runtime.advance(1000);
    programs.last.becomesReady();
    await runtime.advance(0);
    expect(supervisor.state()).toMatchObject({ status: 'UP' });
    expect(supervisor.state().runs).toBeUndefined();
  });

  test('that takes too long is ended and tried again', async () => {
    supervisor.command('start');
    await runtime.advance(29_999);
    expect(programs.last.calls).toEqual(['initialize']);
    await runtime.advance(1);
    expect(programs.last.calls).toEqual(['initialize', 'kill']);
    await runtime.advance(1000);
    expect(console()).toMatch(/was killed: it did not answer "initialize" within 30 s$/m);
    expect(programs.started).toHaveLength(2);
  });

  test('that fails is logged as a complete sentence', async () => {
    supervisor.command('start');
    programs.last.ends({ kind: 'NOT_FOUND', program: 'program' });
    await runtime.advance(1000);
    expect(console()).toMatch(/there is no program "program"; check "command" of the instance$/m);
    crash();
    await runtime.advance(0);
    expect(console()).toMatch(/exited with code 1 before it was ready$/m);
  });

  test('that is answered with an error is tried again', async () => {
    supervisor.command('start');
    programs.last.listener.onStderr('license server unreachable\n');
    programs.last.fails('initialize', new Error('no license'));
    await runtime.advance(0);
    expect(console()).toContain('it answered "initialize" with an error: no license');
    expect(console()).toContain('last lines on standard error: license server unreachable');
  });

  test('is tried with growing pauses, and given up after five failures in a row', async () => {
    supervisor.command('start');
    const startedAtMs: number[] = [];
    for (let seen = 0; supervisor.state().status !== 'FAILED'; ) {
      if (programs.started.length > seen) {
        seen = programs.started.length;
        startedAtMs.push(runtime.clock.monotonicMs());
        crash();
      }
      await runtime.advance(5);
    }
    expect(startedAtMs).toHaveLength(5);
    const pauses = startedAtMs.slice(1).map((atMs, index) => atMs - (startedAtMs[index] ?? 0));
    expect(pauses.map((pauseMs) => Math.round(pauseMs / 100) * 100)).toEqual([400, 800, 1500, 3000]);
    expect(console()).toMatch(
      /given up after 5 failures in a row: tried again in 10 min, or start it by command$/m,
    );
    expect(logLines.at(-1)).toMatchObject({ level: 50, instance: 'sim' });
    expect(statuses).toEqual(['STARTING', 'FAILED']);
    await start();
    expect(supervisor.state().status).toBe('UP');
    expect(runtime.pendingTimers).toBe(0);
  });
});

describe('an instance that has recovered', () => {
  test('is tried again after a short backoff when it fails again', async () => {
    supervisor.command('start');
    for (const longestPauseMs of [500, 1000, 2000, 4000]) {
      crash();
      await runtime.advance(longestPauseMs);
    }
    programs.last.becomesReady();
    await runtime.advance(0);
    supervisor.reserve({ taskId: 'task' })?.release(true);
    const started = programs.started.length;
    crash();
    await runtime.advance(500);
    expect(programs.started).toHaveLength(started + 1);
  });
});

describe('an instance that was given up', () => {
  const MINUTE_MS = 60_000;
  /** Longest backoff before it is given up. */
  const LONGEST_PAUSE_MS = 5000;

  /** Lets the program crash until the instance is given up. */
  async function giveUp(): Promise<void> {
    supervisor.command('start');
    for (;;) {
      crash();
      await runtime.advance(0);
      if (supervisor.state().status === 'FAILED') return;
      await runtime.advance(LONGEST_PAUSE_MS);
    }
  }

  /** Minutes until the next start; the instance must be FAILED until then. */
  async function minutesUntilTried(): Promise<number> {
    const started = programs.started.length;
    for (let minutes = 1; ; minutes++) {
      expect(supervisor.state().status).toBe('FAILED');
      await runtime.advance(MINUTE_MS);
      if (programs.started.length > started) return minutes;
    }
  }

  test('is tried again by itself after ten minutes, and later after each further failure', async () => {
    await giveUp();
    const pausesMin: number[] = [];
    for (const further of [6, 7, 8, 9, 10]) {
      pausesMin.push(await minutesUntilTried());
      programs.last.becomesReady();
      await runtime.advance(0);
      expect(supervisor.reserve({ taskId: 'task' })).toBeDefined();
      crash();
      await runtime.advance(0);
      expect(console()).toContain(`given up after ${further} failures in a row: tried again in`);
    }
    expect(pausesMin).toEqual([10, 20, 40, 60, 60]);
    expect(statuses.slice(0, 5)).toEqual(['STARTING', 'FAILED', 'STARTING', 'UP', 'FAILED']);
  });

  test('has all its tries again once a task has completed on it', async () => {
    await giveUp();
    await minutesUntilTried();
    programs.last.becomesReady();
    await runtime.advance(0);
    supervisor.reserve({ taskId: 'task' })?.release(true);
    crash();
    await runtime.advance(0);
    expect(supervisor.state().status).toBe('STARTING');
    await giveUp();
    expect(await minutesUntilTried()).toBe(10);
  });

  test.each(['start', 'restart'] as const)('obeys %s at once, and is not started twice', async (command) => {
    await giveUp();
    supervisor.command(command);
    programs.last.becomesReady();
    await runtime.advance(0);
    expect(supervisor.state().status).toBe('UP');
    expect(runtime.pendingTimers).toBe(0);
  });

  test('obeys stop at once, and is not tried again', async () => {
    await giveUp();
    supervisor.command('stop');
    expect(supervisor.state().status).toBe('DOWN');
    expect(runtime.pendingTimers).toBe(0);
  });

  test('leaves no timer when its agent stops', async () => {
    await giveUp();
    await supervisor.stop();
    expect(runtime.pendingTimers).toBe(0);
  });
});

describe('the crashes', () => {
  test('are the ends that nobody asked for, newest first, with the task', async () => {
    await start();
    supervisor.command('restart');
    await runtime.advance(0);
    programs.last.becomesReady();
    await runtime.advance(0);
    expect(supervisor.crashes.latest()).toEqual({ agentUpForMs: 0, count: 0, latest: [] });
    supervisor.reserve({ taskId: 'task' });
    programs.last.listener.onStderr('no license\n');
    crash();
    await runtime.advance(700);
    programs.last.ends({ kind: 'NOT_FOUND', program: 'program' });
    await runtime.advance(100);
    const { count, latest } = supervisor.crashes.latest();
    expect(count).toBe(2);
    expect(latest).toEqual([
      {
        agoMs: 100,
        reason: expect.stringContaining('there is no program "program"') as string,
        taskId: null,
      },
      {
        agoMs: 800,
        reason: 'the instance program exited with code 1; its last lines on standard error: no license',
        taskId: 'task',
      },
    ]);
  });

  test('do not include the end of a canceled job that had to be killed', async () => {
    await start();
    const claim = supervisor.reserve({ taskId: 'task' });
    const killed = programs.last;
    killed.obeys = false;
    claim?.cancel('task');
    await runtime.advance(10_000);
    expect(killed.calls).toContain('kill');
    expect(programs.last).not.toBe(killed);
    expect(supervisor.crashes.latest().count).toBe(0);
  });

  test('are counted beyond the latest fifty, which are kept', async () => {
    for (let times = 0; times < 60; times++) {
      supervisor.command('start');
      crash();
      await runtime.advance(0);
    }
    const { count, latest } = supervisor.crashes.latest();
    expect([count, latest.length]).toEqual([60, 50]);
  });
});

describe('a stop', () => {
  test('asks, then insists, then uses force', async () => {
    await start();
    programs.last.obeys = false;
    supervisor.command('stop');
    expect(supervisor.state().status).toBe('STOPPING');
    await runtime.advance(9999);
    expect(programs.last.calls.slice(1)).toEqual(['shutdown']);
    await runtime.advance(1);
    expect(programs.last.calls.slice(1)).toEqual(['shutdown', 'terminate']);
    await runtime.advance(2000);
    expect(programs.last.calls.slice(1)).toEqual(['shutdown', 'terminate', 'kill']);
    expect(supervisor.state().status).toBe('DOWN');
    expect(runtime.pendingTimers).toBe(0);
  });

  test('of the agent does not wait for a task', async () => {
    await start();
    supervisor.reserve({ taskId: 'task' });
    const stopped = supervisor.stop();
    await runtime.advance(0);
    await stopped;
    expect(programs.last.calls.slice(1)).toEqual(['shutdown']);
    expect(supervisor.state().status).toBe('DOWN');
  });

  test('during the backoff ends it', async () => {
    supervisor.command('start');
    crash();
    await runtime.advance(1);
    await supervisor.stop();
    expect(runtime.pendingTimers).toBe(0);
    expect(supervisor.state().status).toBe('DOWN');
  });
});

describe('an instance with a sandbox', () => {
  async function startShutIn() {
    supervisor.command('start');
    programs.last.directory = { path: '/data/work', writable: [], abandon: () => Promise.resolve() };
    programs.last.becomesReady();
    await runtime.advance(0);
  }

  test('has another program after each job, without its claim being lost', async () => {
    await startShutIn();
    const [first] = programs.started;
    const claim = supervisor.reserve({ taskId: 'task' });
    await claim?.endJob('task', true);
    expect(first?.calls).toEqual(['initialize', 'kill']);
    expect(claim?.lost.aborted).toBe(false);
    expect(programs.started).toHaveLength(2);
    expect(supervisor.state().status).toBe('STARTING');
    programs.last.becomesReady();
    await runtime.advance(0);
    claim?.release(true);
    expect(statuses).toEqual(['STARTING', 'UP', 'STARTING', 'UP']);
    expect(supervisor.reserve({ taskId: 'next' })).toBeDefined();
    expect(runtime.pendingTimers).toBe(0);
  });

  test('logs the first start only, and every failure', async () => {
    await startShutIn();
    await supervisor.reserve({ taskId: 'task' })?.endJob('task', true);
    programs.last.becomesReady();
    await runtime.advance(0);
    for (const logged of [/started process/g, /up: fake 1/g]) expect(console().match(logged)).toHaveLength(1);
    crash();
    await runtime.advance(1000);
    programs.last.becomesReady();
    await runtime.advance(0);
    expect(console()).toContain('exited with code 1');
    for (const logged of [/started process/g, /up: fake 1/g]) expect(console().match(logged)).toHaveLength(2);
  });

  test('that is to stop ends with its job', async () => {
    await startShutIn();
    const claim = supervisor.reserve({ taskId: 'task' });
    supervisor.command('stop');
    expect(supervisor.state().status).toBe('STOPPING');
    await claim?.endJob('task', true);
    expect(supervisor.state().status).toBe('DOWN');
    expect(programs.started).toHaveLength(1);
  });
});

test('an instance whose program is being killed takes no task, even if the canceled job ends after all', async () => {
  await start();
  const claim = supervisor.reserve({ taskId: 'task' });
  const program = programs.last;
  program.obeys = false;
  program.kill = () => void program.calls.push('kill');
  claim?.cancel('task');
  await runtime.advance(10_000);
  expect(program.calls.at(-1)).toBe('kill');
  claim?.release(false);
  expect(supervisor.reserve({ taskId: 'next' })).toBeUndefined();
  program.ends({ kind: 'LEFT' });
  await runtime.advance(0);
  expect(programs.started).toHaveLength(2);
  programs.last.becomesReady();
  await runtime.advance(0);
  expect(supervisor.reserve({ taskId: 'next' })).toBeDefined();
  expect(console()).not.toContain('next start in');
});

describe('an instance in a common process', () => {
  const TOGETHER = { kind: 'EXITED', exitCode: null, signal: 'SIGSEGV', othersWorked: 1 } as const;

  test.each([
    ['another one worked', TOGETHER, false],
    ['another one was ended by force', { kind: 'KILLED_FOR', instanceId: 'sim-2' } as const, true],
  ])('starts again at once and counts no failure when it ends and %s', async (_, end, isExpected) => {
    for (let times = 0; times < 6; times++) {
      await start();
      const claim = supervisor.reserve({ taskId: 'task' });
      programs.last.ends(end);
      await runtime.advance(0);
      expect(claim?.lost.reason).toMatchObject({ name: 'ProgramLost', isOfOthers: true });
      expect(programs.started).toHaveLength(2 * (times + 1));
      expect(supervisor.state().status).toBe('STARTING');
      programs.last.becomesReady();
      await runtime.advance(0);
      supervisor.command('stop');
      await runtime.advance(0);
    }
    expect(logLines.some(({ level }) => level === 50)).toBe(!isExpected);
    expect(runtime.pendingTimers).toBe(0);
  });

  test('that was alone at work is the cause', async () => {
    await start();
    const claim = supervisor.reserve({ taskId: 'task' });
    crash();
    await runtime.advance(0);
    expect(claim?.lost.reason).toMatchObject({ isOfOthers: false });
    expect(console()).toContain('next start in');
  });

  test('gets the whole start time from the moment when it has a process', async () => {
    supervisor.command('start');
    await runtime.advance(29_000);
    programs.last.listener.onStarted();
    await runtime.advance(29_999);
    expect(programs.last.calls).toEqual(['initialize']);
    await runtime.advance(1);
    expect(programs.last.calls).toEqual(['initialize', 'kill']);
  });
});

describe('a claim', () => {
  test('is for one at a time', async () => {
    await start();
    const claim = supervisor.reserve({ taskId: 'task' });
    expect(claim).toBeDefined();
    expect(supervisor.reserve({ taskId: 'other' })).toBeUndefined();
    claim?.release(true);
    expect(supervisor.reserve({ taskId: 'other' })).toBeDefined();
  });

  test('without a sandbox leaves the program in its place when a job has ended', async () => {
    await start();
    await supervisor.reserve({ taskId: 'task' })?.endJob('task', true);
    expect(programs.last.calls).toEqual(['initialize', 'endStrays task']);
    expect(programs.started).toHaveLength(1);
  });

  test('gets the output of its own scripts only', async () => {
    await start();
    const heard: string[] = [];
    supervisor.reserve({ taskId: 'task' })?.listen((text) => void heard.push(text));
    await programs.last.listener.onOutput('task', 'stdout', 'mine');
    await programs.last.listener.onOutput('late', 'stdout', 'late');
    expect(heard).toEqual(['mine']);
    expect(supervisor.output.read('stdout')).toBe('minelate');
  });

  test('is lost with the program, with the last lines of standard error, and its release then has no effect', async () => {
    await start();
    const claim = supervisor.reserve({ taskId: 'task' });
    programs.last.listener.onStderr('out of memory\n');
    programs.last.ends({ kind: 'EXITED', exitCode: null, signal: 'SIGKILL' });
    await runtime.advance(0);
    expect(claim?.lost.reason).toMatchObject({
      message: 'the instance program was ended by SIGKILL; its last lines on standard error: out of memory',
    });
    await runtime.advance(1000);
    programs.last.becomesReady();
    await runtime.advance(0);
    const next = supervisor.reserve({ taskId: 'next' });
    claim?.release(true);
    expect(next).toBeDefined();
    expect(supervisor.reserve({ taskId: 'third' })).toBeUndefined();
  });

  test('kills a program that ignores a cancel, which does not count as a failure', async () => {
    await start();
    programs.last.obeys = false;
    supervisor.reserve({ taskId: 'task' })?.cancel('task');
    await runtime.advance(9999);
    expect(programs.last.calls.at(-1)).toBe('cancel task');
    await runtime.advance(1);
    expect(programs.started).toHaveLength(2);
    expect(supervisor.state().status).toBe('STARTING');
  });

  test('is named in both logs, with its request, as long as it lasts', async () => {
    await start();
    const names = { taskId: 'task', requestId: 'build-4711' };
    supervisor.reserve(names)?.release(true);
    expect(console()).toMatch(/^\S+ \[agent\] task task, request build-4711 begins$/m);
    supervisor.reserve(names);
    crash();
    await runtime.advance(0);
    const end = 'the instance program exited with code 1';
    expect(logLines.find(({ msg }) => msg === end)).toMatchObject({ instance: 'sim', ...names });
    expect(logLines.at(-1)?.['msg']).toMatch(/^next start in/);
    expect(logLines.at(-1)).not.toHaveProperty('taskId');
  });

  test('that is canceled and ends in time keeps its program, however long its outputs take', async () => {
    await start();
    const claim = supervisor.reserve({ taskId: 'task' });
    claim?.cancel('task');
    await runtime.advance(9000);
    await claim?.endJob('task', false);
    await runtime.advance(60_000);
    expect(programs.last.calls).not.toContain('kill');
    claim?.release(false);
    expect(programs.started).toHaveLength(1);
    expect(supervisor.state().status).toBe('UP');
  });

  test('that is released in time leaves no deadline', async () => {
    await start();
    const claim = supervisor.reserve({ taskId: 'task' });
    claim?.cancel('task');
    claim?.release(false);
    expect(supervisor.reserve({ taskId: 'next' })).toBeDefined();
    await runtime.advance(60_000);
    expect(programs.last.calls).not.toContain('kill');
    // A killed program would have been followed by another.
    expect(programs.started).toHaveLength(1);
  });
});
