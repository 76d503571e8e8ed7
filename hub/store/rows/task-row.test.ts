import { expect, it } from 'vitest';
import { type TaskRow, taskIdOfRow, taskOfRow } from './task-row.js';

/** Rows in the deliveries of webhooks outlive the version that wrote them. */
const OLDEST: TaskRow = [
  ...['019a', '["9*",["linux"]]', 'EXECUTE_BATCH_JOB', 'FAILED', 1, 10, 20, 30, 3, 1, 2],
  ...['sim-host', 'sim-1', '9.1.0', '4711', 'ERROR', 60, 'anna', 'Gear', '[{"type":"VERSION","value":"9*"}]'],
  ...['a script failed', 'request-7', '00-trace-span-01', 'timeLimt'],
];

it('a row is read as its task, whichever version wrote it', () => {
  expect(taskIdOfRow(OLDEST)).toBe('019a');
  expect(taskOfRow(OLDEST)).toEqual({
    id: '019a',
    requirement: { version: '9*', labels: ['linux'] },
    type: 'EXECUTE_BATCH_JOB',
    status: 'FAILED',
    priority: 'HIGH',
    requestedAtMs: 10,
    startedAtMs: 20,
    endedAtMs: 30,
    attempt: 3,
    crashes: 1,
    losses: 2,
    instance: { agentId: 'sim-host', id: 'sim-1', version: '9.1.0', revision: '4711' },
    batchExecutionStatus: 'ERROR',
    timeLimitS: 60,
    creator: 'anna',
    name: 'Gear',
    classifiers: [{ type: 'VERSION', value: '9*' }],
    message: 'a script failed',
    requestId: 'request-7',
    traceContext: '00-trace-span-01',
    ignoredFields: 'timeLimt',
    note: null,
    loan: null,
    study: null,
  });
});

it('a row without an instance is read as a task that has none', () => {
  const row = OLDEST.with(11, null).with(12, null).with(13, null).with(14, null);
  expect(taskOfRow(row).instance).toBeNull();
});
