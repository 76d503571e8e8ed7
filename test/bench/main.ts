/** `npm run bench`: measures, prints tables, and writes JSON when asked to. See packages/docs/performance.md. */
import { writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { compare } from './compare.js';
import { withinLimit } from './figures.js';
import { machine, versions } from './machine.js';
import { costsFromProfiles } from './profiles/report.js';
import { runWorkload, type WorkloadResult } from './run-workload.js';
import { ROOT } from './subjects/hub.js';
import { comparedTable, costTable, processTable, tableOf, targetTable } from './table.js';
import type { Workload } from './workload.js';
import { STORES, WORKLOADS } from './workloads.js';

const HELP = `npm run bench -- [workload ...] [options]

Workloads (all of them when none is named):
${WORKLOADS.sqlite.map(({ name, what }) => `  ${name.padEnd(9)}${what}`).join('\n')}

Options:
  --store KIND  sqlite (default, unless a workload is for the other only), or postgres: ${WORKLOADS.postgres.map(({ name }) => name).join(', ')}
                of a hub on PostgreSQL, beside the same hub on SQLite and queues on PostgreSQL
  --runs N      how often each is measured, 3 by default; medians count
  --scale X     part of the full size, such as 0.01; or more, such as 10 for storage with a file of 10 GiB
  --seed N      of the generated data, 42 by default
  --only A,B    of hubs, peers and limits measures these alone, such as "hub,limit pipeline" or "hub on postgres"
  --json FILE   also writes the figures there
  --profile DIR leaves the profiles of hub, agents and instances there (.cpuprofile, for Chrome's DevTools or speedscope),
                and says for w0 to w4 in which files a task costs how much; all are slower then
  --plans       also shows query plans
  --compare REV measures a commit, branch or tag in turns with this clone, and shows both with their ratio
`;

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      runs: { type: 'string', default: '3' },
      scale: { type: 'string', default: '1' },
      seed: { type: 'string', default: '42' },
      only: { type: 'string' },
      store: { type: 'string' },
      json: { type: 'string' },
      profile: { type: 'string' },
      plans: { type: 'boolean', default: false },
      compare: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return console.log(HELP);
  const store = storeOf(values.store ?? storeFor(positionals));
  const workloads = workloadsOf(store, positionals);
  if (values.compare !== undefined) return compareWith(values.compare, values, { store, workloads });

  const about = { at: new Date().toISOString(), store, versions: versions(), machine: machine() };
  console.log(JSON.stringify(about));
  const results: WorkloadResult[] = [];
  for (const workload of workloads) {
    const profiles = values.profile === undefined ? undefined : resolve(values.profile, workload.name);
    const result = await runWorkload(workload, {
      runs: numberOf('runs', values.runs),
      scale: numberOf('scale', values.scale),
      seed: numberOf('seed', values.seed),
      ...(values.only === undefined ? {} : { only: values.only.split(',') }),
      ...(profiles === undefined ? {} : { profiles }),
      plans: values.plans,
      say: console.log,
    });
    results.push(result);
    print(result, profiles);
  }
  if (values.json !== undefined) {
    writeFileSync(values.json, `${JSON.stringify({ ...about, results }, null, 2)}\n`);
  }
  const missed = results.flatMap(missedOf);
  if (missed.length > 0) {
    console.log(`Missed: ${missed.join('; ')}`);
    process.exitCode = 1;
  }
}

interface Options {
  readonly runs: string;
  readonly scale: string;
  readonly seed: string;
  readonly only?: string | undefined;
  readonly json?: string | undefined;
  readonly profile?: string | undefined;
  readonly plans: boolean;
}

async function compareWith(
  revision: string,
  { runs, scale, seed, only, json, profile, plans }: Options,
  { store, workloads }: { readonly store: Store; readonly workloads: readonly Workload[] },
): Promise<void> {
  if (profile !== undefined || plans) throw new Error('--compare shows no profiles and no query plans');
  const names = workloads.map(({ name }) => name);
  const limits = only === undefined ? [] : ['--only', only];
  const args = [...names, '--store', store, '--scale', scale, '--seed', seed, ...limits];
  const compared = await compare({
    root: ROOT,
    revision,
    runs: numberOf('runs', runs),
    args,
    say: console.log,
  });
  for (const { workload, figures, others } of compared) {
    console.log(`\n${workload}\n\n${comparedTable(figures, revision)}\n`);
    if (others.length > 0) console.log(`Only one of both measures: ${others.join(', ')}\n`);
  }
  if (json !== undefined) writeFileSync(json, `${JSON.stringify({ revision, compared }, null, 2)}\n`);
}

type Store = (typeof STORES)[number];

function storeOf(wanted: string): Store {
  const store = STORES.find((kind) => kind === wanted);
  if (!store) throw new Error(`--store must be ${STORES.join(' or ')}, not ${JSON.stringify(wanted)}`);
  return store;
}

/** The store on which there are these workloads. */
function storeFor(names: readonly string[]): string {
  const isOn = (store: Store) =>
    names.every((name) => WORKLOADS[store].some((workload) => workload.name === name));
  return STORES.find(isOn) ?? 'sqlite';
}

/** The workloads of these names on a store; all of them when none is named. */
function workloadsOf(store: Store, names: readonly string[]): readonly Workload[] {
  const workloads = WORKLOADS[store];
  const unknown = names.filter((name) => !workloads.some((workload) => workload.name === name));
  if (unknown.length > 0)
    throw new Error(`on ${store} there is no workload ${unknown.join(', ')}\n\n${HELP}`);
  return names.length === 0 ? workloads : workloads.filter(({ name }) => names.includes(name));
}

/** Prints the tables of a workload; `profiles` is the folder of its profiles. */
function print(result: WorkloadResult, profiles: string | undefined): void {
  console.log(`\n${result.workload}: ${result.what}\n\n${tableOf(result.figures)}\n`);
  if (result.targets.length > 0) console.log(`${targetTable(result.targets)}\n`);
  console.log(`${processTable(result.processes)}\n`);
  const costs = profiles === undefined ? [] : costsFromProfiles(profiles, result);
  if (costs.length > 0) console.log(`${costTable(costs)}\n`);
  for (const skipped of result.skipped) console.log(`NOT MEASURED: ${skipped}\n`);
}

/** Figures beyond their limits, and targets that were not met. */
function missedOf({ figures, targets }: WorkloadResult): string[] {
  return [
    ...figures.filter((figure) => !withinLimit(figure)).map(({ name }) => name),
    ...targets.filter(({ verdict }) => verdict === 'MISSED').map(({ target }) => `not ${target}`),
  ];
}

function numberOf(name: string, text: string): number {
  const value = Number(text);
  if (!(value > 0)) throw new Error(`--${name} must be a number above 0`);
  return value;
}

try {
  await main();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
