/** `npm run chaos`: real processes, real faults, and an audit. See packages/docs/reliability.md. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type ChaosOutcome, runChaos } from './chaos.js';
import { runInside } from './environment.js';
import { runLong } from './long-run.js';
import { reportOnSlurm } from './slurm/report-on-slurm.js';
import { STORES } from './store.js';

const HELP = `npm run chaos -- [options]

Options:
  --seconds N   for how long faults strike, 60 by default
  --seed S      from which they are drawn, by default another one each time
  --store KIND  sqlite (default), or postgres: a server that faults strike, too
  --hubs N      number of hubs, 1 by default; several are on a PostgreSQL server with a synchronous standby, which takes over once
  --slurm       on a real Slurm: tasks on hosts that come and go, until there were --tasks N and --ends N (of the time of a host), 200 and 6 by default, with --hosts N, 3 by default
  --keep        keeps the folder of the run with its logs, also when all is well
`;

/** Width of the names in the summary. */
const NAME_WIDTH = 50;

function wholeNumber(option: string, text: string): number {
  const number = Number(text);
  if (Number.isSafeInteger(number) && number > 0) return number;
  throw new Error(`--${option} must be a whole number from 1 on, not ${JSON.stringify(text)}`);
}

function summaryOf(outcome: ChaosOutcome): string {
  const faults = [...outcome.faults].sort(([a], [b]) => (a < b ? -1 : 1));
  const row = (name: string, value: number) => `${name.padEnd(NAME_WIDTH)} ${String(value).padStart(6)}`;
  return [
    '',
    row('tasks answered with 201', outcome.acknowledged),
    row('requests refused', outcome.refused),
    row('requests that got no answer', outcome.unanswered),
    row(
      'faults',
      faults.reduce((sum, [, count]) => sum + count, 0),
    ),
    ...faults.map(([kind, count]) => row(`  ${kind}`, count)),
    row('lost', outcome.lost.length),
    row('twice', outcome.twice.length),
    row('otherwise wrong', outcome.wrong.length),
    row('ms from the last fault to the last end', Math.round(outcome.recoveryMs)),
    ...outcome.missing.map((what) => `LEFT OUT  ${what}`),
  ].join('\n');
}

async function main(stopped: AbortSignal): Promise<void> {
  const { values } = parseArgs({
    options: {
      seconds: { type: 'string', default: '60' },
      seed: { type: 'string' },
      store: { type: 'string' },
      hubs: { type: 'string', default: '1' },
      slurm: { type: 'boolean', default: false },
      tasks: { type: 'string', default: '200' },
      ends: { type: 'string', default: '6' },
      hosts: { type: 'string', default: '3' },
      keep: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return console.log(HELP);
  const seconds = wholeNumber('seconds', values.seconds);
  const seed =
    values.seed === undefined ? 1 + Math.floor(Math.random() * 1e6) : wholeNumber('seed', values.seed);
  if (values.slurm) {
    const least = { tasks: wholeNumber('tasks', values.tasks), ends: wholeNumber('ends', values.ends) };
    const hosts = wholeNumber('hosts', values.hosts);
    process.exitCode = await reportOnSlurm({ ...least, hosts, seed, stopped });
    return;
  }
  const hubs = wholeNumber('hubs', values.hubs);
  const wanted = values.store ?? (hubs > 1 ? 'postgres' : 'sqlite');
  const store = STORES.find((kind) => kind === wanted);
  if (hubs > 1 && store === 'sqlite') throw new Error('several hubs need --store postgres');
  if (!store) throw new Error(`--store must be ${STORES.join(' or ')}, not ${JSON.stringify(values.store)}`);
  const inside = await runInside({ needsUsers: store === 'postgres' }, stopped);
  if (inside !== undefined) {
    process.exitCode = inside;
    return;
  }
  const folder = mkdtempSync(join(tmpdir(), 'workbench-hub-chaos-'));
  const onEvent = (what: string) => console.log(what);
  const outcome = await runChaos({ folder, seed, seconds, store, hubs, stopped, onEvent });
  console.log(summaryOf(outcome));
  const faults = [...outcome.lost, ...outcome.twice, ...outcome.wrong];
  for (const fault of faults) console.error(fault);
  console.log(
    `\nonce more: npm run chaos -- --seconds ${seconds} --seed ${seed} --store ${store} --hubs ${hubs}`,
  );
  if (faults.length > 0) process.exitCode = 1;
  if (faults.length === 0 && !values.keep) rmSync(folder, { recursive: true, force: true });
  else console.log(`its logs: ${folder}`);
}

runLong(main);
