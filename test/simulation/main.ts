/** `npm run simulate`: runs seeds of the simulation and prints a summary. See packages/docs/reliability.md. */
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import type { Breakage } from './breakages/breakage.js';
import { BREAKAGES } from './breakages.js';
import { simulateHosts } from './hosts/hosts-world.js';
import { simulateRollout } from './rollout/rollout-world.js';
import { runSeeds } from './run-seeds.js';
import { type HubCount, type SimulatedStoreKind, simulate } from './simulation.js';
import { simulateSites } from './sites/sites-world.js';
import { Summary } from './summary.js';
import type { Violation } from './world.js';

const HELP = `npm run simulate -- [options]

Options:
  --seeds N       number of seeds, 1000 by default
  --from S        the first of them, 1 by default
  --seed S        only this one
  --trace         prints everything that happens in it
  --broken NAME   with a defect built in: ${BREAKAGES.map(({ name }) => JSON.stringify(name)).join(', ')}
  --broken all    each of these in turn, until a seed finds it; with --store or --hubs, those of such worlds
  --store KIND    with the store on the hub's disk (disk) or on a database server (server); by default the seed decides
  --hubs N        with N hubs on one database server (1 to 5), or several: the seed decides how many
  --studies       clients create studies, too: other worlds than without
  --sites         worlds of hubs that join hubs, one after the other; with --seeds, --from, --seed and --trace only
  --hosts         worlds of hosts that come and go, in the same way
  --rollouts      worlds of agents that their hub updates, in the same way
  --agents N      with N agents in each of these; by default the seed decides
  --threads N     number of threads, by default one for each core
`;

function wholeNumber(option: string, text: string): number {
  const number = Number(text);
  if (Number.isSafeInteger(number) && number > 0) return number;
  throw new Error(`--${option} must be a whole number from 1 on, not ${JSON.stringify(text)}`);
}

function storeOf(text: string | undefined): SimulatedStoreKind | undefined {
  const kinds = { disk: 'DISK', server: 'SERVER' } as const;
  if (text === undefined) return undefined;
  if (text === 'disk' || text === 'server') return kinds[text];
  throw new Error(`--store must be disk or server, not ${JSON.stringify(text)}`);
}

function hubsOf(text: string | undefined): HubCount | undefined {
  if (text === undefined) return undefined;
  if (text === 'several') return 'SEVERAL';
  const count = wholeNumber('hubs', text);
  if (count <= 5) return count;
  throw new Error(`--hubs must be several or a number from 1 to 5, not ${JSON.stringify(text)}`);
}

/** Worlds of another kind, which run one after the other. */
interface OtherWorlds {
  readonly of: string;
  simulate(options: {
    readonly seed: number;
    readonly onTrace: ((line: string) => void) | undefined;
  }): Promise<{
    readonly tasks: number;
    readonly others: number;
    readonly violations: readonly Violation[];
  }>;
  /** Name of what is counted beside tasks. */
  readonly counted: string;
}

const SITES: OtherWorlds = {
  of: 'hubs that join hubs',
  counted: 'loans',
  simulate: async (options) => {
    const { loans, ...outcome } = await simulateSites(options);
    return { ...outcome, others: loans };
  },
};
const HOSTS: OtherWorlds = {
  of: 'hosts that come and go',
  counted: 'jobs',
  simulate: async (options) => {
    const { jobs, ...outcome } = await simulateHosts(options);
    return { ...outcome, others: jobs };
  },
};

function rolloutsOf(agents: number | undefined): OtherWorlds {
  return {
    of: 'agents that their hub updates',
    counted: 'updated agents',
    simulate: async (options) => {
      const size = agents === undefined ? {} : { agents };
      const { updated, ...outcome } = await simulateRollout({ ...options, ...size });
      return { ...outcome, others: updated };
    },
  };
}

/** The kind of worlds that was asked for; undefined for those of tasks. */
function otherWorlds(values: {
  readonly sites: boolean;
  readonly hosts: boolean;
  readonly rollouts: boolean;
  readonly agents?: string | undefined;
}): OtherWorlds | undefined {
  if (values.rollouts)
    return rolloutsOf(values.agents === undefined ? undefined : wholeNumber('agents', values.agents));
  if (values.hosts) return HOSTS;
  return values.sites ? SITES : undefined;
}

