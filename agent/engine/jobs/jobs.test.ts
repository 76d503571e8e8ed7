/** Consequences of attempts for the host and the spool; the tests of the whole agent cover the way to a result. */
import type { AttemptReport } from '@workbench-hub/shared/domain/attempt';
import type { BatchJob, Job } from '@workbench-hub/shared/domain/job';
import type { SpooledReport } from '@workbench-hub/shared/joining/ports/spool';
import { NO_TRACING } from '@workbench-hub/shared/joining/ports/tracing';
import type { Ending } from '@workbench-hub/shared/joining/reports';
import { manualRuntime } from '@workbench-hub/shared/runtime/manual-runtime';
import { pino } from 'pino';
import { beforeEach, expect, test } from 'vitest';
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

const LOG = { digest: 'a', sizeBytes: 6 };

let steps: string[];
let reports: AttemptReport[];

beforeEach(() => {
  steps = [];
  reports = [];
});

/** Runs a job to its report; `end` is what a batch job comes to. */
async function run(job: Job, end: (run: AttemptRun) => Ending, prints = ''): Promise<void> {
  const jobs = new Jobs({
    instances: {
      reserve: () => ({
        program: { simulateWork: async () => undefined },
        lost: new AbortController().signal,
        listen: () => undefined,
        release: () => steps.push('released'),
      }),
      coolDown: () => steps.push('rests'),
      hostRecovered: () => steps.push('recovered'),
    },
    reporting: {
      has: () => false,
      add: ({ report, folder }: SpooledReport) => {
        steps.push(`reported, folder ${folder}`);
        reports.push(report);
      },
    },
    batchJobs: {
      run: async (
        attempt: AttemptRun,
        _job: BatchJob,
        folder: () => Promise<unknown>,
        print: (line: string) => void,
      ) => {
        await folder();
        if (prints !== '') print(prints);
        return { ending: end(attempt), outputFiles: [] };
      },
    },
    spool: {
      createFolder: async () => ({
        name: 'folder',
        discard: async () => void steps.push('discarded'),
        begin: async () => ({
          write: async () => undefined,
          finish: async () => LOG,
          abandon: async () => void steps.push('log abandoned'),
        }),
      }),
    },
    runtime: manualRuntime(),
    log: pino({ level: 'silent' }),
    tracing: NO_TRACING,
    connection: () => null,
    taskLogLimitBytes: 1000,
  } as unknown as JobsOptions);
  jobs.assign({ ref: REF, job, timeLimitMs: null });
  await jobs.ended();
}

test('an attempt that met a host fault leaves nothing in the spool, and its instance cools down first', async () => {
  await run(JOB, (attempt) => attempt.endingOf(new HostFault('the disk is full')));
  expect(steps).toEqual(['discarded', 'rests', 'released', 'reported, folder null']);
  expect(reports).toMatchObject([{ outcome: 'RETURNED', hostFault: true, message: 'the disk is full' }]);
});

test('an attempt that met a host fault keeps its log, and one that is returned for another reason does not', async () => {
  const fault = (attempt: AttemptRun) => attempt.endingOf(new HostFault('the disk is full'));
  await run(JOB, fault, 'step 1');
  expect(steps).toEqual(['rests', 'released', 'reported, folder folder']);
  steps = [];
  await run(JOB, () => ({ outcome: 'RETURNED', message: 'lost through another' }), 'step 1');
  expect(steps).toEqual(['log abandoned', 'discarded', 'released', 'reported, folder null']);
  expect(reports.map(({ log }) => log)).toEqual([LOG, null]);
});

test('a batch job that was run to its end shows that the host has recovered; other attempts do not', async () => {
  await run(JOB, () => ({ outcome: 'OK', message: null }));
  expect(steps).toEqual(['recovered', 'released', 'reported, folder folder']);
  steps = [];
  await run(JOB, () => ({ outcome: 'FAILED', message: 'the instance refused it' }));
  expect(steps).toEqual(['released', 'reported, folder folder']);
  steps = [];
  await run({ type: 'SIMULATE_WORK', durationS: 1 }, () => ({ outcome: 'OK', message: null }));
  expect(steps).toEqual(['released', 'reported, folder null']);
  expect(reports.map(({ outcome }) => outcome)).toEqual(['OK', 'FAILED', 'OK']);
});
