/** Grid Engine by its commands: qsub, qstat and qdel. */
import type { AllocationSettings, ManagerSettings } from '../core/hosts/host-recipe.js';
import { type ManagedJob, WorkloadManagerError } from '../core/ports/workload-manager.js';
import type { Driver } from './driver.js';
import { errorsOfQstat, idOfQsub, isAboutTheMaster, jobsOfQstat } from './grid-engine-answers.js';
import { type CommandEnd, complaintOf, notUnderstood, type RunCommand, unavailable } from './run-command.js';
import { shellWord } from './shell-words.js';

const NO_SUCH_JOB = /does not exist/;
/** Complaint of the master about a job whose host has just vanished. It is answered all the same: the job is asked to end again while it is in the list. */
const HOST_AWAY = /unable to sync state with remote execd/;
/** Letters, digits and hyphens are a name to Grid Engine only when they do not begin with a digit. */
const PREFIX = 'wb-';
/** Bound of the list of jobs, of which each has some 600 bytes: qstat cannot be asked for jobs of certain names. */
const MAX_LIST_BYTES = 32 * 2 ** 20;

/** Lists the jobs, and then tells the time by the clock of the machine whose qstat it is: only this clock compares with times of Grid Engine. The name
 *  $user is qstat's own, for the user that it runs as: the one who hands jobs in. */
const LIST = "qstat -xml -r -u '$user' && date +%s";

/** The driver for Grid Engine's commands. It forgets jobs that have ended. */
export function gridEngine(
  manager: Extract<ManagerSettings, { readonly kind: 'slurm' | 'grid-engine' }>,
  { wallTimeMs }: AllocationSettings,
  run: RunCommand,
): Driver {
  const output = ['-terse', '-o', '/dev/null', '-j', 'y', '-wd', '/'];
  // h_rt alone: together with s_rt it was not enforced.
  const limits = ['-r', 'n', '-l', `h_rt=${Math.ceil(wallTimeMs / 1000)}`];
  const common = [...output, ...limits, '-S', '/bin/sh', ...manager.options];
  /** The jobs, of which those that are stuck have Grid Engine's own words, too. */
  const withErrors = async (jobs: readonly ManagedJob[]): Promise<readonly ManagedJob[]> => {
    const stuck = jobs.flatMap(({ state, jobId }) => (state === 'STUCK' ? [jobId] : []));
    if (stuck.length === 0) return jobs;
    // Whatever its exit code is: one of the jobs may be gone meanwhile.
    const errors = errorsOfQstat((await run(['qstat', '-j', stuck.join(',')])).stdout);
    return jobs.map((job) => {
      const error = job.state === 'STUCK' ? errors.get(job.jobId) : undefined;
      return error === undefined ? job : { ...job, reason: `${job.reason}: ${error}` };
    });
  };
  return {
    async submit({ name, script }) {
      const end = await run(['qsub', '-N', `${PREFIX}${name}`, ...common], {
        input: `exec /bin/sh ${shellWord(script)}\n`,
      });
      if (end.exitCode !== 0) throw refusalOf(end);
      const id = idOfQsub(end.stdout);
      if (id === undefined) throw notUnderstood(end, 'the id of the job');
      return id;
    },
    async jobs(names) {
      const end = await run(['sh', '-c', LIST], {
        name: 'qstat',
        // Times have no zone: they are those of the command.
        variables: { TZ: 'UTC' },
        maxOutputBytes: MAX_LIST_BYTES,
      });
      if (end.exitCode !== 0) throw unavailable(end);
      const known = new Map(names.map((name) => [`${PREFIX}${name}`, name]));
      const jobs = jobsOfQstat(end.stdout, new Set(known.keys()));
      if (jobs === undefined) throw notUnderstood(end, 'a list of jobs in XML');
      return withErrors(jobs.map((job) => ({ ...job, name: known.get(job.name) ?? job.name })));
    },
    async cancel(name) {
      const end = await run(['qdel', `${PREFIX}${name}`]);
      const said = `${end.stdout}${end.stderr}`;
      if (end.exitCode !== 0 && !NO_SUCH_JOB.test(said) && !HOST_AWAY.test(said)) throw unavailable(end);
    },
    async check() {
      const end = await run(['qsub', '-w', 'v', '-N', 'workbench-check', ...common], { input: 'exit 0\n' });
      if (end.exitCode === 0) return null;
      const error = refusalOf(end);
      if (error.fault === 'UNAVAILABLE') throw error;
      return complaintOf(end);
    },
  };
}

function refusalOf(end: CommandEnd): WorkloadManagerError {
  if (isAboutTheMaster(`${end.stderr}${end.stdout}`)) return unavailable(end);
  return new WorkloadManagerError('REFUSED', `${end.name}: ${complaintOf(end)}`);
}
