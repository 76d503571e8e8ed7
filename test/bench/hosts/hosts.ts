/** A host that a real Slurm brings for a task: how long the task waits once the host has started, and until that is gone. */
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { eventually } from '../../support/eventually.js';
import { relayToHub } from '../../support/hosts/hub-relay.js';
import { type SlurmCluster, slurmCluster, slurmObstacle } from '../../support/hosts/slurm-cluster.js';
import { restClient } from '../../support/interface/rest-client.js';
import { endPrograms, startHub } from '../../support/programs/programs.js';
import { quantile } from '../figures.js';
import { ROOT } from '../subjects/hub.js';
import type { Run, Workload, WorkloadOptions } from '../workload.js';

const AGENT = join(ROOT, 'agent/bin/workbench-agent.js');
const HOSTS = 8;
const TARGET_MS = 2000;
const WAIT_MS = 120_000;

const FIRST_TASK = 'first task after the start of its host, median';
const SLOWEST = 'first task after the start of its host, slowest';

export const hosts: Workload = {
  name: 'hosts',
  what: 'a task on a host that Slurm brings for it, again and again',
  targets: [
    { figure: FIRST_TASK, is: 'at most', value: TARGET_MS },
    { figure: SLOWEST, is: 'at most', value: TARGET_MS },
  ],
  prepare: async (options) => {
    const obstacle = slurmObstacle();
    if (obstacle === undefined) return { measure: (folder) => measure(folder, options) };
    return {
      measure: async () => ({ samples: [], processes: [] }),
      skipped: () => [`hosts of Slurm: ${obstacle}`],
    };
  },
};

async function measure(folder: string, { scale }: WorkloadOptions): Promise<Run> {
  const cluster = await slurmCluster();
  let site: Site | undefined;
  try {
    site = await siteOf(cluster, folder);
    const times: HostTimes[] = [];
    for (let host = 0; host < Math.max(2, HOSTS * scale); host++) times.push(await site.runOnHost());
    const median = (of: (each: HostTimes) => number) => quantile(times.map(of), 0.5);
    const firstTaskMs = ({ startedAtMs, beganAtMs }: HostTimes) => beganAtMs - startedAtMs;
    return {
      samples: [
        { name: FIRST_TASK, value: median(firstTaskMs), unit: 'ms' },
        { name: SLOWEST, value: Math.max(...times.map(firstTaskMs)), unit: 'ms' },
        {
          name: 'start of the host after the task was handed in, median',
          value: median(({ createdAtMs, startedAtMs }) => startedAtMs - createdAtMs),
          unit: 'ms',
        },
        {
          name: 'job of the host gone after its task ended, median',
          value: median(({ endedAtMs, goneAtMs }) => goneAtMs - endedAtMs),
          unit: 'ms',
        },
      ],
      processes: [],
    };
  } finally {
    site?.close();
    await endPrograms();
    await cluster.stop();
  }
}

/** Times of one host and its task, in milliseconds since 1970. */
interface HostTimes {
  readonly createdAtMs: number;
  /** Begin of the job's command on the host. */
  readonly startedAtMs: number;
  /** Begin and end of the task's script. */
  readonly beganAtMs: number;
  readonly endedAtMs: number;
  readonly goneAtMs: number;
}

interface Site {
  /** Hands a task in, and waits until it has ended and its host is gone. */
  runOnHost(): Promise<HostTimes>;
  close(): void;
}

/** A hub whose only hosts are those that the cluster brings. */
async function siteOf(cluster: SlurmCluster, folder: string): Promise<Site> {
  let hub = await startHub(folder);
  const port = Number(new URL(hub.baseUrl).port);
  await hub.stop();
  await mkdir(join(cluster.folder, 'shared'), { mode: 0o700 });
  const relay = await relayToHub(cluster, port);
  const file = (name: string) => join(cluster.folder, name);
  const noteTime = (name: string) => `date +%s%3N >'${file(name)}'`;
  const readTime = (name: string) => Number(readFileSync(file(name), 'utf8'));
  hub = await startHub(folder, { hosts: [recipeOf(cluster, port, noteTime('started'))] }, port);
  const script = [noteTime('began'), noteTime('ended')].join('\n');
  const squeue = () => cluster.runInside('squeue', ['--noheader', '--format=%j']);

  return {
    close: () => relay.close(),
    async runOnHost(): Promise<HostTimes> {
      for (const name of ['started', 'began', 'ended']) rmSync(file(name), { force: true });
      const createdAtMs = Date.now();
      await restClient(hub.baseUrl).createBatchJob({
        name: 'first task',
        classifiers: [],
        inputScripts: [{ content: Buffer.from(script).toString('base64') }],
      });
      await eventually(() => existsSync(file('ended')), WAIT_MS);
      await eventually(async () => (await squeue()).trim() === '', WAIT_MS);
      return {
        createdAtMs,
        startedAtMs: readTime('started'),
        beganAtMs: readTime('began'),
        endedAtMs: readTime('ended'),
        goneAtMs: Date.now(),
      };
    },
  };
}

/** A recipe whose command notes when it begins. */
function recipeOf(cluster: SlurmCluster, port: number, noteStart: string) {
  return {
    name: 'gears',
    manager: { kind: 'slurm', via: cluster.via, options: ['--partition=main'] },
    folder: join(cluster.folder, 'shared'),
    scratch: cluster.folder,
    wallTime: '20m',
    idleTimeout: '1s',
    max: { allocations: 1, queued: 1 },
    agent: {
      command: ['sh', '-c', `${noteStart}; exec "$@"`, 'sh', process.execPath, AGENT],
      hub: `ws://127.0.0.1:${port}`,
      instances: [{ id: 'gear', version: '9.1', command: ['workbench-runner', '--interpreter', 'sh'] }],
    },
  };
}
