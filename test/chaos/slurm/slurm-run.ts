/** A run on a real Slurm: tasks on hosts that come and go, whose time ends, while hub, agents and Slurm are killed. Asked what is there is Slurm. */
import { writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { relayToHub } from '../../support/hosts/hub-relay.js';
import { type SlurmCluster, slurmCluster } from '../../support/hosts/slurm-cluster.js';
import { endPrograms, type HubProgram, startHub } from '../../support/programs/programs.js';
import { seededRandom } from '../../support/random.js';
import { unlessStopped } from '../long-run.js';
import { auditTasks } from './slurm-audit.js';
import { SlurmFaults } from './slurm-faults.js';
import { SlurmLoad } from './slurm-load.js';
import { SlurmWatch } from './slurm-watch.js';

export interface SlurmRunOptions {
  readonly folder: string;
  readonly seed: number;
  /** Tasks, and ends of the time of hosts, that there are at least. */
  readonly tasks: number;
  readonly ends: number;
  /** Hosts of the cluster. */
  readonly hosts: number;
  readonly stopped: AbortSignal;
  readonly onEvent: (what: string) => void;
}

export interface SlurmOutcome {
  readonly tasks: number;
  readonly ends: number;
  readonly faults: ReadonlyMap<string, number>;
  readonly returned: number;
  readonly losses: number;
  readonly allocations: number;
  /** Most allocations that were coming beyond those that the waiting tasks needed. */
  readonly mostBeyond: number;
  /** Seconds from the start of a host, as Slurm tells it, to the start of its first task. */
  readonly firstTaskS: { readonly median: number; readonly slowOfTen: number };
  readonly wrong: readonly string[];
}

const AGENT = fileURLToPath(new URL('../../../../agent/bin/workbench-agent.js', import.meta.url));
const INSTANCES = 2;
/** Allocations beyond the hosts of the cluster, so that some are queued. */
const QUEUED_ALLOCATIONS = 5;
const GONE_WITHIN_MS = 60_000;
const END_WITHIN_MS = 900_000;
const TELL_EVERY_MS = 30_000;

export async function runOnSlurm(options: SlurmRunOptions): Promise<SlurmOutcome> {
  const cluster = await slurmCluster(options.hosts);
  try {
    return await unlessStopped(run(options, cluster), options.stopped);
  } finally {
    await endPrograms();
    await cluster.stop();
  }
}

async function run(
  { folder, seed, tasks, ends, stopped, onEvent }: SlurmRunOptions,
  cluster: SlurmCluster,
): Promise<SlurmOutcome> {
  let hub: HubProgram = await startHub(folder);
  const port = Number(new URL(hub.baseUrl).port);
  await hub.stop();
  await mkdir(join(cluster.folder, 'shared'), { mode: 0o700 });
  const relay = await relayToHub(cluster, port);
  const startHubAgain = async () => {
    hub = await startHub(folder, { hosts: [recipeOf(cluster, port)], tasks: { maxLosses: 20 } }, port);
  };
  await startHubAgain();
  const ledger = join(cluster.folder, 'ledger');
  writeFileSync(ledger, '');
  const load = new SlurmLoad({ baseUrl: () => hub.baseUrl, seed, ledger, stopped });
  const watch = new SlurmWatch({ cluster, load, instances: INSTANCES });
  let isOver = false;
  const faults = new SlurmFaults({
    cluster,
    random: seededRandom(seed),
    killHub: () => hub.kill(),
    startHub: startHubAgain,
    onFault: onEvent,
    stopped,
  });
  const teller = setInterval(
    () => onEvent(`${load.submitted.length} tasks, ${watch.ends} ends of time`),
    TELL_EVERY_MS,
  );
  const watching = watch.run(() => isOver);
  try {
    const striking = faults.run(() => isOver || (load.submitted.length >= tasks && watch.ends >= ends));
    await load.run(() => load.submitted.length >= tasks && watch.ends >= ends);
    await striking;
    await allEnded(load);
    await watch.goneWithin(GONE_WITHIN_MS);
  } finally {
    isOver = true;
    clearInterval(teller);
    await watching;
    relay.close();
  }
  const { returned, losses, firstStartMs, wrong } = await auditTasks(load, ledger);
  return {
    tasks: load.submitted.length,
    ends: watch.ends,
    faults: faults.counts,
    returned,
    losses,
    allocations: watch.allocations,
    mostBeyond: watch.mostBeyond,
    firstTaskS: watch.firstTaskS(firstStartMs),
    wrong: [...watch.wrong, ...lossesWithoutCause(losses, faults.counts), ...wrong],
  };
}

/** Only the end of an agent, by its own or with a hub that could not be reached, loses attempts: at most those that it ran. */
function lossesWithoutCause(losses: number, faults: ReadonlyMap<string, number>): string[] {
  const killed = faults.get('agent killed') ?? 0;
  return losses > killed * INSTANCES
    ? [`${losses} attempts were lost with ${killed} agents that were killed`]
    : [];
}

async function allEnded(load: SlurmLoad): Promise<void> {
  const giveUpAtMs = performance.now() + END_WITHIN_MS;
  for (;;) {
    const counts = await load.counts();
    if (counts && counts.WAITING + counts.RUNNING === 0) return;
    if (performance.now() > giveUpAtMs) return;
    await pause(500);
  }
}

function recipeOf(cluster: SlurmCluster, port: number) {
  const allocations = cluster.hosts.length + QUEUED_ALLOCATIONS;
  return {
    name: 'gears',
    manager: { kind: 'slurm', via: cluster.via, options: ['--partition=main', '--exclusive'] },
    folder: join(cluster.folder, 'shared'),
    scratch: cluster.folder,
    wallTime: '4m',
    drainBefore: '70s',
    // Longer than most tasks take: a host for whose last seconds no task is left waits for its end.
    idleTimeout: '15s',
    max: { allocations, queued: allocations },
    agent: {
      command: [process.execPath, AGENT],
      hub: `ws://127.0.0.1:${port}`,
      instances: [
        {
          id: 'gear',
          version: '9.1',
          count: INSTANCES,
          command: ['workbench-runner', '--interpreter', 'sh'],
        },
      ],
    },
  };
}
