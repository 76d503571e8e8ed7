/** Returned attempts; the tests of the whole agent cover the way to a result. */
import type { AttemptReport } from '@workbench-hub/shared/domain/attempt';
import type { BatchJob } from '@workbench-hub/shared/domain/job';
import type { SpooledReport } from '@workbench-hub/shared/joining/ports/spool';
import { NO_TRACING } from '@workbench-hub/shared/joining/ports/tracing';
import { manualRuntime } from '@workbench-hub/shared/runtime/manual-runtime';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { HostFault } from '../../core/host-fault.js';
import type { AttemptRun } from './attempt-run.js';
import { Jobs, type JobsOptions } from './jobs.js';

const REF = { taskId: '019c0000-0000-7000-8000-000000000001', attempt: 1, instanceId: 'sim-1' };
const JOB: BatchJob = {
  type: 'EXECUTE_BATCH_JOB',
  model: null,
  scripts: [],
  additionalFiles: [],
  variables: [],
};

test('an attempt that met a host fault leaves nothing in the spool, and its instance cools down first', async () => {
  const steps: string[] = [];
  const reports: AttemptReport[] = [];
  const jobs = new Jobs({
    instances: {
      reserve: () => ({
        program: {},
        lost: new AbortController().signal,
        listen: () => undefined,
        release: () => steps.push('released'),
      }),
      coolDown: () => steps.push('rests'),
    },
    reporting: {
      has: () => false,
      add: ({ report, folder }: SpooledReport) => {
        steps.push(`reported, folder ${folder}`);
        reports.push(report);
      },
    },
    batchJobs: {
      run: async (run: AttemptRun, _job: BatchJob, folder: () => Promise<unknown>) => {
        await folder();
        return { ending: run.endingOf(new HostFault('the disk is full')), outputFiles: [] };
      },
    },
    spool: {
      createFolder: async () => ({ name: 'folder', discard: async () => void steps.push('discarded') }),
    },
    runtime: manualRuntime(),
    log: pino({ level: 'silent' }),
    tracing: NO_TRACING,
    connection: () => null,
    taskLogLimitBytes: 1000,
  } as unknown as JobsOptions);
  jobs.assign({ ref: REF, job: JOB, timeLimitMs: null });
  await jobs.ended();
  expect(steps).toEqual(['discarded', 'rests', 'released', 'reported, folder null']);
  expect(reports).toMatchObject([{ outcome: 'RETURNED', hostFault: true, message: 'the disk is full' }]);
});
