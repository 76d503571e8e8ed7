/** Throughput of one, two and three hubs, with the same tasks, clients and instances, and the processor time of each kind of process. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { runLoad } from '../load/load.js';
import { machineCpuSeconds, type TreeUse, treeUse } from '../machine.js';
import { type RunningCluster, rolesOf, startCluster } from '../subjects/cluster.js';
import { W1 } from '../throughput/setups.js';
import type { ProcessUse, Run, Sample } from '../workload.js';
import type { Part } from './part.js';

const HUBS = [1, 2, 3] as const;
/** Agents, so that each of three hubs has some. */
const AGENTS = 4;
const LIMIT_MS = 300_000;

export const throughput: Part = {
  name: 'throughput',
  measure: async (folder, options) => {
    const all: Run[] = [];
    for (const hubs of HUBS) {
      const own = join(folder, `of-${hubs}`);
      mkdirSync(own);
      all.push(await measure(own, hubs, options));
    }
    const samples = all.flatMap((each) => each.samples);
    const rateOf = (hubs: number) =>
      samples.find(({ name }) => name === `${nameOf(hubs)}: tasks`)?.value ?? 0;
    const ratios = HUBS.slice(1).map((hubs): Sample => {
      return { name: `${nameOf(hubs)}: tasks, of one hub`, value: rateOf(hubs) / rateOf(1), unit: 'times' };
    });
    return { samples: [...samples, ...ratios], processes: all.flatMap(({ processes }) => processes) };
  },
};

async function measure(
  folder: string,
  count: number,
  { scale, seed }: { readonly scale: number; readonly seed: number },
): Promise<Run> {
  const cluster = await startCluster({
    folder,
    hubs: count,
    agents: AGENTS,
    instancesEach: W1.slots / AGENTS,
  });
  try {
    const [{ port } = { port: 0 }] = cluster.hubs;
    let before = lookAt(cluster);
    let after = before;
    const tasks = Math.max(1, Math.ceil(W1.count * scale));
    const samples = await runLoad(
      {
        ...{ load: W1.load, port, ports: cluster.hubs.map((hub) => hub.port), dialect: 'HUB', seed },
        ...{ connections: W1.connections, limitMs: LIMIT_MS, count: tasks },
      },
      {
        begin: (loadPid) => {
          before = lookAt(cluster, loadPid);
        },
        end: (loadPid) => {
          after = lookAt(cluster, loadPid);
        },
      },
    );
    const spent = (pid: number) => cpuOf(after.processes.get(pid)) - cpuOf(before.processes.get(pid));
    const { scheduler, others } = await rolesOf(cluster);
    const parts = [
      ['hub that schedules', [scheduler.program.pid]],
      ...(others.length === 0 ? [] : [['other hubs', others.map(({ program }) => program.pid)] as const]),
      ['database server', [cluster.server.pid]],
      ['agents and instances', cluster.agents.map(({ pid }) => pid)],
    ] as const;
    const name = nameOf(count);
    const processes = parts.map(([part, pids]): ProcessUse => {
      const peaks = pids.map((pid) => peakOf(after.processes.get(pid)));
      return { name: `${name}: ${part}`, cpuS: sum(pids.map(spent)), peakRssMib: sum(peaks) };
    });
    const cpu = processes.map(({ name: part, cpuS }): Sample => {
      return { name: `${part}, CPU for each task`, value: (cpuS * 1000) / tasks, unit: 'ms' };
    });
    const ownS = sum(processes.map(({ cpuS }) => cpuS)) + (after.loadCpuS - before.loadCpuS);
    const othersS = Math.max(0, after.machineCpuS - before.machineCpuS - ownS);
    return {
      samples: [
        ...samples.map((sample) => ({ ...sample, name: `${name}: ${sample.name}` })),
        ...cpu,
        { name: `${name}: neighbors meanwhile (CPU)`, value: othersS, unit: 's' },
      ],
      processes,
    };
  } finally {
    await cluster.stop();
  }
}

/** A snapshot of the processes. */
interface Look {
  readonly machineCpuS: number;
  readonly loadCpuS: number;
  readonly processes: ReadonlyMap<number, TreeUse>;
}

function lookAt({ hubs, server, agents }: RunningCluster, loadPid?: number): Look {
  const pids = [...hubs.map(({ program }) => program.pid), server.pid, ...agents.map(({ pid }) => pid)];
  return {
    machineCpuS: machineCpuSeconds(),
    loadCpuS: loadPid === undefined ? 0 : cpuOf(treeUse(loadPid)),
    processes: new Map(pids.map((pid) => [pid, treeUse(pid)])),
  };
}

function cpuOf(use: TreeUse | undefined): number {
  return (use?.own.cpuS ?? 0) + (use?.beneath?.cpuS ?? 0);
}

function peakOf(use: TreeUse | undefined): number {
  return (use?.own.peakRssMib ?? 0) + (use?.beneath?.peakRssMib ?? 0);
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

function nameOf(hubs: number): string {
  return hubs === 1 ? 'one hub' : `${hubs} hubs`;
}
