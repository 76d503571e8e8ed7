/** Slurm by its commands: sbatch, squeue and scancel. */
import type { AllocationSettings, ManagerSettings } from '../core/hosts/host-recipe.js';
import { WorkloadManagerError } from '../core/ports/workload-manager.js';
import { type Driver, linesOf } from './driver.js';
import { complaintOf, notUnderstood, type RunCommand, unavailable } from './run-command.js';
import { shellWord } from './shell-words.js';
import { idOfSbatch, isAboutTheController, jobOfSqueueLine, SQUEUE_FORMAT } from './slurm-answers.js';

const MINUTE_MS = 60_000;
/** Complaints of `scancel` about a job that ended meanwhile, which is no failure. */
const ENDED_MEANWHILE = /already completing or completed|Invalid job id specified/;

/** The driver for Slurm's commands. */
export function slurm(
  manager: Extract<ManagerSettings, { readonly kind: 'slurm' | 'grid-engine' }>,
  { wallTimeMs }: AllocationSettings,
  run: RunCommand,
): Driver {
  const common = [
    '--output=/dev/null',
    '--chdir=/',
    '--no-requeue',
    // Slurm counts whole minutes. No signal before the end: it may come a minute early, when tasks that fit still run.
    `--time=${Math.ceil(wallTimeMs / MINUTE_MS)}`,
    ...manager.options,
  ];
  return {
    async submit({ name, script }) {
      const end = await run(['sbatch', '--parsable', `--job-name=${name}`, ...common], {
        input: `#!/bin/sh\nexec /bin/sh ${shellWord(script)}\n`,
      });
      if (end.exitCode !== 0) {
        if (isAboutTheController(complaintOf(end))) throw unavailable(end);
        throw new WorkloadManagerError('REFUSED', `${end.name}: ${complaintOf(end)}`);
      }
      const id = idOfSbatch(end.stdout);
      if (id === undefined) throw notUnderstood(end, 'the id of the job');
      return id;
    },
    async jobs(names) {
      const filter = ['--states=all', `--name=${names.join(',')}`];
      const end = await run(['squeue', '--noheader', ...filter, `--format=${SQUEUE_FORMAT}`]);
      if (end.exitCode !== 0) throw unavailable(end);
      return linesOf(end.stdout).map((line) => {
        const job = jobOfSqueueLine(line);
        if (job === undefined)
          throw notUnderstood({ ...end, stdout: line }, `lines of the form ${SQUEUE_FORMAT}`);
        return job;
      });
    },
    // By name, not by id: after a crash of the controller, the id may be that of another job.
    async cancel(name) {
      const end = await run(['scancel', `--name=${name}`]);
      const complaints = linesOf(end.stderr).filter((line) => !ENDED_MEANWHILE.test(line));
      if (end.exitCode !== 0 && (complaints.length > 0 || end.stderr.trim() === '')) throw unavailable(end);
    },
    async check() {
      const end = await run(['sbatch', '--test-only', '--job-name=workbench-check', ...common], {
        input: '#!/bin/sh\nexit 0\n',
      });
      if (end.exitCode === 0) return null;
      if (isAboutTheController(complaintOf(end))) throw unavailable(end);
      return complaintOf(end);
    },
  };
}
