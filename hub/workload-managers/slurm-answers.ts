/** Output of Slurm's commands. */
import type { ManagedJob } from '../core/ports/workload-manager.js';

/** Format of `squeue` that {@link slurmJob} reads. The reason comes last: it may have any characters. Remaining time does not depend on
 *  clocks and time zones as a time of the day does. */
export const SQUEUE_FORMAT = '%i|%j|%T|%L|%r';

/** Slurm's states of jobs. CONFIGURING waits for hosts that start; COMPLETING still has its hosts. Jobs that are stuck were put back and are held. */
const STATES: Readonly<Record<ManagedJob['state'], readonly string[]>> = {
  QUEUED: ['PENDING', 'CONFIGURING', 'REQUEUED', 'REQUEUE_FED'],
  STUCK: ['REQUEUE_HOLD', 'RESV_DEL_HOLD', 'SPECIAL_EXIT'],
  RUNNING: ['RUNNING', 'COMPLETING', 'RESIZING', 'SIGNALING', 'STAGE_OUT', 'STOPPED', 'SUSPENDED'],
  ENDED: [
    ...[
      'BOOT_FAIL',
      'CANCELLED',
      'COMPLETED',
      'DEADLINE',
      'FAILED',
      'NODE_FAIL',
      'OUT_OF_MEMORY',
      'PREEMPTED',
    ],
    ...['REVOKED', 'TIMEOUT', 'LAUNCH_FAILED', 'RECONFIG_FAIL'],
  ],
};

/** Reasons for which a job waits until somebody changes it, or the limits of the site. One that its user holds (JobHeldUser) waits on purpose. */
const STUCK_REASON = new RegExp(
  [
    '^(?:JobHeldAdmin|JobHoldMaxRequeue|BadConstraints|DependencyNeverSatisfied)$',
    '^(?:InvalidAccount|InvalidQOS|AccountNotAllowed|QOSNotAllowed|PartitionTimeLimit)$',
    // Limits of a single job only: jobs that exceed the others can start once other jobs have ended.
    '^(?:Assoc|QOS)Max\\w+Per(?:Node|Job(?:Limit)?)$',
    '^QOSMin',
    // In words, with spaces or underscores.
    '^launch[ _]failed[ _]requeued[ _]held$',
  ].join('|'),
);

/** A time as Slurm writes it: days, hours, minutes, seconds. */
const TIME = /^(?:(\d+)-)?(?:(\d+):)?(\d+):(\d+)$/;
const NO_REASON = ['', 'None', '(null)', 'N/A'];

/** Words that say what happened to a job on its way, beside its state. */
const PAST = ['LAUNCH_FAILED', 'RECONFIG_FAIL'];

/** The word that tells the state, of a state and what else holds, in Slurm's order; undefined when none does. */
export function stateWordOf(words: readonly string[]): string | undefined {
  const telling = words.filter(
    (word, at) => slurmState(word) !== undefined && (at === 0 || !PAST.includes(word)),
  );
  return telling.at(-1);
}

/** State of a job in the words of the port; undefined for a word that is not Slurm's. */
function slurmState(word: string): ManagedJob['state'] | undefined {
  return (['QUEUED', 'STUCK', 'RUNNING', 'ENDED'] as const).find((state) => STATES[state].includes(word));
}

/** The job, with the reason in Slurm's words: those of an ended job name its state, too. */
export function slurmJob(job: {
  readonly name: string;
  readonly jobId: string;
  readonly word: string;
  readonly reason: string;
  readonly remainingMs: number | null;
}): ManagedJob | undefined {
  const { name, jobId, word } = job;
  const stateOfWord = slurmState(word);
  if (stateOfWord === undefined) return undefined;
  const given = NO_REASON.includes(job.reason.trim()) ? null : job.reason.trim();
  const isStuck = stateOfWord === 'QUEUED' && STUCK_REASON.test(given ?? '');
  const state = isStuck ? 'STUCK' : stateOfWord;
  const ended = given === null ? word : `${word}: ${given}`;
  return {
    name,
    jobId,
    state,
    remainingMs: state === 'RUNNING' ? job.remainingMs : null,
    reason: state === 'ENDED' ? ended : given,
  };
}

/** The job of a line of `squeue` in {@link SQUEUE_FORMAT}; undefined for a line that is not understood. */
export function jobOfSqueueLine(line: string): ManagedJob | undefined {
  const [jobId = '', name = '', word = '', left = '', ...reason] = line.split('|');
  const remainingMs = remainingOf(left.trim());
  if (remainingMs === undefined || !/^\d/.test(jobId)) return undefined;
  return slurmJob({ name, jobId, word, reason: reason.join('|'), remainingMs });
}

/** Remaining time in milliseconds, null for none; undefined for a text that is not understood. INVALID is a time below zero. */
function remainingOf(text: string): number | null | undefined {
  if (['UNLIMITED', 'NOT_SET', 'Partition_Limit', 'N/A', ''].includes(text)) return null;
  if (text === 'INVALID') return 0;
  const [, days = '0', hours = '0', minutes, seconds] = TIME.exec(text) ?? [];
  if (minutes === undefined || seconds === undefined) return undefined;
  const hoursInAll = Number(days) * 24 + Number(hours);
  return ((hoursInAll * 60 + Number(minutes)) * 60 + Number(seconds)) * 1000;
}

/** Id that `sbatch --parsable` printed, without the name of the cluster; undefined when there is none. */
export function idOfSbatch(stdout: string): string | undefined {
  return stdout
    .split('\n')
    .map((line) => /^(\d+)(?:;\S*)?$/.exec(line.trim())?.[1])
    .findLast((id) => id !== undefined);
}

/** Whether the complaint is about the way to the controller, and not about the job. */
export function isAboutTheController(complaint: string): boolean {
  return CONTROLLER_AWAY.test(complaint);
}

const CONTROLLER_AWAY = new RegExp(
  [
    'Unable to contact slurm controller',
    'Unable to contact',
    'Socket timed out',
    'Zero Bytes were transmitted',
    'Communication connection failure',
    'Connection (?:refused|reset|timed out)',
    'connect failure',
    'Unable to establish (?:controller|configuration|control)',
    'Protocol authentication error',
    'Munge',
    'Failed to connect',
    'standby mode',
    'Slurm temporarily unable to accept job',
    'Resource temporarily unavailable',
    'Transport endpoint is not connected',
    'Could not establish a configuration source',
    'Insane message length',
    'Message (?:send|receive) failure',
    'Unexpected message received',
  ].join('|'),
);
