/**
 * Files on their way into and out of a hub, each way with a hub of its own: speed and peak memory. Just before each, the time in
 * which the same machine copies such a file and computes its digest. To add a way: a file that exports a `StorageWay`, and its
 * name in `WAYS`.
 */
import { join } from 'node:path';
import { endPrograms, startHub } from '../../support/programs/programs.js';
import { quantile } from '../figures.js';
import { inFolder } from '../in-folder.js';
import { peakRssMib, usesOf } from '../machine.js';
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
  const ways = WAYS.filter(({ name }) => options.only?.includes(name) ?? true);
  return {
    measure: async (run) => {
      const samples: Sample[] = [];
      const machine: MachinePace[] = [];
      const processes: ProcessUse[] = [];
      for (const way of ways) {
        const pace = await measureMachine(source, sizeBytes, options.folder);
        machine.push(pace);
        await inFolder(join(run, way.name.replaceAll(' ', '-')), async (folder) => {
          const hub = await startHub(folder, way.config ?? {});
          const pid = hub.process.pid ?? 0;
          const measured = await way.measure({ hub, folder, source, sizeBytes, scale: options.scale });
          samples.push(...measured, ...ratioOf(way, measured, pace), memoryOf(way, pid));
          processes.push(...usesOf([[`hub, ${way.name}`, pid]]));
          await endPrograms();
        });
      }
      const paces = [machine.map(({ copy }) => copy), machine.map(({ digest }) => digest)];
      return { samples: [...paces.flatMap(medianOf), ...samples], processes };
    },
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

/** Median of samples of one quantity; none of no samples. */
function medianOf(samples: readonly Sample[]): Sample[] {
  const values = samples.map(({ value }) => value);
  return samples.slice(0, 1).map((sample) => ({ ...sample, value: quantile(values, 0.5) }));
}

function memoryOf(way: StorageWay, pid: number): Sample {
  return {
    name: `${way.name}: memory of the hub`,
    value: peakRssMib(pid),
    unit: 'MiB',
    limit: MEMORY_LIMIT_MIB,
  };
}
