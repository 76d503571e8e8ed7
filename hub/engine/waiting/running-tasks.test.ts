import { expect, it } from 'vitest';
import { runningTaskWith } from '../../core/fixtures/task.js';
import type { InstanceView } from '../../core/ports/nodes.js';
import { RunTimeBook } from '../../core/run-times.js';
import { RunningTasks } from './running-tasks.js';

let monotonicMs = 0;
const clock = { monotonicMs: () => monotonicMs };

const EXPECTED = { lowMs: 1000, medianMs: 2000, highMs: 3000, count: 9 };

const working = (id: string): InstanceView => ({
  profile: { id, version: '9', revision: '', labels: [] },
  agentId: 'agent',
  status: 'UP',
  startedAtMs: 0,
  working: true,
  drain: null,
});

const task = (id: string, timeLimitS: number | null = null) =>
  runningTaskWith({
    id,
    requestedAtMs: 0,
    startedAtMs: 0,
    timeLimitS,
    instance: { id: `on-${id}`, version: '9', revision: '', agentId: 'agent' },
  });

it('tasks that started before a restart of the hub are looked up in the store', async () => {
  const asked: string[] = [];
  const runningOn = async (agentId: string) => {
    asked.push(agentId);
    return [task('endless'), task('limited', 4)];
  };
  const running = new RunningTasks({ queue: { runningOn }, runTimes: new RunTimeBook(), clock });
  const views = [working('on-endless'), working('on-limited'), working('on-canceled')];
  expect([...(await running.unforeseeable(views, EXPECTED, 500))]).toEqual(['on-endless', 'on-limited']);
  expect([...(await running.unforeseeable(views, EXPECTED, 1000))]).toEqual(['on-endless']);
  expect(asked).toEqual(['agent', 'agent']);
});

it('tasks that started since are known without the store until they end', async () => {
  const runningOn = () => Promise.reject(new Error('the store was asked'));
  const running = new RunningTasks({ queue: { runningOn }, runTimes: new RunTimeBook(), clock });
  const ref = { taskId: 'new', attempt: 1, instanceId: 'on-new' };
  running.onTask.STARTED?.({ type: 'STARTED', ref, agentId: 'agent', task: task('new'), startedAtMs: 0 });
  expect([...(await running.unforeseeable([working('on-new')], EXPECTED, 500))]).toEqual(['on-new']);
  running.onTask.CANCELED?.({ type: 'CANCELED', task: task('new'), canceledAtMs: 600 });
  await expect(running.unforeseeable([working('on-new')], EXPECTED, 700)).rejects.toThrow('was asked');
});

it('the end of a task is estimated until it has run longer than similar ones did', async () => {
  const runTimes = new RunTimeBook();
  for (let run = 0; run < 5; run++) runTimes.add('SIMULATE_WORK [null,[]]', 5000);
  const running = new RunningTasks({
    queue: { runningOn: async () => [task('usual')] },
    runTimes,
    clock,
  });
  const views = [working('on-usual')];
  expect((await running.unforeseeable(views, EXPECTED, 5000)).size).toBe(0);
  expect((await running.unforeseeable(views, EXPECTED, 5001)).size).toBe(1);
});

it('the run time of a task that was seen to start does not depend on the wall clock', () => {
  const running = new RunningTasks({
    queue: { runningOn: async () => [] },
    runTimes: new RunTimeBook(),
    clock,
  });
  const ref = { taskId: 'new', attempt: 1, instanceId: 'on-new' };
  monotonicMs = 1000;
  running.onTask.STARTED?.({ type: 'STARTED', ref, agentId: 'agent', task: task('new'), startedAtMs: 9e9 });
  monotonicMs = 3500;
  expect(running.runTimeMs(ref)).toBe(2500);
  expect(running.runTimeMs({ ...ref, taskId: 'earlier' })).toBeNull();
  expect(running.runTimeMs({ ...ref, instanceId: 'on-earlier' })).toBeNull();
});

it('the start of a task is forgotten when it ends or returns at another hub, or is found not to run', () => {
  const running = new RunningTasks({
    queue: { runningOn: async () => [] },
    runTimes: new RunTimeBook(),
    clock,
  });
  const refs = ['ended', 'returned', 'gone', 'kept'].map((id) => ({
    ...{ taskId: id, attempt: 1, instanceId: `on-${id}` },
  }));
  for (const ref of refs)
    running.onTask.STARTED?.({
      ...{ type: 'STARTED', ref, agentId: 'agent', task: task(ref.taskId), startedAtMs: 0 },
    });
  const known = () => refs.filter((ref) => running.runTimeMs(ref) !== null).map(({ taskId }) => taskId);
  expect(known()).toEqual(['ended', 'returned', 'gone', 'kept']);
  running.onSignal.ENDED?.({ kind: 'ENDED', taskId: 'ended' });
  running.onSignal.RETURNED?.({ kind: 'RETURNED', taskId: 'returned' });
  expect(known()).toEqual(['gone', 'kept']);
  running.compare(refs.slice(3).map((ref) => ({ agentId: 'agent', ref })));
  expect(known()).toEqual(['kept']);
});

it('the start of a task is forgotten when another one starts on its instance, or it starts on another instance', () => {
  const running = new RunningTasks({
    queue: { runningOn: async () => [] },
    runTimes: new RunTimeBook(),
    clock,
  });
  const start = (taskId: string, instanceId: string) => {
    const ref = { taskId, attempt: 1, instanceId };
    running.onTask.STARTED?.({ type: 'STARTED', ref, agentId: 'agent', task: task(taskId), startedAtMs: 0 });
    return ref;
  };
  const [first, second] = [start('first', 'sim-1'), start('second', 'sim-1')];
  running.onSignal.ENDED?.({ kind: 'ENDED', taskId: 'first' });
  expect([first, second].map((ref) => running.runTimeMs(ref) !== null)).toEqual([false, true]);
  const moved = start('second', 'sim-2');
  expect([second, moved].map((ref) => running.runTimeMs(ref) !== null)).toEqual([false, true]);
});
