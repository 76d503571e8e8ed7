/** Slurm by the REST interface of slurmrestd. Files of allocations are written as for all others. */
import type { Timers } from '@workbench-hub/shared/runtime/runtime';
import type { AllocationSettings } from '../core/hosts/host-recipe.js';
import { type ManagedJob, WorkloadManagerError } from '../core/ports/workload-manager.js';
import type { Driver } from './driver.js';
import { shellWord } from './shell-words.js';
import { clockOf, errorOf, type Json, jobsOf } from './slurmrestd-answers.js';
import { type RestSettings, slurmrestdRequests, unavailable } from './slurmrestd-requests.js';

const MINUTE_MS = 60_000;
/** Complaints of Slurm about a job that has ended meanwhile. */
const ENDED_MEANWHILE = /already completing or completed|Invalid job id specified/;

/** The driver for slurmrestd. */
export function slurmrestd(
  manager: RestSettings,
  { wallTimeMs }: AllocationSettings,
  timers: Timers,
): Driver {
  const ask = slurmrestdRequests(manager, timers);

  async function list(names: readonly string[]): Promise<ManagedJob[]> {
    const answer = await ask('GET', '/jobs');
    const jobsAt = (nowMs: number | null) =>
      answer.status === 200 ? jobsOf(answer.body, new Set(names), nowMs) : undefined;
    const jobs = jobsAt(null);
    if (jobs === undefined) throw unavailable(answer, manager);
    if (jobs.every(({ state }) => state !== 'RUNNING')) return jobs;
    // Ends are times of the controller: what is left is told by its clock alone. A site may keep its statistics to administrators.
    const { status, body } = await ask('GET', '/diag');
    return jobsAt(status === 200 ? clockOf(body) : null) ?? jobs;
  }

  async function submit(name: string, script: string, further: Json): Promise<string> {
    const answer = await ask('POST', '/job/submit', (version) => ({
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
    const answer = await ask('DELETE', `/job/${jobId}`);
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
