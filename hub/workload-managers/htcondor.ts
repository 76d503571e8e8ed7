/** HTCondor by its commands: condor_submit, condor_q and condor_rm. */
import type { AllocationSettings, ManagerSettings } from '../core/hosts/host-recipe.js';
import { WorkloadManagerError } from '../core/ports/workload-manager.js';
import { type Driver, linesOf } from './driver.js';
import { idOfCondorSubmit, isAboutTheSchedd, JOB_ATTRIBUTES, jobsOfCondorQ } from './htcondor-answers.js';
import { type CommandEnd, complaintOf, notUnderstood, type RunCommand, unavailable } from './run-command.js';

/** Time for which a job that has ended stays in the queue, so that `condor_q` tells how. */
const KEPT_S = 600;
/** Time from the signal to end until a job is killed. */
const VACATE_S = 60;
/** Complaints of `condor_rm` when there is nothing to remove, which is no failure. */
const NOTHING_TO_REMOVE = /^Couldn't find\/remove all jobs matching constraint|no jobs in the queue/;
/** Name of the jobs of checks. */
const CHECK = 'workbench-check';

/**
 * Rule by which HTCondor removes a job: at the end of its time, when it waits again after it ran, and when HTCondor itself holds it, as one that it
 * cannot start. Jobs that people hold (1), and that were handed in so (15), stay.
 */
const REMOVED_WHEN = [
  '(JobStatus == 2 && time() - JobCurrentStartDate >= WorkbenchWallTimeS)',
  '(JobStatus == 1 && NumJobStarts > 0)',
  '(JobStatus == 5 && HoldReasonCode =!= 1 && HoldReasonCode =!= 15)',
].join(' || ');

/** The driver for HTCondor's commands. */
export function htcondor(
  manager: Extract<ManagerSettings, { readonly kind: 'htcondor' }>,
  { wallTimeMs }: AllocationSettings,
  run: RunCommand,
): Driver {
  const submit = (name: string, script: string, further: readonly string[] = []) =>
    run(['condor_submit', '-terse', '-'], {
      input: description({ name, script, wallTimeMs }, [...manager.options, ...further]),
    });
  const cancel = async (name: string) => {
    const isLive = 'JobStatus != 3 && JobStatus != 4';
    const end = await run(['condor_rm', '-constraint', `WorkbenchHost =?= "${name}" && ${isLive}`]);
    if (end.exitCode === 0) return;
    // The same complaint follows those about a schedd that is away.
    const complaints = linesOf(end.stderr || end.stdout).filter((line) => !NOTHING_TO_REMOVE.test(line));
    if (complaints.length > 0 || `${end.stderr}${end.stdout}`.trim() === '') throw unavailable(end);
  };
  return {
    async submit({ name, script }) {
      const end = await submit(name, script);
      if (end.exitCode !== 0) throw refusalOf(end);
      const id = idOfCondorSubmit(end.stdout);
      if (id === undefined) throw notUnderstood(end, 'the id of the job');
      return id;
    },
    async jobs(names) {
      const constraint = `stringListMember(WorkbenchHost, "${names.join(',')}")`;
      const attributes = JOB_ATTRIBUTES.join(',');
      const end = await run(['condor_q', '-json', '-constraint', constraint, '-attributes', attributes]);
      if (end.exitCode !== 0) throw unavailable(end);
      const jobs = jobsOfCondorQ(end.stdout);
      if (jobs === undefined) throw notUnderstood(end, 'a list of jobs in JSON');
      return jobs;
    },
    cancel,
    async check() {
      const end = await submit(CHECK, '/bin/false', ['hold = true', 'leave_in_queue = false']);
      if (end.exitCode === 0) {
        await cancel(CHECK);
        return null;
      }
      const error = refusalOf(end);
      if (error.fault === 'UNAVAILABLE') throw error;
      return complaintOf(end);
    },
  };
}

/** Description of a job for `condor_submit`. No files are transferred: the folder of the allocation is shared, and a job that says so would start only
 *  where HTCondor knows that. */
function description(
  { name, script, wallTimeMs }: { name: string; script: string; wallTimeMs: number },
  further: readonly string[],
): string {
  return [
    'universe = vanilla',
    'executable = /bin/sh',
    `arguments = "${submitWord(script)}"`,
    'transfer_executable = false',
    'should_transfer_files = YES',
    'transfer_output_files = ""',
    'initialdir = /',
    'output = /dev/null',
    'error = /dev/null',
    `batch_name = ${name}`,
    'want_graceful_removal = true',
    `job_max_vacate_time = ${VACATE_S}`,
    `leave_in_queue = time() - EnteredCurrentStatus < ${KEPT_S}`,
    ...further,
    // Last, so that an option does not change them.
    `+WorkbenchHost = "${name}"`,
    `+WorkbenchWallTimeS = ${Math.ceil(wallTimeMs / 1000)}`,
    `periodic_remove = ${REMOVED_WHEN}`,
    'queue',
    '',
  ].join('\n');
}

/** A word of the arguments in a submit description. */
function submitWord(word: string): string {
  const quoted = word
    .replaceAll("'", "''")
    .replaceAll('"', '""')
    .replaceAll('$', () => '$(DOLLAR)');
  return `'${quoted}'`;
}

function refusalOf(end: CommandEnd): WorkloadManagerError {
  if (isAboutTheSchedd(complaintOf(end))) return unavailable(end);
  return new WorkloadManagerError('REFUSED', `${end.name}: ${complaintOf(end)}`);
}
