/** `npm run chaos -- --slurm`: the run, and its summary. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { hasSlurm } from '../../support/hosts/slurm-cluster.js';
import { runOnSlurm, type SlurmOutcome } from './slurm-run.js';

/** Width of the names in the summary. */
const NAME_WIDTH = 60;

interface ReportOptions {
  readonly tasks: number;
  readonly ends: number;
  readonly hosts: number;
  readonly seed: number;
  readonly stopped: AbortSignal;
}

/** Runs and prints what was found; resolves with the exit code. */
export async function reportOnSlurm({ tasks, ends, hosts, seed, stopped }: ReportOptions): Promise<number> {
  if (!hasSlurm()) return 1;
  const folder = mkdtempSync(join(tmpdir(), 'workbench-hub-slurm-'));
  const onEvent = (what: string) => console.log(what);
  const outcome = await runOnSlurm({ folder, seed, tasks, ends, hosts, stopped, onEvent });
  console.log(summaryOf(outcome));
  for (const fault of outcome.wrong) console.error(fault);
  const size = `--tasks ${tasks} --ends ${ends} --hosts ${hosts}`;
  console.log(`\nonce more: npm run chaos -- --slurm ${size} --seed ${seed}`);
  if (outcome.wrong.length === 0) rmSync(folder, { recursive: true, force: true });
  else console.log(`logs of the hub: ${folder}`);
  return outcome.wrong.length === 0 ? 0 : 1;
}

function summaryOf(outcome: SlurmOutcome): string {
  const row = (name: string, value: number | string) =>
    `${name.padEnd(NAME_WIDTH)} ${String(value).padStart(6)}`;
  return [
    '',
    row('tasks answered with 201', outcome.tasks),
    row('allocations', outcome.allocations),
    row('ends of the time of a host', outcome.ends),
    ...[...outcome.faults].sort().map(([kind, count]) => row(`  ${kind}`, count)),
    row('attempts lost with their agents', outcome.losses),
    row('attempts returned, at no cost', outcome.returned),
    row('most allocations beyond the need', outcome.mostBeyond),
    row('s from the start of a host to its first task (median)', outcome.firstTaskS.median.toFixed(1)),
    row('s of the slowest of ten', outcome.firstTaskS.slowOfTen.toFixed(1)),
    row('wrong', outcome.wrong.length),
  ].join('\n');
}
