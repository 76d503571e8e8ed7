import type { FileRef, Job } from '@workbench-hub/shared/domain/job';
import type { Assignment } from '@workbench-hub/shared/joining/ports/hub';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { manualRuntime } from '@workbench-hub/shared/runtime/manual-runtime';
import { beforeEach, expect, it } from 'vitest';
import { HubError } from '../../core/errors.js';
import { InputsMissing } from './loan-inputs.js';
import { LoanStarts } from './loan-starts.js';
import type { OpenLoan } from './open-loan.js';

const REF = { taskId: '019aa4f2-6d3c-7c41-9f0e-5b2f6f1d2a77', attempt: 2, instanceId: 'berlin:press' };
const SCRIPT: FileRef = { digest: 'a'.repeat(64), sizeBytes: 3 };
const JOB: Job = {
  type: 'EXECUTE_BATCH_JOB',
  model: null,
  scripts: [SCRIPT],
  additionalFiles: [],
  variables: [],
};
const ASSIGNMENT: Assignment = { ref: REF, job: JOB, timeLimitMs: null };

/** Calls of the other parts, in order. */
let told: unknown[];
/** Number of loans that the instance awaits. */
let awaited: number;
/** Outcome of fetching the inputs. */
let fetched: (loan: OpenLoan) => Promise<Job>;
let starts: LoanStarts;
let loan: OpenLoan;

beforeEach(() => {
  told = [];
  awaited = 0;
  fetched = async () => JOB;
  starts = new LoanStarts({
    files: { hold: () => ({ release: () => void told.push('released') }) as never },
    inputs: { fetch: () => fetched(loan) } as never,
    transitions: {
      create: async ({ job }) => {
        told.push(['created', job]);
        starts.enqueued(loan);
      },
    },
    scheduler: { place: async (_, instanceId) => told.push(`placed on ${instanceId}`) > 0 },
    instances: {
      idleInstance: () => ({}) as never,
      awaitLoan: () => {
        awaited++;
        return () => void awaited--;
      },
    },
    reporting: { add: () => void told.push('reported') },
    ends: {
      changed: () => void told.push('changed'),
      giveBack: async (_, message, more) => void told.push(['given back', message, more]),
    },
    onUnable: () => told.push('unable'),
    runtime: manualRuntime(),
    log: { error: () => void told.push('logged') } as unknown as Logger,
  });
  loan = starts.accept(ASSIGNMENT, 'hq', 'press') as OpenLoan;
});

it('a loan begins with a task for its instance, once its inputs are here', async () => {
  await starts.run(loan, ASSIGNMENT);
  expect(told).toEqual([['created', JOB], 'placed on press', 'released']);
});

it('the instance awaits a loan until that has begun, or failed', async () => {
  expect(awaited).toBe(1);
  fetched = async () => {
    expect(awaited).toBe(1);
    return JOB;
  };
  await starts.run(loan, ASSIGNMENT);
  expect(awaited).toBe(0);
  const failing = starts.accept(ASSIGNMENT, 'hq', 'press') as OpenLoan;
  fetched = () => Promise.reject(new InputsMissing('headquarters has no such file'));
  await starts.run(failing, ASSIGNMENT);
  expect(awaited).toBe(0);
});

it('a loan whose inputs cannot be had is given back as for a fault of the host', async () => {
  fetched = () => Promise.reject(new InputsMissing('headquarters has no such file'));
  await starts.run(loan, ASSIGNMENT);
  expect(told).toEqual([['given back', 'headquarters has no such file', { hostFault: true }], 'released']);
});

it('so is one for whose inputs this hub has no room, and it takes no others', async () => {
  fetched = () => Promise.reject(new HubError('STORAGE_FULL', 'the disk is full'));
  await starts.run(loan, ASSIGNMENT);
  expect(told).toEqual(['unable', ['given back', 'the disk is full', { hostFault: true }], 'released']);
});

it('one that meets a defect is given back, too, and the defect is logged', async () => {
  fetched = () => Promise.reject(new TypeError('not a function'));
  await starts.run(loan, ASSIGNMENT);
  expect(told.slice(0, 2)).toEqual(['logged', 'unable']);
  expect(told[2]).toMatchObject(['given back', 'not a function', {}]);
});

it.each([
  ['come', async () => JOB],
  ['are given up', () => Promise.reject(new Error('the loan is over'))],
])('a loan that is over before its inputs %s has no task and is not given back', async (_, outcome) => {
  fetched = (open) => {
    open.end();
    return outcome();
  };
  await starts.run(loan, ASSIGNMENT);
  expect(told).toEqual(['released']);
});
