/** A thousand agents over three hubs: how soon all hubs list them, how they spread, what they cost while nothing happens, and how they join
 *  again when a hub is killed. */
import { eventually } from '../../support/eventually.js';
import { cpuSeconds, peakRssMib } from '../machine.js';
import {
  type ClusterHub,
  instancesUp,
  listedHubs,
  type RunningCluster,
  rolesOf,
  startCluster,
} from '../subjects/cluster.js';
import type { ProcessUse, Run, Sample } from '../workload.js';
import { JoinedAgents } from './joined-agents.js';
import type { Part } from './part.js';
import { writtenRows } from './written-rows.js';

const HUBS = 3;
const AGENTS = 1000;
const INSTANCES_EACH = 8;
const LIMIT_MS = 300_000;
/** Time in which crowded hubs let agents go. */
const SETTLE_MS = 15_000;
const IDLE_MS = 60_000;

export const agents: Part = {
  name: 'agents',
  measure: async (folder, { scale }) => {
    const cluster = await startCluster({ folder, hubs: HUBS });
    const joined = new JoinedAgents();
    try {
      return await measure(cluster, joined, scale);
    } finally {
      await joined.stop();
      await cluster.stop();
    }
  },
};

async function measure(cluster: RunningCluster, joined: JoinedAgents, scale: number): Promise<Run> {
  const { hubs, token, database } = cluster;
  const count = Math.max(6, Math.ceil(AGENTS * scale));
  const instances = count * INSTANCES_EACH;
  const addresses = hubs.map(({ address }) => address.replace('http', 'ws'));
  const joining = joined.tell({
    kind: 'join',
    addresses,
    token,
    agents: count,
    instancesEach: INSTANCES_EACH,
  });
  const listing = timeUntil(async () => {
    const counts = await Promise.all(hubs.map(({ address }) => instancesUp(address)));
    if (counts.every((listed) => listed === instances)) return true;
    throw new Error(`of ${instances} instances the hubs list ${counts.join(', ')}`);
  });
  const [joinedMs, listedMs] = await Promise.all([joining, listing]);
  const settleMs = Math.min(SETTLE_MS, SETTLE_MS * scale * 10);
  const [first] = hubs as readonly [ClusterHub];
  const spreadAtOnce = await spread(first);
  await afterMs(settleMs);
  const spreadLater = await spread(first);
  const pids = hubs.map(({ program }) => program.pid);
  const cpuBefore = pids.map(cpuSeconds);
  const idleMs = Math.max(5000, IDLE_MS * Math.min(1, scale));
  const rows = await writtenRows(database, () => afterMs(idleMs));
  const idle = pids.map((pid, at) => (cpuSeconds(pid) - (cpuBefore[at] ?? 0)) / (idleMs / 1000));
  const processes = [...pids, joined.pid].map(
    (pid, at): ProcessUse => ({
      ...{ name: at < HUBS ? `hub ${at + 1} with agents` : 'simulated agents' },
      ...{ cpuS: cpuSeconds(pid), peakRssMib: peakRssMib(pid) },
    }),
  );
  return {
    samples: [
      { name: 'agents: all joined after', value: joinedMs / 1000, unit: 's' },
      { name: 'agents: all listed by all hubs after', value: listedMs / 1000, unit: 's' },
      { name: 'agents: furthest from the mean of hubs, at once', value: spreadAtOnce, unit: 'times' },
      { name: 'agents: furthest from the mean of hubs', value: spreadLater, unit: 'times' },
      ...rows.map(({ table, perS }): Sample => {
        return { name: `idle: rows of ${table} for each hub`, value: perS / HUBS, unit: 'per s' };
      }),
      { name: 'idle: cores of a hub', value: Math.max(...idle), unit: '' },
      ...(await killOne(cluster, joined, count)),
    ],
    processes,
  };
}

/** Kills the hub that schedules, the worst case. */
async function killOne(cluster: RunningCluster, joined: JoinedAgents, count: number): Promise<Sample[]> {
  const { scheduler, others } = await rolesOf(cluster);
  const held = (await listedHubs(scheduler.address)).find(({ responding }) => responding)?.agents ?? 0;
  const rejoining = joined.tell({ kind: 'rejoin', ended: held });
  const began = performance.now();
  await scheduler.program.kill();
  const [survivor] = others as readonly [ClusterHub];
  const sum = async () => {
    // The killed hub counts as up for a while; its row has the agents that have not joined again.
    const listed = await listedHubs(survivor.address);
    const alive = listed.filter(({ agents: held }) => held > 0);
    return (
      alive.length === others.length && alive.reduce((total, { agents: held }) => total + held, 0) === count
    );
  };
  const [rejoinedMs, listedMs] = await Promise.all([rejoining, timeUntil(sum, began)]);
  return [
    { name: 'killed hub: its agents', value: held, unit: '' },
    { name: 'killed hub: all joined again after', value: rejoinedMs / 1000, unit: 's' },
    { name: 'killed hub: all listed again after', value: listedMs / 1000, unit: 's' },
  ];
}

/** Difference of a hub's agents from the mean, as part of the mean; the largest. */
async function spread({ address }: ClusterHub): Promise<number> {
  const counts = (await listedHubs(address)).map(({ agents: held }) => held);
  const mean = counts.reduce((sum, held) => sum + held, 0) / counts.length;
  return Math.max(...counts.map((held) => Math.abs(held - mean))) / mean;
}

async function timeUntil(fact: () => Promise<boolean>, began = performance.now()): Promise<number> {
  await eventually(fact, LIMIT_MS);
  return performance.now() - began;
}

function afterMs(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
