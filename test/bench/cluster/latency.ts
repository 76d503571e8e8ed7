/** Time of one task after the other: all at one hub, and created at one, run at another and polled at the third. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { runLoad } from '../load/load.js';
import {
  type ClusterHub,
  instancesUp,
  type RunningCluster,
  rolesOf,
  startCluster,
} from '../subjects/cluster.js';
import { W2 } from '../throughput/setups.js';
import type { Sample } from '../workload.js';
import { JoinedAgents } from './joined-agents.js';
import type { Part } from './part.js';

const LIMIT_MS = 120_000;
const MEDIAN = 'round trip, median';

export const latency: Part = {
  name: 'latency',
  measure: async (folder, options) => {
    const alone = await measure(folder, 'at one hub', 1, options);
    const across = await measure(folder, 'across three hubs', 3, options);
    const medianOf = (samples: readonly Sample[]) =>
      samples.find(({ name }) => name.endsWith(MEDIAN))?.value ?? Number.NaN;
    const beyond: Sample = {
      ...{ name: 'across three hubs: beyond one hub, median' },
      ...{ value: medianOf(across) - medianOf(alone), unit: 'ms' },
    };
    return { samples: [...alone, ...across, beyond], processes: [] };
  },
};

async function measure(
  parent: string,
  name: string,
  hubs: number,
  { scale, seed }: { readonly scale: number; readonly seed: number },
): Promise<Sample[]> {
  const folder = join(parent, name.replaceAll(' ', '-'));
  mkdirSync(folder);
  const cluster = await startCluster({ folder, hubs });
  const agents = new JoinedAgents();
  try {
    const { creating, running, polling } = await placesIn(cluster);
    await agents.tell({
      ...{ kind: 'join', addresses: [running.address.replace('http', 'ws')], token: cluster.token },
      ...{ agents: 1, instancesEach: 1 },
    });
    for (const { program, address } of cluster.hubs)
      await program.until(async () => (await instancesUp(address)) === 1);
    const samples = await runLoad({
      ...{ load: W2.load, dialect: 'HUB', connections: 1, seed, limitMs: LIMIT_MS },
      ...{ port: creating.port, pollPort: polling.port, count: Math.max(1, Math.ceil(W2.count * scale)) },
    });
    return samples.map((sample) => ({ ...sample, name: `${name}: ${sample.name}` }));
  } finally {
    await agents.stop();
    await cluster.stop();
  }
}

/** The longest way: the client creates and the agent runs at hubs that do not schedule. */
async function placesIn(
  cluster: RunningCluster,
): Promise<Readonly<Record<'creating' | 'running' | 'polling', ClusterHub>>> {
  const { scheduler, others } = await rolesOf(cluster);
  const [creating = scheduler, running = scheduler] = others;
  return { creating, running, polling: scheduler };
}
