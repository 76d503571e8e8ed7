/** Answers of slurmrestd, in the versions 0.0.38 to 0.0.43 of its interface. */
import type { ManagedJob } from '../core/ports/workload-manager.js';
import { isAboutTheController, slurmJob, stateWordOf } from './slurm-answers.js';

const FIRST_VERSION = 38;
const LAST_VERSION = 43;
const SUBMIT_PATH = /^\/slurm\/v0\.0\.(\d+)\/job\/submit$/;
/** Numbers of Slurm's errors about a job, and about the form of a request; others are about the way to the controller, or about rights. */
const JOB_ERRORS = { first: 2000, last: 4999 };
const FORM_ERRORS = { first: 9000, last: 9999 };

export type Json = Readonly<Record<string, unknown>>;

/** Newest version of the interface that both sides know, such as 38, from its description; undefined when there is none. */
export function versionOf(description: Json): number | undefined {
  const paths = isObject(description['paths']) ? Object.keys(description['paths']) : [];
  const versions = paths.map((path) => Number(SUBMIT_PATH.exec(path)?.[1]));
  return versions
    .filter((each) => each >= FIRST_VERSION && each <= LAST_VERSION)
    .toSorted((a, b) => b - a)[0];
}

/** Failure in Slurm's words, and whether the job is its cause; undefined without one. */
export function errorOf(
  answer: Json,
): { readonly words: string; readonly isAboutTheJob: boolean } | undefined {
  const errors = Array.isArray(answer['errors']) ? answer['errors'].filter(isObject) : [];
  if (errors.length === 0) return undefined;
  const words = errors
    .flatMap(({ error, description }) => [error, description])
    .filter((each) => typeof each === 'string' && each !== '' && each !== 'Unspecified error')
    .join('; ');
  const numbers = errors.map((each) => Number(each['error_number'] ?? each['error_code'] ?? 0));
  const isOfJob = (number: number) =>
    [JOB_ERRORS, FORM_ERRORS].some(({ first, last }) => number >= first && number <= last);
  return { words, isAboutTheJob: numbers.some(isOfJob) && !isAboutTheController(words) };
}

/** Time of the controller's clock, from its statistics; null when they do not tell it. */
export function clockOf({ statistics }: Json): number | null {
  const timeS = isObject(statistics) ? numberOf(statistics['req_time']) : null;
  return timeS === null || timeS <= 0 ? null : timeS * 1000;
}

/** The jobs of these names; undefined for an answer that is not understood. `nowMs` is the time of the controller's clock; null when it is not
 *  known, and then no job has a remaining time. */
export function jobsOf(
  answer: Json,
  names: ReadonlySet<string>,
  nowMs: number | null,
): ManagedJob[] | undefined {
  const { jobs } = answer;
  if (!Array.isArray(jobs)) return undefined;
  const found: ManagedJob[] = [];
  for (const row of jobs) {
    if (!isObject(row) || typeof row['name'] !== 'string') return undefined;
    if (!names.has(row['name'])) continue;
    const job = jobOf(row, row['name'], nowMs);
    if (job === undefined) return undefined;
    found.push(job);
  }
  return found;
}

function jobOf(row: Json, name: string, nowMs: number | null): ManagedJob | undefined {
  // A list since version 0.0.40: the state, and then what else holds, such as COMPLETING or POWER_UP_NODE.
  const states: unknown[] = Array.isArray(row['job_state']) ? row['job_state'] : [row['job_state']];
  const word = stateWordOf(states.filter((each) => typeof each === 'string'));
  const jobId = row['job_id'];
  if (word === undefined || typeof jobId !== 'number') return undefined;
  // The end of a job that has only its epilog left is that of its work, which says nothing of its time.
  const hasTime = word !== 'COMPLETING' && numberOf(row['time_limit']) !== null;
  const endS = hasTime ? numberOf(row['end_time']) : null;
  return slurmJob({
    ...{ name, word },
    jobId: String(jobId),
    reason: typeof row['state_reason'] === 'string' ? row['state_reason'] : '',
    remainingMs: endS === null || endS === 0 || nowMs === null ? null : Math.max(0, endS * 1000 - nowMs),
  });
}

/** A number as Slurm writes it; null for one that is infinite or not set. Since version 0.0.39 it is an object. */
function numberOf(value: unknown): number | null {
  if (typeof value === 'number') return value;
  if (!isObject(value) || value['set'] !== true || value['infinite'] === true) return null;
  return typeof value['number'] === 'number' ? value['number'] : null;
}

export function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
