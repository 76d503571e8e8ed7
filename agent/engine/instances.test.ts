import type { HubConnection } from '@workbench-hub/shared/joining/ports/hub';
import { type ManualRuntime, manualRuntime } from '@workbench-hub/shared/runtime/manual-runtime';
import { pino } from 'pino';
import { beforeEach, describe, expect, test } from 'vitest';
import { FakePrograms } from './fixtures/fake-programs.js';
import { Instances } from './instances.js';

let runtime: ManualRuntime;
let instances: Instances;
let told: string[];

beforeEach(async () => {
  runtime = manualRuntime();
  told = [];
  const programs = new FakePrograms();
  const settings = ['a', 'b'].map((id) => ({
    id,
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
  }));
  instances = new Instances(settings, { programs, runtime, log: pino({ level: 'silent' }) });
  instances.start();
  for (const program of programs.started) program.becomesReady();
  await runtime.advance(0);
  const connection = {
    sendInstance: ({ id, status }) => void told.push(`${id} ${status}`),
  } as Partial<HubConnection> as HubConnection;
  instances.joined(connection, instances.states());
});

/** Duration of the cooldown that begins now. */
async function restMs(): Promise<number> {
  const sinceMs = runtime.clock.monotonicMs();
  instances.coolDown('the disk is full');
  while (instances.states().some(({ status }) => status !== 'UP')) await runtime.advance(100);
  return runtime.clock.monotonicMs() - sinceMs;
}

describe('after a host fault', () => {
  test('no instance takes a task until the cooldown is over; running tasks continue', async () => {
    const claim = instances.reserve('a', { taskId: 'task' });
    instances.coolDown('the disk is full');
    expect(told).toEqual(['b STARTING']);
    expect(instances.reserve('b', { taskId: 'other' })).toBeUndefined();
    claim?.release(true);
    expect(told).toEqual(['b STARTING', 'a STARTING']);
    expect(instances.reserve('a', { taskId: 'other' })).toBeUndefined();
    await runtime.advance(2000);
    expect(told.slice(2)).toEqual(['a UP', 'b UP']);
    expect(instances.reserve('a', { taskId: 'other' })).toBeDefined();
    expect(instances.reply({ kind: 'instanceLog', instanceId: 'b', logType: 'console' }).text).toMatch(
      /no task is accepted for [12][.\d]* s: the disk is full/,
    );
  });

  test('cooldowns grow to a minute, and start over after a successful job', async () => {
    const rests: number[] = [];
    for (let times = 0; times < 8; times++) rests.push(await restMs());
    expect(rests[0]).toBeGreaterThanOrEqual(1000);
    expect(rests[0]).toBeLessThanOrEqual(2100);
    for (const each of rests.slice(-2)) expect(each).toBeGreaterThanOrEqual(30_000);
    expect(Math.max(...rests)).toBeLessThanOrEqual(60_100);
    instances.hostRecovered();
    expect(await restMs()).toBeLessThanOrEqual(2100);
  });

  test('faults of jobs that ran at the same time count once', async () => {
    instances.coolDown('the disk is full');
    instances.coolDown('the disk is full');
    await runtime.advance(2000);
    expect(instances.states().map(({ status }) => status)).toEqual(['UP', 'UP']);
  });

  test('a stop leaves no timer', async () => {
    instances.coolDown('the disk is full');
    await instances.stop();
    expect(runtime.pendingTimers).toBe(0);
  });
});

test.each(['drain', 'stop'] as const)('after %s, no command starts an instance again', async (how) => {
  await instances[how]();
  await runtime.advance(0);
  const before = instances.states();
  expect(before.map(({ status }) => status)).not.toContain('UP');
  expect(instances.reply({ kind: 'instanceCommand', instanceId: 'a', command: 'start' })).toEqual({
    ...{ error: 'the agent is stopping', text: null },
  });
  await runtime.advance(60_000);
  expect(instances.states()).toEqual(before);
});

/** Three instances of one process, which are up. */
async function startShared(): Promise<FakePrograms> {
  const profile = { version: '9', revision: '1', labels: [], autostart: true, command: ['program'], env: {} };
  const limits = {
    sandbox: null,
    limits: null,
    startTimeoutMs: 30_000,
    stopTimeoutMs: 10_000,
    cancelTimeoutMs: 10_000,
  };
  const programs = new FakePrograms();
  const settings = ['a', 'b', 'c'].map((id) => ({ id, ...profile, ...limits, commonProcess: 'all' }));
  instances = new Instances(settings, { programs, runtime, log: pino({ level: 'silent' }) });
  instances.start();
  expect(commonProcessesOf(programs)).toEqual(['all', 'all', 'all']);
  for (const program of programs.started) program.becomesReady();
  await runtime.advance(0);
  return programs;
}

const commonProcessesOf = ({ started }: FakePrograms) =>
  started.map(({ settings: { commonProcess } }) => commonProcess);

test('instances start apart for ten minutes after their process crashed with several jobs', async () => {
  const programs = await startShared();
  for (const id of ['b', 'c']) instances.reserve(id, { taskId: id });
  const [a, b, c] = programs.started;
  const end = { kind: 'EXITED', exitCode: null, signal: 'SIGSEGV' } as const;
  a?.ends({ ...end, othersWorked: 2 });
  b?.ends({ ...end, othersWorked: 1 });
  c?.ends({ ...end, othersWorked: 1 });
  await runtime.advance(0);
  expect(commonProcessesOf(programs).slice(3)).toEqual([null, null, null]);
  for (const program of programs.started) program.becomesReady();
  await runtime.advance(10 * 60_000);
  instances.reply({ kind: 'instanceCommand', instanceId: 'a', command: 'restart' });
  await runtime.advance(0);
  expect(commonProcessesOf(programs).slice(6)).toEqual(['all']);
});

test('instances start in one process again after it crashed with a single job', async () => {
  const programs = await startShared();
  instances.reserve('b', { taskId: 'b' });
  const [a, b, c] = programs.started;
  const end = { kind: 'EXITED', exitCode: null, signal: 'SIGSEGV' } as const;
  a?.ends({ ...end, othersWorked: 1 });
  b?.ends({ ...end, othersWorked: 0 });
  c?.ends({ ...end, othersWorked: 1 });
  await runtime.advance(2000);
  expect(commonProcessesOf(programs).slice(3)).toEqual(['all', 'all', 'all']);
});
