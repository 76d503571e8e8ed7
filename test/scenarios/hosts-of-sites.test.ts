/** Hosts that the recipes of a site bring for tasks of headquarters, with programs as operators have them. */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { eventually } from '../support/eventually.js';
import { type ProcessManager, processManager } from '../support/hosts/process-manager.js';
import { restClient } from '../support/interface/rest-client.js';
import { endPrograms, type HubProgram, startHub } from '../support/programs/programs.js';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.js';

vi.setConfig({ testTimeout: 300_000, hookTimeout: 180_000 });

const LONG_MS = 120_000;

let folder: TemporaryFolder;
let manager: ProcessManager;
let headquarters: HubProgram;
let site: HubProgram;

beforeEach(async () => {
  folder = await temporaryFolder();
  manager = processManager(folder.path);
  for (const name of ['hq', 'site', 'shared']) await mkdir(join(folder.path, name), { mode: 0o700 });
  headquarters = await startHub(join(folder.path, 'hq'));
});
afterEach(async () => {
  await manager.endAll();
  await endPrograms();
  await folder.remove();
});

/** Starts the site, which lends as this says. */
async function startSite(lend: object = {}): Promise<void> {
  const at = join(folder.path, 'site');
  const first = await startHub(at);
  const { baseUrl } = first;
  await first.stop();
  const upstreams = [
    {
      ...{ name: 'hq', id: 'berlin', lend, tokenFile: headquarters.tokenFile },
      url: headquarters.baseUrl.replace('http', 'ws'),
    },
  ];
  site = await startHub(at, { hosts: [manager.recipe(baseUrl)], upstreams }, Number(new URL(baseUrl).port));
}

async function get<T>(hub: HubProgram, path: string): Promise<T> {
  const response = await fetch(`${hub.baseUrl}${path}`);
  expect(response.ok, path).toBe(true);
  return (await response.json()) as T;
}

const submit = () =>
  restClient(headquarters.baseUrl).createBatchJob({
    name: 'gear',
    classifiers: [{ type: 'LABLES', value: 'gears' }],
    inputScripts: [{ content: Buffer.from("println('it ran')").toString('base64') }],
  });

const statusOf = async (id: string) =>
  (await get<{ status: string }>(headquarters, `/api/x/tasks/${id}`)).status;

interface Allocation {
  readonly state: string;
  readonly cause?: string;
  readonly reason: string;
}

const allocations = async () =>
  (await get<{ content: { allocations: Allocation[] }[] }>(site, '/api/x/hosts')).content[0]?.allocations ??
  [];

it('a task of headquarters that waits lets a site bring a host, which runs it and goes', async () => {
  await startSite();
  const id = await submit();
  await eventually(async () => (await statusOf(id)) === 'FINISHED', LONG_MS);
  await eventually(async () => (await allocations())[0]?.state === 'ENDED', LONG_MS);
  expect(await allocations()).toMatchObject([{ cause: 'IDLE' }]);
  expect(await manager.jobs()).toEqual(['1']);
});
