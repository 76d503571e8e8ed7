/** `npm run soak`: mixed load with faults in turns, and counts of what must be constant. See packages/docs/reliability.md. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { runInside } from '../chaos/environment.js';
import { runLong } from '../chaos/long-run.js';
import { STORES } from '../chaos/store.js';
import { runSoak, type SoakOutcome } from './soak.js';

const HELP = `npm run soak -- [options]

Options:
  --minutes N   for how long, 10 by default; fractions such as 0.5 are allowed
  --hubs N      number of hubs, 1 by default; several are on a PostgreSQL server with a synchronous standby, which takes over once
  --store KIND  sqlite (default), or postgres: a server that faults strike, too
  --seed S      from which load and faults are drawn, by default another one each time
  --keep        keeps the folder of the run with its logs, also when all is well
`;

/** Widths of the columns in the summary. */
const NAME_WIDTH = 50;
const COUNT_WIDTH = 10;

function numberAbove0(option: string, text: string, isWhole: boolean): number {
  const number = Number(text);
  if (number > 0 && (isWhole ? Number.isSafeInteger(number) : Number.isFinite(number))) return number;
  throw new Error(
    `--${option} must be a ${isWhole ? 'whole ' : ''}number above 0, not ${JSON.stringify(text)}`,
  );
}

function row(name: string, ...cells: readonly (string | number)[]): string {
  return `${name.padEnd(NAME_WIDTH)} ${cells.map((cell) => String(cell).padStart(COUNT_WIDTH)).join(' ')}`.trimEnd();
}

function rounded(count: number | undefined): string {
  if (count === undefined) return '';
  return Number.isInteger(count) ? String(count) : count.toFixed(1);
}

function summaryOf(outcome: SoakOutcome): string {
  const sorted = (counts: ReadonlyMap<string | number, number>) =>
    [...counts].sort(([a], [b]) => (String(a) < String(b) ? -1 : 1));
  const sum = (counts: ReadonlyMap<string | number, number>) =>
    [...counts.values()].reduce((a, b) => a + b, 0);
  return [
    '',
    row('rounds', outcome.rounds),
    row('jobs that were audited', outcome.acknowledged),
    row('other requests', sum(outcome.answers)),
    ...sorted(outcome.answers).map(([status, count]) =>
      row(status === 0 ? '  without a response' : `  answered with ${status}`, count),
    ),
    row('successful uses of interfaces', sum(outcome.uses)),
    ...sorted(outcome.uses).map(([name, count]) => row(`  ${name}`, count)),
    row('faults', sum(outcome.faults)),
    ...sorted(outcome.faults).map(([kind, count]) => row(`  ${kind}`, count)),
    '',
    row('count', 'begin', 'end', 'rounds', 'verdict'),
    ...outcome.counts.map(({ name, begin, end, rounds, verdict }) =>
      row(name, rounded(begin), rounded(end), rounds, `  ${verdict}`),
    ),
    '',
    row('wrong', outcome.wrong.length),
    ...outcome.missing.map((what) => `LEFT OUT  ${what}`),
  ].join('\n');
}

async function main(stopped: AbortSignal): Promise<void> {
  const { values } = parseArgs({
    options: {
      minutes: { type: 'string', default: '10' },
      hubs: { type: 'string', default: '1' },
      store: { type: 'string' },
      seed: { type: 'string' },
      keep: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return console.log(HELP);
  const minutes = numberAbove0('minutes', values.minutes, false);
  const hubs = numberAbove0('hubs', values.hubs, true);
  const drawn = String(1 + Math.floor(Math.random() * 1e6));
  const seed = numberAbove0('seed', values.seed ?? drawn, true);
  const wanted = values.store ?? (hubs > 1 ? 'postgres' : 'sqlite');
  const store = STORES.find((kind) => kind === wanted);
  if (!store) throw new Error(`--store must be ${STORES.join(' or ')}, not ${JSON.stringify(values.store)}`);
  if (hubs > 1 && store === 'sqlite') throw new Error('several hubs need --store postgres');
  const inside = await runInside({ needsUsers: store === 'postgres' }, stopped);
  if (inside !== undefined) {
    process.exitCode = inside;
    return;
  }
  const folder = mkdtempSync(join(tmpdir(), 'workbench-hub-soak-'));
  const onEvent = (what: string) => console.log(what);
  const outcome = await runSoak({ folder, seed, minutes, store, hubs, stopped, onEvent });
  console.log(summaryOf(outcome));
  for (const what of outcome.wrong) console.error(what);
  console.log(
    `\nonce more: npm run soak -- --minutes ${minutes} --seed ${seed} --store ${store} --hubs ${hubs}`,
  );
  if (outcome.wrong.length > 0) process.exitCode = 1;
  if (outcome.wrong.length === 0 && !values.keep) rmSync(folder, { recursive: true, force: true });
  else console.log(`its logs: ${folder}`);
}

runLong(main);
