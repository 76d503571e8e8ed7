import { expect, it } from 'vitest';
import { idOfSbatch, isAboutTheController, jobOfSqueueLine } from './slurm-answers.js';

/** Lines of squeue 22.05 in the format of the driver. */
it.each([
  ['5|a|PENDING|1:40:00|PartitionTimeLimit', 'STUCK', null, 'PartitionTimeLimit'],
  ['5|a|PENDING|1:40:00|JobHeldAdmin', 'STUCK', null, 'JobHeldAdmin'],
  ['5|a|PENDING|1:40:00|JobHeldUser', 'QUEUED', null, 'JobHeldUser'],
  ['5|a|PENDING|1:40:00|launch failed requeued held', 'STUCK', null, 'launch failed requeued held'],
  ['5|a|PENDING|1:40:00|DependencyNeverSatisfied', 'STUCK', null, 'DependencyNeverSatisfied'],
  ['5|a|PENDING|1:40:00|Dependency', 'QUEUED', null, 'Dependency'],
  ['5|a|PENDING|1:40:00|QOSMaxWallDurationPerJobLimit', 'STUCK', null, 'QOSMaxWallDurationPerJobLimit'],
  ['5|a|PENDING|1:40:00|QOSMaxNodePerUserLimit', 'QUEUED', null, 'QOSMaxNodePerUserLimit'],
  ['5|a|PENDING|1:40:00|AssocMaxJobsLimit', 'QUEUED', null, 'AssocMaxJobsLimit'],
  ['5|a|PENDING|1:40:00|AssocGrpCPUMinutesLimit', 'QUEUED', null, 'AssocGrpCPUMinutesLimit'],
  ['5|a|REQUEUE_HOLD|1:40:00|job requeued in held state', 'STUCK', null, 'job requeued in held state'],
  ['5|a|RUNNING|29:58|JobHeldAdmin', 'RUNNING', 1_798_000, 'JobHeldAdmin'],
  ['5|a|CONFIGURING|10:00|None', 'QUEUED', null, null],
  ['5|a|RUNNING|29:58|None', 'RUNNING', 1_798_000, null],
  ['5|a|RUNNING|0:05|None', 'RUNNING', 5000, null],
  ['5|a|RUNNING|2:00:00|None', 'RUNNING', 7_200_000, null],
  ['5|a|RUNNING|3-01:00:01|None', 'RUNNING', 262_801_000, null],
  ['5|a|RUNNING|UNLIMITED|None', 'RUNNING', null, null],
  ['5|a|RUNNING|NOT_SET|None', 'RUNNING', null, null],
  ['5|a|RUNNING|INVALID|None', 'RUNNING', 0, null],
  ['5|a|COMPLETING|0:10|NonZeroExitCode', 'RUNNING', 10_000, 'NonZeroExitCode'],
  ['5|a|SUSPENDED|0:10|None', 'RUNNING', 10_000, null],
  ['5|a|COMPLETED|29:58|None', 'ENDED', null, 'COMPLETED'],
  ['5|a|FAILED|29:58|NonZeroExitCode', 'ENDED', null, 'FAILED: NonZeroExitCode'],
  ['5|a|TIMEOUT|INVALID|TimeLimit', 'ENDED', null, 'TIMEOUT: TimeLimit'],
  [
    '5|a|PENDING|1:00|ReqNodeNotAvail, Reserved|for maintenance',
    'QUEUED',
    null,
    'ReqNodeNotAvail, Reserved|for maintenance',
  ],
])('reads %s', (line, state, remainingMs, reason) => {
  expect(jobOfSqueueLine(line)).toEqual({ name: 'a', jobId: '5', state, remainingMs, reason });
});

it.each(['', 'slurm_load_jobs error', '5|a|NEW_STATE|0:10|None', '5|a|RUNNING|soon|None', '5|a'])(
  'does not understand %j',
  (line) => expect(jobOfSqueueLine(line)).toBeUndefined(),
);

it('finds the id among other lines, and without the name of the cluster', () => {
  expect(idOfSbatch('17\n')).toBe('17');
  expect(idOfSbatch('sbatch: you have 3 jobs\n17;west\n')).toBe('17');
  expect(idOfSbatch('Submitted batch job\n')).toBeUndefined();
});

/** Messages of sbatch 22.05. */
it('tells a controller that is away from a job that is refused', () => {
  const away = [
    'sbatch: error: Batch job submission failed: Unable to contact slurm controller (connect failure)',
    'sbatch: error: Batch job submission failed: Socket timed out on send/recv operation',
    'sbatch: error: Batch job submission failed: Zero Bytes were transmitted or received',
    'sbatch: error: Batch job submission failed: Communication connection failure',
    'sbatch: error: Batch job submission failed: Protocol authentication error',
  ];
  const refused = [
    'sbatch: error: Batch job submission failed: Invalid partition name specified',
    "sbatch: error: Batch job submission failed: Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)",
    "sbatch: unrecognized option '--bogus'",
    'allocation failure: Requested node configuration is not available',
  ];
  expect(away.filter(isAboutTheController)).toEqual(away);
  expect(refused.filter(isAboutTheController)).toEqual([]);
});
