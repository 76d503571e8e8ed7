import type { AttemptReport } from '@workbench-hub/shared/domain/attempt';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { manualRuntime } from '@workbench-hub/shared/runtime/manual-runtime';
import { beforeEach, expect, it } from 'vitest';
import type { Task } from '../../core/task.js';
import { LoanEnds } from './loan-ends.js';
import { OpenLoan } from './open-loan.js';

const REF = { taskId: '019aa4f2-6d3c-7c41-9f0e-5b2f6f1d2a77', attempt: 2, instanceId: 'berlin:press' };

let reports: AttemptReport[];
let canceled: Task[];
/** The task in the store; undefined when nobody may look for it. */
let stored: Partial<Task> | undefined;
let ends: LoanEnds;
/** Lets what is under way go on. */
let advance: () => Promise<void>;
let timersLeft: () => number;

beforeEach(() => {
  reports = [];
  canceled = [];
  stored = undefined;
  const runtime = manualRuntime();
  const { clock, timers } = runtime;
  advance = () => runtime.advance(0);
  timersLeft = () => runtime.pendingTimers;
  ends = new LoanEnds({
    archive: {
      find: async () => {
        if (!stored) throw new Error('there is no task to look at');
        return stored as Task;
      },
      filesOf: async () => ({ outputFiles: [], log: null }),
      formerAttempts: async () => [],
    },
    transitions: {
      cancel: async (task: Task) => {
        canceled.push(task);
        stored = { ...task, status: 'CANCELED' };
        return true;
      },
    },
    instances: { attemptOn: () => null },
    reporting: { add: ({ report }) => void reports.push(report) },
    reported: () => undefined,
    clock,
    timers,
    log: { warn: () => undefined } as unknown as Logger,
  });
});

const openLoan = (hasTask: boolean) => {
  const origin = { hub: 'https://hq.example.com', user: null };
  return new OpenLoan({ upstream: 'hq', ref: REF, proof: null, origin }, 'task', {
    hasTask,
    type: 'EXECUTE_BATCH_JOB',
  });
};

it('a loan that is canceled before it has a task is over at once, so that none is created', () => {
  const loan = openLoan(false);
  ends.cancel(loan);
  expect([loan.isOver, loan.over.aborted]).toEqual([true, true]);
  expect(reports).toMatchObject([{ ...REF, outcome: 'CANCELED' }]);
});

it('a loan that is given back for a fault of the host says so, and any other does not', async () => {
  await ends.giveBack(openLoan(false), 'the disk is full', { hostFault: true });
  await ends.giveBack(openLoan(false), 'the site takes its instance back');
  const returned = { ...REF, outcome: 'RETURNED', outputFiles: [], log: null };
  expect(reports).toEqual([
    { ...returned, message: 'the disk is full', hostFault: true },
    { ...returned, message: 'the site takes its instance back' },
  ]);
});

it('a loan of an earlier term whose instance was never claimed is ended, and its task is void', async () => {
  const loan = openLoan(true);
  const task = { id: 'task', status: 'WAITING', attempt: 0, loan: loan.loan } as Task;
  stored = task;
  ends.resume(loan, task);
  await advance();
  expect(canceled).toEqual([task]);
  expect([loan.isVoid, loan.isOver]).toEqual([true, true]);
  expect(reports).toMatchObject([{ ...REF, outcome: 'RETURNED' }]);
});

it.each([
  ['runs', { status: 'RUNNING', attempt: 1 }, { isOver: false, ended: [] }],
  ['has ended', { status: 'FINISHED', attempt: 1, message: null }, { isOver: true, ended: ['OK'] }],
  ['was lost', { status: 'WAITING', attempt: 1 }, { isOver: true, ended: ['RETURNED'] }],
] as const)('a loan of an earlier term that %s keeps its task', async (_, state, { isOver, ended }) => {
  const loan = openLoan(true);
  const task = { id: 'task', loan: loan.loan, startedAtMs: null, ...state } as Task;
  stored = task;
  ends.resume(loan, task);
  await advance();
  expect([loan.isVoid, loan.isOver]).toEqual([false, isOver]);
  expect(reports.map(({ outcome }) => outcome)).toEqual(ended);
});

it('giving a loan back ends at a stop, also while the store is away, and says nothing then', async () => {
  let isSettled = false;
  void ends.giveBack(openLoan(true), 'the site uses it itself').then(() => {
    isSettled = true;
  });
  await advance();
  expect(isSettled).toBe(false);
  ends.stop();
  await advance();
  expect([isSettled, reports, timersLeft()]).toEqual([true, [], 0]);
});
