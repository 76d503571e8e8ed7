/** Audit of a run on Slurm: each task as the hub tells it, and the jobs as Slurm tells them. */
import { readFileSync } from 'node:fs';
import type { SlurmLoad, Submitted } from './slurm-load.js';

export interface SlurmFindings {
  /** Attempts that were returned at the end of their hosts. */
  returned: number;
  /** Attempts that were lost. */
  losses: number;
  /** Start of the first task of each agent that ended a task; milliseconds since 1970. */
  readonly firstStartMs: Map<string, number>;
  readonly wrong: string[];
}

interface TaskBody {
  readonly status: string;
  readonly message?: string;
  readonly startedAt?: string;
  readonly instance?: { readonly agentId?: string };
  readonly attempts: readonly {
    readonly attempt: number;
    readonly outcome: string;
    readonly reason?: string;
  }[];
}

/** Looks at each task: it has finished, its script has come to its end, more than once only after a loss, and no attempt was cut by an end that was
 *  known to be too near. */
export async function auditTasks(load: SlurmLoad, ledger: string): Promise<SlurmFindings> {
  const ends = new Map<number, number>();
  for (const line of readFileSync(ledger, 'utf8').split('\n').filter(Boolean))
    ends.set(Number(line), (ends.get(Number(line)) ?? 0) + 1);
  const findings: SlurmFindings = { returned: 0, losses: 0, firstStartMs: new Map(), wrong: [] };
  for (const task of load.submitted) {
    const body = (await load.get(`/api/x/tasks/${task.id}`)) as TaskBody | undefined;
    if (body === undefined) findings.wrong.push(`${nameOf(task)} is lost`);
    else auditTask(task, body, ends.get(task.number) ?? 0, findings);
  }
  return findings;
}

function auditTask(task: Submitted, body: TaskBody, ends: number, findings: SlurmFindings): void {
  const { wrong } = findings;
  noteStart(body, findings.firstStartMs);
  if (body.status !== 'FINISHED') wrong.push(`${nameOf(task)} is ${body.status}: ${body.message}`);
  if (ends === 0) wrong.push(`${nameOf(task)} never came to its end`);
  const lost = body.attempts.filter(({ outcome }) => outcome === 'LOSS' || outcome === 'CRASH').length;
  const returned = body.attempts.filter(({ outcome }) => outcome === 'RETURN');
  findings.losses += lost;
  findings.returned += returned.length;
  if (ends > 1 + lost) wrong.push(`${nameOf(task)} came to its end ${ends} times with ${lost} losses`);
  const cut = returned.find(({ reason }) => reason?.startsWith('the agent is stopping'));
  if (cut && task.timeLimitS !== null)
    wrong.push(`${nameOf(task)} was cut though its time limit was known: ${cut.reason}`);
}

function noteStart({ startedAt, instance }: TaskBody, firstStartMs: Map<string, number>): void {
  if (startedAt === undefined || instance?.agentId === undefined) return;
  const knownMs = firstStartMs.get(instance.agentId) ?? Number.POSITIVE_INFINITY;
  firstStartMs.set(instance.agentId, Math.min(knownMs, Date.parse(startedAt)));
}

function nameOf({ number, id, timeLimitS }: Submitted): string {
  return `task ${number} (${id}, time limit ${timeLimitS ?? 'none'})`;
}
