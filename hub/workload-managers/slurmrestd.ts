/** Slurm by the REST interface of slurmrestd. Files of allocations are written as for all others. */
import { readFile } from 'node:fs/promises';
import { messageOf } from '@workbench-hub/shared/runtime/message-of';
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import type { AllocationSettings, ManagerSettings } from '../core/hosts/host-recipe.js';
import { type ManagedJob, WorkloadManagerError } from '../core/ports/workload-manager.js';
import type { Driver } from './driver.js';
import { shellWord } from './shell-words.js';
import { errorOf, isObject, type Json, jobsOf, versionOf } from './slurmrestd-answers.js';

const TIME_LIMIT_MS = 15_000;
/** slurmrestd lists all jobs of the cluster, some 3 KB each. */
const MAX_ANSWER_BYTES = 256 * 2 ** 20;
const MINUTE_MS = 60_000;
/** What Slurm says of a job that has ended meanwhile. */
const ENDED_MEANWHILE = /already completing or completed|Invalid job id specified/;

type RestSettings = Extract<ManagerSettings, { readonly kind: 'slurmrestd' }>;

interface Answer {
  readonly status: number;
  readonly body: Json;
  /** The request, for messages. */
  readonly asked: string;
}

/** The driver for slurmrestd. The token is read for each request: it is short-lived, and the site renews it. */
export function slurmrestd(
  manager: RestSettings,
  { wallTimeMs }: AllocationSettings,
  { clock, timers }: Pick<Runtime, 'clock' | 'timers'>,
): Driver {
  let known: number | undefined;

  async function ask(method: string, path: string, body?: Json): Promise<Answer> {
    const asked = `${method} ${path} of slurmrestd at ${manager.url}`;
    const token = await tokenOf(manager);
    const limit = new AbortController();
    const timer = timers.after(TIME_LIMIT_MS, () =>
      limit.abort(new Error(`there was no answer within ${TIME_LIMIT_MS / 1000} s`)),
    );
    try {
      const response = await fetch(`${manager.url.replace(/\/+$/, '')}${path}`, {
        method,
        headers: {
          'X-SLURM-USER-NAME': manager.user,
          'X-SLURM-USER-TOKEN': token,
          ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        redirect: 'error',
        signal: limit.signal,
      });
      return { asked, status: response.status, body: parsed(await textOf(response)) };
    } catch (error) {
      const { cause } = error as Error;
      const reason = cause === undefined ? messageOf(error) : messageOf(cause);
      throw failed(`${asked} failed: ${reason}`, error);
    } finally {
      timer.cancel();
    }
  }

  /** Asks by the version that both sides know; after an upgrade, that may be another one. */
  async function askSlurm(method: string, path: string, body?: (version: number) => Json): Promise<Answer> {
    for (let isFirst = true; ; isFirst = false) {
      known ??= await newestVersion();
      const answer = await ask(method, `/slurm/v0.0.${known}${path}`, body?.(known));
      if (answer.status !== 404 || !isFirst || Object.keys(answer.body).length > 0) return answer;
      known = undefined;
    }
  }

  async function newestVersion(): Promise<number> {
    const answer = await ask('GET', '/openapi/v3');
    if (answer.status !== 200) throw unavailable(answer, manager);
    const version = versionOf(answer.body);
    if (version !== undefined) return version;
    const known = 'the hub knows the versions 0.0.38 to 0.0.43 of its interface, and it offers none of them';
    throw new WorkloadManagerError('UNAVAILABLE', `${answer.asked}: ${known}`);
  }

  async function list(names: readonly string[]): Promise<ManagedJob[]> {
    const answer = await askSlurm('GET', '/jobs');
    const jobs = answer.status === 200 ? jobsOf(answer.body, new Set(names), clock.nowMs()) : undefined;
    if (jobs === undefined) throw unavailable(answer, manager);
    return jobs;
  }

  async function submit(name: string, script: string, further: Json): Promise<string> {
    const answer = await askSlurm('POST', '/job/submit', (version) => ({
      script,
      job: { ...jobOf(name, wallTimeMs, version), ...manager.options, ...further },
    }));
    const id = answer.body['job_id'];
    // Errors may come with a job that was taken, such as that it is held.
    if (answer.status === 200 && typeof id === 'number' && id > 0) return String(id);
    const error = errorOf(answer.body);
    if (error?.isAboutTheJob) throw new WorkloadManagerError('REFUSED', `${answer.asked}: ${error.words}`);
    throw unavailable(answer, manager);
  }

  async function end(jobId: string): Promise<void> {
    const answer = await askSlurm('DELETE', `/job/${jobId}`);
    if (answer.status === 200 || ENDED_MEANWHILE.test(errorOf(answer.body)?.words ?? '')) return;
    throw unavailable(answer, manager);
  }

  return {
    submit: ({ name, script }) => submit(name, `#!/bin/sh\nexec /bin/sh ${shellWord(script)}\n`, {}),
    jobs: list,
    // The ids were read just now with their names: they are of these jobs.
    async cancel(name) {
      for (const { jobId, state } of await list([name])) if (state !== 'ENDED') await end(jobId);
    },
    // slurmrestd has no request that only tries: a job that is held never runs.
    async check() {
      try {
        await end(await submit('workbench-check', '#!/bin/sh\nexit 0\n', { hold: true }));
        return null;
      } catch (error) {
        if (error instanceof WorkloadManagerError && error.fault === 'REFUSED') return error.message;
        throw error;
      }
    },
  };
}

function jobOf(name: string, wallTimeMs: number, version: number): Json {
  const path = '/usr/local/bin:/usr/bin:/bin';
  return {
    name,
    time_limit: Math.ceil(wallTimeMs / MINUTE_MS),
    current_working_directory: '/',
    standard_output: '/dev/null',
    requeue: false,
    environment: version === 38 ? { PATH: path } : [`PATH=${path}`],
  };
}

async function tokenOf({ tokenFile }: RestSettings): Promise<string> {
  try {
    // As scontrol prints it, or the token alone.
    const token = (await readFile(tokenFile, 'utf8')).trim().replace(/^SLURM_JWT=/, '');
    if (token !== '' && !/\s/.test(token)) return token;
  } catch (error) {
    throw failed(`the token for slurmrestd cannot be read: ${messageOf(error)}`, error);
  }
  throw new WorkloadManagerError(
    'UNAVAILABLE',
    `the file ${tokenFile} must have one token for slurmrestd, as "scontrol token" prints it`,
  );
}

async function textOf(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let sizeBytes = 0;
  for await (const chunk of response.body ?? []) {
    sizeBytes += chunk.length;
    if (sizeBytes > MAX_ANSWER_BYTES) throw new Error(`the answer has more than ${MAX_ANSWER_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** The answer; without members when it is not an object in JSON. */
function parsed(text: string): Json {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : {};
  } catch {
    return {}; // Faults such as 401 come as plain text; their status says it.
  }
}

function failed(message: string, cause: unknown): WorkloadManagerError {
  return new WorkloadManagerError('UNAVAILABLE', message, { cause });
}

function unavailable(
  { asked, status, body }: Answer,
  { user, tokenFile }: RestSettings,
): WorkloadManagerError {
  const words = errorOf(body)?.words ?? '';
  // An invalid token and a controller that is away look alike: 500, and no reason.
  const advice =
    status === 401 || words === '' || /authentication|unable to load|Failed while looking/i.test(words)
      ? `; look whether slurmctld runs, and whether ${tokenFile} has a valid token of ${user} (scontrol token username=${user})`
      : '';
  return new WorkloadManagerError(
    'UNAVAILABLE',
    `${asked} was answered with ${status}${words === '' ? '' : `: ${words}`}${advice}`,
  );
}
