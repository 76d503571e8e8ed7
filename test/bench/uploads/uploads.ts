/** Resumable uploads of a large file over a connection that is cut five times: the digest is right, and little is sent again. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { Upload } from 'tus-js-client';
import { endPrograms, type HubProgram, startHub } from '../../support/programs/programs.js';
import { startCuttingProxy } from '../../support/proxies/cutting-proxy.js';
import { inFolder } from '../in-folder.js';
import { peakRssMib, usesOf } from '../machine.js';
import { digestOf } from '../storage/ended-job.js';
import { writeSource } from '../storage/source.js';
import { pace } from '../storage/storage-way.js';
import { ROOT } from '../subjects/hub.js';
import type { ProcessUse, ReadyWorkload, Sample, Workload, WorkloadOptions } from '../workload.js';

const FULL_BYTES = 2 * 1024 ** 3;
const CUTS = 5;
const UPLOADS = '/api/x/storage/input/uploads';

/** Limit of the bytes sent, as a multiple of the file. */
const SENT_LIMIT = 1.05;
const MEMORY_LIMIT_MIB = 250;

interface Way {
  readonly name: string;
  send(address: string, source: string): Promise<void>;
}

const WAYS: readonly Way[] = [
  { name: 'tus-js-client', send: (address, source) => byTusClient(address, source, '') },
  {
    name: 'tus-js-client, encrypted',
    send: (address, source) => byTusClient(address, source, '?encrypt=true'),
  },
  { name: 'wb storage put', send: byWb },
];

export const uploads: Workload = {
  name: 'uploads',
  what: 'a file of 2 GiB into the hub over a connection that is cut five times',
  prepare,
};

async function prepare(options: WorkloadOptions): Promise<ReadyWorkload> {
  const sizeBytes = Math.ceil(FULL_BYTES * options.scale);
  const source = join(options.folder, 'source.bin');
  await writeSource(source, sizeBytes, options.seed);
  const digest = await digestOf(source);
  const ways = WAYS.filter(({ name }) => options.only?.includes(name) ?? true);
  return {
    measure: async (run) => {
      const samples: Sample[] = [];
      const processes: ProcessUse[] = [];
      for (const way of ways) {
        await inFolder(join(run, way.name.replaceAll(/[^a-z]+/g, '-')), async (folder) => {
          const hub = await startHub(folder);
          const pid = hub.process.pid ?? 0;
          samples.push(...(await measured(way, hub, source, sizeBytes, digest)));
          samples.push({
            name: `${way.name}: memory of the hub`,
            value: peakRssMib(pid),
            unit: 'MiB',
            limit: MEMORY_LIMIT_MIB,
          });
          processes.push(...usesOf([[`hub, ${way.name}`, pid]]));
          await endPrograms();
        });
      }
      return { samples, processes };
    },
  };
}

async function measured(
  { name, send }: Way,
  hub: HubProgram,
  source: string,
  sizeBytes: number,
  digest: string,
): Promise<Sample[]> {
  const cutsAt = Array.from({ length: CUTS }, (_, at) => ((at + 0.5) * sizeBytes) / CUTS);
  const proxy = await startCuttingProxy(hub.baseUrl, cutsAt);
  try {
    const beganMs = performance.now();
    await send(proxy.address, source);
    const sample = pace(name, sizeBytes, performance.now() - beganMs);
    await expectStored(hub, sizeBytes, digest);
    if (proxy.cuts !== CUTS) throw new Error(`the connection was cut ${proxy.cuts} times, not ${CUTS}`);
    const sent = proxy.sentBytes / sizeBytes;
    return [sample, { name: `${name}: bytes sent`, value: sent, unit: 'times', limit: SENT_LIMIT }];
  } finally {
    await proxy.stop();
  }
}

/** Fails when the file in the storage is another one; the digest of an encrypted one was checked by the hub. */
async function expectStored(hub: HubProgram, sizeBytes: number, digest: string): Promise<void> {
  const response = await fetch(`${hub.baseUrl}/api/x/storage/input`);
  const { files } = (await response.json()) as { files: { size: number; digest?: string }[] };
  const [file] = files;
  if (files.length !== 1 || file?.size !== sizeBytes || (file.digest ?? digest) !== digest)
    throw new Error(`the storage has ${JSON.stringify(files)}, not the file with the digest ${digest}`);
}

async function byTusClient(address: string, source: string, query: string): Promise<void> {
  const sha256 = await digestOf(source);
  await new Promise<void>((resolve, reject) => {
    new Upload(createReadStream(source), {
      endpoint: `${address}${UPLOADS}${query}`,
      metadata: { filename: 'source.bin', sha256 },
      retryDelays: Array.from({ length: CUTS * 2 }, () => 50),
      onSuccess: () => resolve(),
      onError: reject,
    }).start();
  });
}

async function byWb(address: string, source: string): Promise<void> {
  const child = spawn(
    process.execPath,
    [join(ROOT, 'packages/cli/bin/wb.js'), 'storage', 'put', source, 'source.bin'],
    { env: { PATH: process.env['PATH'], WB_URL: address }, stdio: ['ignore', 'ignore', 'inherit'] },
  );
  const [code] = (await once(child, 'exit')) as [number | null];
  if (code !== 0) throw new Error(`wb storage put ended with ${code}`);
}