async function runOthers(
  worlds: OtherWorlds,
  { from, seeds }: { readonly from: number; readonly seeds: number },
  isTraced: boolean,
): Promise<void> {
  const onTrace = isTraced ? (line: string) => console.log(line) : undefined;
  let [tasks, others, failed] = [0, 0, 0];
  for (let seed = from; seed < from + seeds; seed++) {
    const { violations, ...outcome } = await worlds.simulate({ seed, onTrace });
    tasks += outcome.tasks;
    others += outcome.others;
    if (violations.length === 0) continue;
    failed++;
    for (const { invariant, what } of violations) console.log(`seed ${seed}: ${invariant}: ${what}`);
  }
  console.log(
    `${seeds} worlds of ${worlds.of}, ${tasks} tasks, ${others} ${worlds.counted}: ${failed} failed`,
  );
  process.exit(failed === 0 ? 0 : 1);
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      seeds: { type: 'string', default: '1000' },
      from: { type: 'string', default: '1' },
      seed: { type: 'string' },
      trace: { type: 'boolean', default: false },
      broken: { type: 'string' },
      store: { type: 'string' },
      hubs: { type: 'string' },
      sites: { type: 'boolean', default: false },
      hosts: { type: 'boolean', default: false },
      rollouts: { type: 'boolean', default: false },
      agents: { type: 'string' },
      studies: { type: 'boolean', default: false },
      threads: { type: 'string', default: String(availableParallelism()) },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return console.log(HELP);
  const { broken } = values;
  const from = wholeNumber('from', values.from);
  const seeds = wholeNumber('seeds', values.seeds);
  const others = otherWorlds(values);
  if (others !== undefined) {
    const only =
      values.seed === undefined ? { from, seeds } : { from: wholeNumber('seed', values.seed), seeds: 1 };
    return runOthers(others, only, values.trace);
  }
  const store = storeOf(values.store);
  const hubs = hubsOf(values.hubs);
  if (broken === 'all') return findEach(from, from + seeds, store, hubs !== undefined);
  const breakage = BREAKAGES.find(({ name }) => name === broken);
  if (broken !== undefined && !breakage)
    throw new Error(`unknown defect ${JSON.stringify(broken)}\n\n${HELP}`);
  const summary = new Summary(broken, store, hubs);
  if (values.seed !== undefined) {
    const seed = wholeNumber('seed', values.seed);
    const onTrace = values.trace ? (line: string) => console.log(line) : undefined;
    summary.add(await simulate({ seed, breakage, store, hubs, hasStudies: values.studies, onTrace }));
  } else {
    await runSeeds({
      from,
      to: from + seeds,
      threads: wholeNumber('threads', values.threads),
      broken,
      store,
      hubs,
      hasStudies: values.studies,
      onOutcome: (outcome) => {
        summary.add(outcome);
        if (outcome.violations.length > 0) console.log(summary.describe(outcome));
      },
    });
  }
  console.log(summary.text());
  if (summary.failed) process.exitCode = 1;
}

/** Prints for each defect the first seed that finds it, and the violated invariant. */
async function findEach(
  from: number,
  to: number,
  store: SimulatedStoreKind | undefined,
  ofSeveralHubs: boolean,
): Promise<void> {
  const isTried = (each: Breakage) =>
    (store === undefined || (each.store ?? 'DISK') === store) && (!ofSeveralHubs || each.hubs !== undefined);
  for (const breakage of BREAKAGES.filter(isTried)) {
    let found: string | undefined;
    for (let seed = from; seed < to && found === undefined; seed++) {
      const [violation] = (await simulate({ seed, breakage })).violations;
      if (violation) found = `seed ${seed}: ${violation.invariant}`;
    }
    console.log(`- ${breakage.name} (${found ?? 'NOT FOUND'})`);
    if (found === undefined) process.exitCode = 1;
  }
}

// The process ends by itself when nothing can happen in a world any more.
let isOver = false;
process.once('beforeExit', () => {
  if (isOver) return;
  console.error('the seed does not end');
  process.exitCode = 1;
});
main()
  .finally(() => {
    isOver = true;
  })
  .catch((error: unknown) => {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  });
