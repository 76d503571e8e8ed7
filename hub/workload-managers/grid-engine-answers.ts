/** Output of Grid Engine's commands. */
import type { ManagedJob } from '../core/ports/workload-manager.js';

const JOB = /<job_list\b[^>]*>([\s\S]*?)<\/job_list>/g;
const HARD_RUN_TIME = /<hard_request name="h_rt"[^>]*>\s*([^<\s]+)\s*<\/hard_request>/;
/** Length of the end of an answer, which is long. */
const END_LENGTH = 200;
const ENTITIES: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" };
/** States of `qstat`: letters, of which several may hold. */
const RUNNING = /[rRtsST]/;
const REASONS: readonly (readonly [letters: RegExp, reason: string])[] = [
  [/E/, 'Grid Engine could not start it (state Eqw)'],
  [/h/, 'it is held'],
  [/d/, 'it is being deleted'],
  [/[sST]/, 'it is suspended'],
];

/** End of the list, and the time after it, in seconds since 1970. */
const END = /<\/job_info>\s*(\d+)\s*$/;

/**
 * Jobs of the names, from the answer of `qstat -xml -r` with times in UTC, and the time of the same clock after it. Undefined for an answer that is
 * not understood. The other formats of `qstat` truncate names.
 */
export function jobsOfQstat(xml: string, names: ReadonlySet<string>): ManagedJob[] | undefined {
  const nowS = END.exec(xml.slice(-END_LENGTH))?.[1];
  if (!/<job_info\b/.test(xml) || nowS === undefined) return undefined;
  const nowMs = Number(nowS) * 1000;
  const jobs: ManagedJob[] = [];
  for (const [, text = ''] of xml.matchAll(JOB)) {
    const name = element(text, 'full_job_name') ?? element(text, 'JB_name');
    if (name === undefined) return undefined;
    if (!names.has(name)) continue;
    const job = jobOf(text, name, nowMs);
    if (job === undefined) return undefined;
    jobs.push(job);
  }
  return jobs;
}

function jobOf(text: string, name: string, nowMs: number): ManagedJob | undefined {
  const jobId = element(text, 'JB_job_number');
  const letters = element(text, 'state');
  if (jobId === undefined || letters === undefined || letters === '') return undefined;
  const isRunning = RUNNING.test(letters) && !letters.includes('q');
  const waits = letters.includes('E') ? 'STUCK' : 'QUEUED';
  const reason = REASONS.find(([pattern]) => pattern.test(letters))?.[1] ?? null;
  return {
    ...{ name, jobId, reason },
    state: isRunning ? 'RUNNING' : waits,
    remainingMs: isRunning ? remainingOf(text, nowMs) : null,
  };
}

function remainingOf(text: string, nowMs: number): number | null {
  const startedMs = Date.parse(`${element(text, 'JAT_start_time')}Z`);
  const wallTimeMs = durationOf(HARD_RUN_TIME.exec(text)?.[1] ?? '');
  return Number.isNaN(startedMs) || wallTimeMs === null ? null : Math.max(0, startedMs + wallTimeMs - nowMs);
}

/** A duration as Grid Engine writes it: seconds, or hours, minutes and seconds. Null for one without an end. */
function durationOf(text: string): number | null {
  const parts = text.split(':').map(Number);
  if (text === '' || parts.some((part) => !Number.isFinite(part))) return null;
  return parts.reduce((seconds, part) => seconds * 60 + part, 0) * 1000;
}

function element(text: string, name: string): string | undefined {
  const content = new RegExp(`<${name}>([^<]*)</${name}>`).exec(text)?.[1];
  return content
    ?.trim()
    .replace(/&(lt|gt|amp|quot|apos);/g, (all, entity: string) => ENTITIES[entity] ?? all);
}

/** Id that `qsub -terse` printed; undefined when there is none. */
export function idOfQsub(stdout: string): string | undefined {
  return stdout
    .split('\n')
    .map((line) => /^(\d+)$/.exec(line.trim())?.[1])
    .findLast((id) => id !== undefined);
}

/** Why jobs could not be started, by id, from the answer of `qstat -j`; without those of which it does not say. */
export function errorsOfQstat(stdout: string): ReadonlyMap<string, string> {
  const errors = new Map<string, string>();
  for (const part of stdout.split(/^(?=job_number:)/m)) {
    const id = /^job_number:\s+(\d+)/.exec(part)?.[1];
    const error = /^error reason\s+\d+:\s+(\S.*)$/m.exec(part)?.[1]?.trim();
    if (id !== undefined && error !== undefined) errors.set(id, error);
  }
  return errors;
}

/** Whether the complaint is about the way to the master, and not about the job. */
export function isAboutTheMaster(complaint: string): boolean {
  return /commlib error|unable to (?:contact|send message to) qmaster|failed receiving|got no connection|not reachable|cell directory|SGE_ROOT/i.test(
    complaint,
  );
}
