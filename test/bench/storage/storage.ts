/**
 * Files on their way into and out of a hub, each way with a hub of its own: speed and peak memory. Just before each, the time in
 * which the same machine copies such a file and computes its digest. To add a way: a file that exports a `StorageWay`, and its
 * name in `WAYS`.
 */
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { endPrograms, type HubProgram, startHub } from '../../support/programs/programs.js';
import { quantile } from '../figures.js';
import { cpuSeconds, peakRssMib } from '../machine.js';
import type { ProcessUse, ReadyWorkload, Sample, Workload, WorkloadOptions } from '../workload.js';
import { download } from './download.js';
import { jsonIn } from './json-in.js';
import { jsonOut } from './json-out.js';
import { type MachinePace, measureMachine } from './plain-machine.js';
import { writeSource } from './source.js';
import { hundredRuns, staging } from './staging.js';
import type { StorageWay } from './storage-way.js';
import { encryptedDownload, encryptedUpload, upload } from './uploads.js';

const FULL_BYTES = 1024 ** 3;

/** Memory of hub and agents (including the hub's own before the first request). */
const MEMORY_LIMIT_MIB = 250;

const WAYS: readonly StorageWay[] = [
  upload,
  download,
  encryptedUpload,
  encryptedDownload,
  jsonIn,
  jsonOut,
  staging,
  hundredRuns,
];

export const storage: Workload = {
  name: 'storage',
  what: 'a file of 1 GiB into the hub, out of it, and to agents, beside plain copy and digest',
  targets: [
    { figure: ratioName(upload.name), is: 'at least', value: 0.7 },
    { figure: ratioName(download.name), is: 'at least', value: 0.7 },
  ],
  prepare,
};

async function prepare(options: WorkloadOptions): Promise<ReadyWorkload> {
  const sizeBytes = Math.ceil((FULL_BYTES * options.scale) / 3) * 3;
  const source = join(options.folder, 'source');
  await writeSource(source, sizeBytes, options.seed);
  let used: ProcessUse[] = [];
  return {
    measure: async () => {
      const samples: Sample[] = [];
      const machine: MachinePace[] = [];
      used = [];
      const ways = WAYS.filter(({ name }) => options.only?.includes(name) ?? true);
      for (const way of ways) {
        const pace = await measureMachine(source, sizeBytes, options.folder);
        machine.push(pace);
        const { hub, folder } = await startOwnHub(options.folder, way);
        const pid = hub.process.pid ?? 0;
        const measured = await way.measure({ hub, folder, source, sizeBytes, scale: options.scale });
        samples.push(...measured, ...ratioOf(way, measured, pace), memoryOf(way, pid));
        used.push({ name: `hub, ${way.name}`, cpuS: cpuSeconds(pid), peakRssMib: peakRssMib(pid) });
        await endPrograms();
        await rm(folder, { recursive: true });
      }
      return [
        medianOf(machine.map(({ copy }) => copy)),
        medianOf(machine.map(({ digest }) => digest)),
        ...samples,
      ];
    },
    use: () => used,
    end: async () => undefined,
  };
}

/** Speed of a way relative to the slower of copy and digest, which it needs. */
function ratioOf(way: StorageWay, samples: readonly Sample[], { copy, digest }: MachinePace): Sample[] {
  const own = samples.find(({ name, unit }) => name === way.name && unit === 'MiB/s');
  if (!own) return [];
  return [
    { name: ratioName(way.name), value: own.value / Math.min(copy.value, digest.value), unit: 'times' },
  ];
}

function ratioName(way: string): string {
  return `${way}: of the slower of copy and digest`;
}

/** Statistics of samples of one quantity. */
function medianOf(samples: readonly Sample[]): Sample {
  const value = quantile(
    samples.map((sample) => sample.value),
    0.5,
  );
  return { ...(samples[0] as Sample), value };
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
