/**
 * Files on their way in and out of a hub, each way with a hub of its own: how fast, and how much memory it takes at most.
 * Beside them what the same machine takes to copy such a file and to compute its digest. To add a way: a file that exports
 * a `StorageWay`, and its name in `WAYS`.
 */
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type HubProgram, startHub } from '../../support/programs.js';
import { cpuSeconds, peakRssMib } from '../machine.js';
import type { ProcessUse, ReadyWorkload, Sample, Workload, WorkloadOptions } from '../workload.js';
import { jsonIn } from './json-in.js';
import { jsonOut } from './json-out.js';
import { measureMachine } from './plain-machine.js';
import { writeSource } from './source.js';
import type { StorageWay } from './storage-way.js';

const FULL_BYTES = 1024 ** 3;

/** Of hub and agents (the hub's own memory before the first request is in it). */
const MEMORY_LIMIT_MIB = 250;

const WAYS: readonly StorageWay[] = [jsonIn, jsonOut];

export const storage: Workload = {
  name: 'storage',
  what: 'a file of 1 GiB into the hub and out of it, beside plain copy and digest',
  prepare,
};

async function prepare(options: WorkloadOptions): Promise<ReadyWorkload> {
  const sizeBytes = Math.ceil((FULL_BYTES * options.scale) / 3) * 3;
  const source = join(options.folder, 'source');
  await writeSource(source, sizeBytes, options.seed);
  let used: ProcessUse[] = [];
  return {
    measure: async () => {
      const samples = await measureMachine(source, sizeBytes, options.folder);
      used = [];
      for (const way of WAYS) {
        const { hub, folder } = await startOwnHub(options.folder, way);
        const pid = hub.process.pid ?? 0;
        samples.push(...(await way.measure({ hub, folder, source, sizeBytes })));
        samples.push(memoryOf(way, pid));
        used.push({ name: `hub, ${way.name}`, cpuS: cpuSeconds(pid), peakRssMib: peakRssMib(pid) });
        await hub.stop();
        await rm(folder, { recursive: true });
      }
      return samples;
    },
    use: () => used,
    end: async () => undefined,
  };
}

async function startOwnHub(parent: string, way: StorageWay): Promise<{ hub: HubProgram; folder: string }> {
  const folder = join(parent, way.name.replaceAll(' ', '-'));
  await mkdir(folder);
  return { hub: await startHub(folder, way.config ?? {}), folder };
}

function memoryOf(way: StorageWay, pid: number): Sample {
  return {
    name: `${way.name}: memory of the hub`,
    value: peakRssMib(pid),
    unit: 'MiB',
    limit: MEMORY_LIMIT_MIB,
  };
}
