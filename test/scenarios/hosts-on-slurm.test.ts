/** Hosts that a real Slurm brings, while its controller and the hub are killed. Asked at the end is Slurm, not the hub. */
import { existsSync, readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { eventually } from '../support/eventually.js';
import { type HubRelay, relayToHub } from '../support/hosts/hub-relay.js';
import { hasSlurm, type SlurmCluster, slurmCluster } from '../support/hosts/slurm-cluster.js';
import { restClient } from '../support/interface/rest-client.js';
import { endPrograms, type HubProgram, startHub } from '../support/programs/programs.js';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.js';

vi.setConfig({ testTimeout: 600_000, hookTimeout: 180_000 });

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const LONG_MS = 300_000;
const TASKS = 12;

describe.skipIf(!hasSlurm())('a hub with a recipe for Slurm', () => {
  let folder: TemporaryFolder;
  let cluster: SlurmCluster;
  let hub: HubProgram;
  let relay: HubRelay;
  let restart: () => Promise<void>;

  beforeEach(async () => {
    folder = await temporaryFolder();
    cluster = await slurmCluster();
    hub = await startHub(folder.path);
    const port = Number(new URL(hub.baseUrl).port);
    await hub.stop();
    relay = await relayToHub(cluster, port);
    await mkdir(join(cluster.folder, 'shared'), { mode: 0o700 });
    const config = { hosts: [recipeOf(port)] };
    restart = async () => {
      hub = await startHub(folder.path, config, port);
    };
    await restart();
  });
  afterEach(async () => {
    await endPrograms();
    relay.close();
    await cluster.stop();
    await folder.remove();
  });

  const recipeOf = (port: number) => ({
    name: 'gears',
    manager: { kind: 'slurm', via: cluster.via, options: ['--partition=main'] },
    folder: join(cluster.folder, 'shared'),
    scratch: cluster.folder,
    wallTime: '20m',
    idleTimeout: '2s',
    max: { allocations: 3, queued: 3 },
    agent: {
      command: [process.execPath, join(ROOT, 'agent/bin/workbench-agent.js')],
      hub: `ws://127.0.0.1:${port}`,
      instances: [
        { id: 'gear', version: '9.1', count: 2, command: ['workbench-runner', '--interpreter', 'sh'] },
      ],
    },
  });

  const ledger = () => join(cluster.folder, 'ledger');
  /** Adds a line to the ledger after a while. */
  const submit = (number: number) =>
    restClient(hub.baseUrl).createBatchJob({
      name: `gear ${number}`,
      classifiers: [],
      inputScripts: [{ content: Buffer.from(`sleep 2; echo ${number} >> '${ledger()}'`).toString('base64') }],
    });
  const taskOf = async (id: string) =>
    (await (await fetch(`${hub.baseUrl}/api/x/tasks/${id}`)).json()) as {
      status: string;
      attempts: unknown[];
    };
  const linesOf = (text: string) => text.split('\n').filter((line) => line !== '');
  const jobs = async () => linesOf(await cluster.runInside('squeue', ['--noheader', '--format=%j']));

  it('runs every task, again only after a loss, while controller and hub are killed, and leaves no job', async () => {
    const ids = await Promise.all(Array.from({ length: TASKS }, (_, at) => submit(at)));
    await eventually(() => existsSync(ledger()), LONG_MS);
    await cluster.endController('SIGKILL');
    await hub.kill();
    await restart();
    await cluster.startController();
    await eventually(async () => {
      const tasks = await Promise.all(ids.map(taskOf));
      return tasks.every(({ status }) => status === 'FINISHED');
    }, LONG_MS);
    const lines = linesOf(readFileSync(ledger(), 'utf8'));
    // A job that the killed controller has forgotten is ended with what its agent has not reported yet.
    for (const [number, { attempts }] of (await Promise.all(ids.map(taskOf))).entries()) {
      const runs = lines.filter((line) => line === String(number)).length;
      expect([number, runs >= 1, runs <= attempts.length]).toEqual([number, true, true]);
    }
    await eventually(async () => (await jobs()).length === 0, LONG_MS);
    await eventually(async () => {
      const response = await fetch(`${hub.baseUrl}/api/x/hosts`);
      const { content } = (await response.json()) as { content: { allocations: { state: string }[] }[] };
      return content[0]?.allocations.every(({ state }) => state === 'ENDED' || state === 'LOST');
    }, LONG_MS);
  });
});
