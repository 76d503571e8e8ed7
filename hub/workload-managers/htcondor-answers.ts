/** Output of HTCondor's commands. */
import type { ManagedJob } from '../core/ports/workload-manager.js';

/** Attributes of a job that {@link jobsOfCondorQ} reads. Times are in seconds since 1970. */
export const JOB_ATTRIBUTES = [
  'ClusterId',
  'ProcId',
  'WorkbenchHost',
  'WorkbenchWallTimeS',
  'JobStatus',
  'RemoteHost',
  'JobCurrentStartDate',
  'ServerTime',
  'HoldReason',
  'HoldReasonCode',
  'LastHoldReason',
  'RemoveReason',
  'ExitCode',
  'ExitSignal',
] as const;

type Attributes = Readonly<Record<(typeof JOB_ATTRIBUTES)[number], unknown>>;

/** States of jobs by number. */
const IDLE = 1;
const RUNNING = 2;
const REMOVED = 3;
const COMPLETED = 4;
const HELD = 5;
const TRANSFERRING_OUTPUT = 6;
const SUSPENDED = 7;
/** Codes of holds by people: of a job that waits, and of one that was handed in so. */
const HELD_BY_PEOPLE: readonly unknown[] = [1, 15];

/** Jobs from the answer of `condor_q -json`, which is empty without any; undefined for an answer that is not understood. */
export function jobsOfCondorQ(stdout: string): ManagedJob[] | undefined {
  if (stdout.trim() === '') return [];
  let rows: unknown;
  try {
    rows = JSON.parse(stdout);
  } catch {
    return undefined;
  }
  if (!Array.isArray(rows)) return undefined;
  const jobs = rows.map(jobOf);
  return jobs.every((job) => job !== undefined) ? jobs : undefined;
}

function jobOf(row: Attributes | null): ManagedJob | undefined {
  const { ClusterId: cluster, ProcId: proc, WorkbenchHost: name } = row ?? {};
  if (row === null || typeof name !== 'string' || !Number.isInteger(cluster) || !Number.isInteger(proc))
    return undefined;
  const state = stateOf(row);
  if (state === undefined) return undefined;
  return {
    ...{ name, jobId: `${cluster}.${proc}`, state },
    remainingMs: state === 'RUNNING' ? remainingOf(row) : null,
    reason: reasonOf(state, row),
  };
}

/** State of a job; undefined for a number that is not HTCondor's. A job that was removed has its host until it has ended there. */
function stateOf({
  JobStatus: status,
  RemoteHost: remoteHost,
  HoldReasonCode: code,
}: Attributes): ManagedJob['state'] | undefined {
  switch (status) {
    case IDLE:
      return 'QUEUED';
    case HELD:
      return code === undefined || HELD_BY_PEOPLE.includes(code) ? 'QUEUED' : 'STUCK';
    case RUNNING:
    case TRANSFERRING_OUTPUT:
    case SUSPENDED:
      return 'RUNNING';
    case REMOVED:
    case COMPLETED:
      return remoteHost === undefined ? 'ENDED' : 'RUNNING';
    default:
      return undefined;
  }
}

/** Remaining time by the clock of HTCondor alone. */
function remainingOf({
  WorkbenchWallTimeS: wallTimeS,
  JobCurrentStartDate: startedAtS,
  ServerTime: nowS,
}: Attributes): number | null {
  if (typeof wallTimeS !== 'number' || typeof startedAtS !== 'number' || typeof nowS !== 'number')
    return null;
  return Math.max(0, startedAtS + wallTimeS - nowS) * 1000;
}

function reasonOf(state: ManagedJob['state'], row: Attributes): string | null {
  const { JobStatus: status, HoldReason: held, LastHoldReason: wasHeld } = row;
  if (status === HELD) return `it is held: ${wordsOf(held) ?? 'HTCondor gives no reason'}`;
  if (status === SUSPENDED) return 'it is suspended';
  if (state !== 'ENDED') return null;
  if (status === COMPLETED)
    return row.ExitSignal === undefined ? `exit code ${row.ExitCode}` : `ended by signal ${row.ExitSignal}`;
  const hold = wordsOf(held) ?? wordsOf(wasHeld);
  if (hold !== null) return `it was held: ${hold}`;
  const removal = wordsOf(row.RemoveReason);
  return removal?.includes('PeriodicRemove') ? endByRule(row) : (removal ?? 'it was removed');
}

/** Reason why the rule of the job, by which HTCondor removes it, held. */
function endByRule(row: Attributes): string {
  const isAtEnd = row.ExitCode !== undefined || row.ExitSignal !== undefined;
  return isAtEnd ? 'its wall time was over' : 'it was put back into the queue';
}

function wordsOf(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}

/** Id that `condor_submit -terse` printed, a range of one; undefined when there is none. */
export function idOfCondorSubmit(stdout: string): string | undefined {
  return stdout
    .split('\n')
    .map((line) => /^(\d+\.\d+) - \1$/.exec(line.trim())?.[1])
    .findLast((id) => id !== undefined);
}

/** Whether the complaint is about the way to the schedd, and not about the job. */
export function isAboutTheSchedd(complaint: string): boolean {
  return SCHEDD_AWAY.test(complaint);
}

const SCHEDD_AWAY = new RegExp(
  [
    'Failed to connect to',
    "Can't find address",
    'Unable to locate',
    'Failed to fetch ads',
    'SECMAN:',
    'AUTHENTICATE:',
    'CEDAR:',
    'DAEMON:',
    'communication error',
    'timed out',
    'Could not (?:find|locate|connect)',
    'CONDOR_CONFIG',
    'config source',
  ].join('|'),
  'i',
);
