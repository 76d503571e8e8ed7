/** Runs of scripts, as they record themselves: no task runs twice at the same time, unless one of its attempts was given up as lost. */
import { existsSync, readFileSync } from 'node:fs';
import { uptime } from 'node:os';
import { join } from 'node:path';

/** Time by the clock of the recorded runs, in seconds. */
export const nowS = uptime;

/** A crash of the database server may undo claims up to this time before, also of runs that begin this time after it. */
const UNDONE_CLAIM_S = 10;

interface Run {
  readonly beganS: number;
  /** Undefined when it was killed. */
  endedS?: number;
}

export function ledgerIn(folder: string): string {
  return join(folder, 'runs');
}

/** Lines of a script that record its begin and its end; `$runs` is the ledger. */
export const RECORD_BEGIN = record('begin');
export const RECORD_END = record('end');

function record(what: 'begin' | 'end'): string {
  return `read -r up idle < /proc/uptime; printf '${what} %s %s %s\\n' "$WORKBENCH_TASK_ID" "$$" "$up" >> "$runs"`;
}

/** The attempts of a task, as the store has them. */
interface RecordedAttempts {
  /** Whether one was given up as lost. */
  readonly hasLost: boolean;
}

/** Compares the runs with the attempts of the store, and adds tasks that ran twice at the same time to `twice`. `crashesS`: times at which
 *  the database server crashed. */
export function auditRuns(
  ledger: string,
  rows: ReadonlyMap<string, RecordedAttempts>,
  crashesS: readonly number[],
  twice: string[],
): void {
  for (const [taskId, runs] of readRuns(ledger)) {
    if (rows.get(taskId)?.hasLost === true) continue;
    const inOrder = [...runs.values()].sort((a, b) => a.beganS - b.beganS);
    for (const [at, { beganS, endedS = 0 }] of inOrder.entries()) {
      const next = inOrder[at + 1];
      if (!next || next.beganS >= endedS) continue;
      const isUndone = crashesS.some((crashS) => Math.abs(crashS - beganS) < UNDONE_CLAIM_S);
      if (!isUndone)
        twice.push(`${taskId}: a run from ${beganS} s to ${endedS} s, and another from ${next.beganS} s on`);
    }
  }
}

/** Runs by task and by process. */
function readRuns(ledger: string): ReadonlyMap<string, ReadonlyMap<string, Run>> {
  const tasks = new Map<string, Map<string, Run>>();
  const lines = existsSync(ledger) ? readFileSync(ledger, 'utf8').split('\n') : [];
  for (const line of lines) {
    const [what, taskId = '', pid = '', text] = line.split(' ');
    const runs = tasks.get(taskId) ?? new Map<string, Run>();
    tasks.set(taskId, runs);
    const run = runs.get(pid);
    if (what === 'begin') runs.set(pid, { beganS: Number(text) });
    else if (what === 'end' && run) run.endedS = Number(text);
  }
  return tasks;
}
