import type { TaskDetails } from '@workbench-hub/client';
import { expect, it } from 'vitest';
import { lifeOf } from './life.js';

const at = (minute: number) => `2026-11-21T06:${String(minute).padStart(2, '0')}:00.000+01:00`;
const instance = { id: 'sim-1', version: '9.1.0', revision: '' };

function taskOf(part: Partial<TaskDetails>): TaskDetails {
  return { requestedAt: at(0), status: 'WAITING', attempts: [], ...part } as TaskDetails;
}

it('waits from its request on', () => {
  expect(lifeOf(taskOf({}))).toEqual([{ key: 'waits', kind: 'waiting', from: at(0), to: undefined }]);
});

it('waits no longer than to its cancel', () => {
  expect(lifeOf(taskOf({ status: 'CANCELED', endedAt: at(3) }))).toMatchObject([{ from: at(0), to: at(3) }]);
});

it('waits before each attempt, and again after a lost one', () => {
  const crash = { attempt: 1, instance, startedAt: at(1), endedAt: at(4), outcome: 'CRASH' } as const;
  const second = { attempt: 2, instance, startedAt: at(5), outcome: 'RUNNING' } as const;
  const kinds = (task: TaskDetails) => lifeOf(task).map(({ kind, from, to }) => [kind, from, to]);
  expect(kinds(taskOf({ attempts: [crash] }))).toEqual([
    ['waiting', at(0), at(1)],
    ['CRASH', at(1), at(4)],
    ['waiting', at(4), undefined],
  ]);
  expect(kinds(taskOf({ status: 'RUNNING', attempts: [crash, second] }))).toEqual([
    ['waiting', at(0), at(1)],
    ['CRASH', at(1), at(4)],
    ['waiting', at(4), at(5)],
    ['RUNNING', at(5), undefined],
  ]);
});

it('ends with its last attempt', () => {
  const only = { attempt: 1, instance, startedAt: at(1), endedAt: at(2), outcome: 'FINISHED' } as const;
  expect(lifeOf(taskOf({ status: 'FINISHED', endedAt: at(2), attempts: [only] }))).toHaveLength(2);
});
