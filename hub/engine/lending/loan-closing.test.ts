import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { type ManualRuntime, manualRuntime } from '@workbench-hub/shared/runtime/manual-runtime';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { LoanClosing } from './loan-closing.js';
import { OpenLoan } from './open-loan.js';

let runtime: ManualRuntime;
let steps: string[];
let isAway: boolean;
let closing: LoanClosing;

beforeEach(() => {
  runtime = manualRuntime();
  steps = [];
  isAway = false;
  closing = new LoanClosing({
    loans: {
      close: async (taskIds) => {
        if (isAway) throw new Error('the store is away');
        steps.push(`close ${taskIds.join()}`);
      },
    },
    transitions: {
      remove: async (taskIds) => {
        steps.push(`remove ${taskIds.join()}`);
        return taskIds.map(() => true);
      },
    },
    timers: runtime.timers,
    log: { warn: () => undefined } as unknown as Logger,
  });
});
afterEach(() => closing.stop());

function add(taskId: string, { isVoid = false } = {}): void {
  const ref = { taskId, attempt: 1, instanceId: 'sim' };
  const origin = { hub: 'https://hq.example.com', user: null };
  const kind = { hasTask: true, type: 'SIMULATE_WORK' } as const;
  const loan = new OpenLoan({ upstream: 'hq', ref, proof: null, origin }, taskId, kind);
  loan.isVoid = isVoid;
  closing.add(loan);
}

it('loans of a moment are closed together, and only void ones cost a removal', async () => {
  add('a');
  add('b');
  await runtime.advance(0);
  expect(steps).toEqual(['close a,b']);
  add('c');
  add('d', { isVoid: true });
  await runtime.advance(0);
  expect(steps).toEqual(['close a,b', 'close c,d', 'remove d']);
});

it('loans are closed again until the store has done it, with those that came meanwhile', async () => {
  isAway = true;
  add('a', { isVoid: true });
  await runtime.advance(0);
  add('b');
  await runtime.advance(0);
  expect(steps).toEqual([]);
  isAway = false;
  await runtime.advance(1000);
  expect(steps).toEqual(['close a,b', 'remove a']);
});
