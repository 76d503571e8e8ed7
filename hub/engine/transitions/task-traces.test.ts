import { beforeEach, expect, it } from 'vitest';
import { runningTaskWith } from '../../core/fixtures/task.js';
import type { ClaimedTask } from '../../core/ports/task-queue.js';
import type { PastSpan } from '../../core/ports/tracing.js';
import { TaskTraces } from './task-traces.js';

const TRACE = '00-trace-request-01';

const task = (attempt: number, startedAtMs: number | null, traceContext: string | null = TRACE) =>
  runningTaskWith({
    id: 'task-1',
    priority: 'HIGH',
    requestedAtMs: 1000,
    startedAtMs,
    traceContext,
    attempt,
    ...(startedAtMs === null ? { instance: null } : {}),
  });

const claimed = (attempt: number, traceContext: string | null = TRACE): ClaimedTask => ({
  ref: { taskId: 'task-1', attempt, instanceId: 'sim-1' },
  agentId: 'agent-1',
  task: task(attempt, 1, traceContext),
  job: { type: 'SIMULATE_WORK', durationS: 1 },
});

let spans: PastSpan[];
let traces: TaskTraces;
beforeEach(() => {
  spans = [];
  traces = new TaskTraces({
    contextOf: (parent, key) => `${parent} ${key}`,
    past: (span) => spans.push(span),
  });
});

const shown = () =>
  spans.map(({ name, parent, beganAtMs, endedAtMs, outcome, attributes }) => [
    name,
    parent,
    beganAtMs,
    endedAtMs,
    outcome,
    attributes['workbench.outcome'],
  ]);

it('a task that is dispatched twice waits twice, the second time from the loss on', () => {
  traces.begun(claimed(1), 1500);
  traces.released(task(1, 1500), claimed(1).ref, 'CRASH', 2000);
  traces.begun(claimed(2), 2600);
  traces.ended(task(2, 2600), claimed(2).ref, 'FINISHED', 4000);
  expect(shown()).toEqual([
    ['queue wait', TRACE, 1000, 1500, 'OK', undefined],
    ['attempt', TRACE, 1500, 2000, 'ERROR', 'CRASH'],
    ['queue wait', TRACE, 2000, 2600, 'OK', undefined],
    ['attempt', TRACE, 2600, 4000, 'OK', 'FINISHED'],
  ]);
  expect(new Set(spans.map(({ key }) => key)).size).toBe(4);
});

it('the span of an attempt has the id that its agent uses', () => {
  const told = traces.contextOf(claimed(1));
  traces.ended(task(1, 1500), claimed(1).ref, 'FAILED', 2000);
  expect(told).toBe(`${TRACE} ${spans[0]?.key}`);
});

it('a task that could not be dispatched continues to wait', () => {
  traces.dispatchFailed(claimed(1));
  traces.dispatchFailed(claimed(2));
  traces.begun(claimed(3), 3000);
  expect(shown()).toEqual([['queue wait', TRACE, 1000, 3000, 'OK', undefined]]);
});

it('a wait that began before a restart of the hub has no span', () => {
  traces.begun(claimed(2), 3000);
  expect(spans).toEqual([]);
});

it('a cancel ends the open span of the task', () => {
  traces.canceled(task(0, null), 1700);
  traces.canceled(task(1, 1500), 1800);
  expect(shown()).toEqual([
    ['queue wait', TRACE, 1000, 1700, 'ERROR', 'CANCELED'],
    ['attempt', TRACE, 1500, 1800, 'ERROR', 'CANCELED'],
  ]);
});

it('a task that is not sampled has no spans', () => {
  expect(traces.contextOf(claimed(1, null))).toBeNull();
  traces.dispatchFailed(claimed(1, null));
  traces.begun(claimed(2, null), 1500);
  traces.released(task(1, 1500, null), claimed(1).ref, 'LOSS', 2000);
  traces.ended(task(2, 2600, null), claimed(2).ref, 'FINISHED', 4000);
  traces.canceled(task(0, null, null), 1700);
  expect(spans).toEqual([]);
});

it.each([
  ['runs', { kind: 'OCCUPIED', agentId: 'agent-1', ref: claimed(2).ref } as const],
  ['has ended', { kind: 'ENDED', taskId: 'task-1' } as const],
])('the wait of a task is forgotten that %s at another hub', (_, signal) => {
  traces.released(task(1, 1500), claimed(1).ref, 'CRASH', 2000);
  if (signal.kind === 'OCCUPIED') traces.onSignal.OCCUPIED?.(signal);
  else traces.onSignal.ENDED?.(signal);
  traces.begun(claimed(2), 2600);
  expect(shown()).toEqual([['attempt', TRACE, 1500, 2000, 'ERROR', 'CRASH']]);
});
