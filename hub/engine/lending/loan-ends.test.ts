import type { AttemptReport } from '@workbench-hub/shared/domain/attempt';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { manualRuntime } from '@workbench-hub/shared/runtime/manual-runtime';
import { expect, it } from 'vitest';
import type { Task } from '../../core/task.js';
import { LoanEnds } from './loan-ends.js';
import { OpenLoan } from './open-loan.js';

it('a loan that is canceled before it has a task is over at once, so that none is created', () => {
  const reports: AttemptReport[] = [];
  const { clock, timers } = manualRuntime();
  const ends = new LoanEnds({
    archive: {
      find: () => Promise.reject(new Error('there is no task to look at')),
      filesOf: async () => ({ outputFiles: [], log: null }),
      formerAttempts: async () => [],
    },
    transitions: { cancel: async (_: Task) => true },
    instances: { attemptOn: () => null },
    reporting: { add: ({ report }) => void reports.push(report) },
    clock,
    timers,
    log: { warn: () => undefined } as unknown as Logger,
  });
  const ref = { taskId: '019aa4f2-6d3c-7c41-9f0e-5b2f6f1d2a77', attempt: 2, instanceId: 'berlin:press' };
  const origin = { hub: 'https://hq.example.com', user: null };
  const loan = new OpenLoan({ upstream: 'hq', ref, proof: null, origin }, 'task', {
    hasTask: false,
    type: 'EXECUTE_BATCH_JOB',
  });
  ends.cancel(loan);
  expect([loan.isOver, loan.over.aborted]).toEqual([true, true]);
  expect(reports).toMatchObject([{ ...ref, outcome: 'CANCELED' }]);
});
