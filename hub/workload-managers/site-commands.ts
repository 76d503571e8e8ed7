/** Workload managers that the site's own commands drive. */
import type { AllocationSettings, ManagerSettings } from '../core/hosts/host-recipe.js';
import { type ManagedJob, WorkloadManagerError } from '../core/ports/workload-manager.js';
import { type Driver, linesOf } from './driver.js';
import { type CommandEnd, complaintOf, notUnderstood, type RunCommand, unavailable } from './run-command.js';

/** EX_TEMPFAIL of sysexits.h: the command does not know. */
const TEMPORARY_FAILURE_CODE = 75;
const STATES = ['QUEUED', 'STUCK', 'RUNNING', 'ENDED'] as const;
const JOB_LINE = /^(\S+) (\S+) ([A-Z]+)(?: (-|\d{1,10}))?(?: (.*))?$/;
const OTHER_JOB_LINE = /^(?=\S*\d)[\w.:[\]-]+ (\S+) (?:.* )?[A-Z]{2,}(?: |$)/;
const FORM = 'lines such as "ID NAME QUEUED|STUCK|RUNNING|ENDED [SECONDS_LEFT|-] [REASON]"';

/** The driver for the site's commands. */
export function siteCommands(
  manager: Extract<ManagerSettings, { readonly kind: 'command' }>,
  { wallTimeMs }: AllocationSettings,
  run: RunCommand,
): Driver {
  const wallTime = { WORKBENCH_WALL_TIME_S: String(Math.ceil(wallTimeMs / 1000)) };
  return {
    async submit({ name, script }) {
      const variables = { WORKBENCH_ALLOCATION: name, WORKBENCH_SCRIPT: script, ...wallTime };
      const end = await run(manager.submit, { variables });
      if (end.exitCode === TEMPORARY_FAILURE_CODE) throw unavailable(end);
      if (end.exitCode !== 0) throw new WorkloadManagerError('REFUSED', `${end.name}: ${complaintOf(end)}`);
      const id = linesOf(end.stdout).at(-1)?.trim();
      if (id === undefined || /\s/.test(id)) throw notUnderstood(end, 'the id of the job as its last line');
      return id;
    },
    async jobs(names) {
      const end = await run(manager.list, { variables: { WORKBENCH_ALLOCATIONS: names.join(' ') } });
      if (end.exitCode !== 0) throw unavailable(end);
      const lines = linesOf(end.stdout).filter((line) => !isOfOthers(line, names));
      return lines.map((line) => jobOfLine(line, end));
    },
    async cancel(name) {
      const end = await run(manager.cancel, { variables: { WORKBENCH_ALLOCATION: name } });
      if (end.exitCode !== 0) throw unavailable(end);
    },
    async check() {
      if (manager.check === null) return null;
      const end = await run(manager.check, { variables: wallTime });
      if (end.exitCode === TEMPORARY_FAILURE_CODE) throw unavailable(end);
      return end.exitCode === 0 ? null : complaintOf(end);
    },
  };
}

/** Whether a line is about a job of another name, which may have spaces, in a state that may have another word. */
function isOfOthers(line: string, names: readonly string[]): boolean {
  const [, name] = OTHER_JOB_LINE.exec(line) ?? [];
  return name !== undefined && !names.includes(name);
}

function jobOfLine(line: string, end: CommandEnd): ManagedJob {
  const [, jobId = '', name = '', stateWord, secondsLeft, reason = ''] = JOB_LINE.exec(line) ?? [];
  const state = STATES.find((each) => each === stateWord);
  if (state === undefined) throw notUnderstood({ ...end, stdout: line }, FORM);
  const isTimed = state === 'RUNNING' && secondsLeft !== undefined && secondsLeft !== '-';
  return {
    name,
    jobId,
    state,
    remainingMs: isTimed ? Number(secondsLeft) * 1000 : null,
    reason: reason.trim() === '' ? null : reason.trim(),
  };
}
