/** Hosts that a workload manager brings, from the task that waits to the end of the job, with programs as an operator has them. */
import { readdirSync } from 'node:fs';
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { eventually } from '../support/eventually.js';
import { type ProcessManager, processManager } from '../support/hosts/process-manager.js';
import { restClient } from '../support/interface/rest-client.js';
import { endPrograms, type HubProgram, startHub } from '../support/programs/programs.js';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.js';

vi.setConfig({ testTimeout: 300_000, hookTimeout: 180_000 });

const LONG_MS = 120_000;
const AGENT = fileURLToPath(new URL('../../agent/bin/workbench-agent.js', import.meta.url));
const JUMPING_CLOCK = fileURLToPath(new URL('../dist/chaos/jumping-clock.js', import.meta.url));

let folder: TemporaryFolder;
let manager: ProcessManager;
let hub: HubProgram;
let restart: () => Promise<void>;

interface Allocation {
  readonly id: string;
  readonly state: string;
  readonly jobId?: string;
  readonly cause?: string;
  readonly message?: string;
}

beforeEach(async () => {
  folder = await temporaryFolder();
  await mkdir(join(folder.path, 'shared'), { mode: 0o700 });
  manager = processManager(folder.path);
});
afterEach(async () => {
  await manager.endAll();
  await endPrograms();
  await folder.remove();
});

async function start(rest: { readonly agent?: object; readonly idleTimeout?: string } = {}): Promise<void> {
  hub = await startHub(folder.path, { hosts: [] });
  const { baseUrl } = hub;
  await hub.stop();
  restart = async () => {
    const port = Number(new URL(baseUrl).port);
    hub = await startHub(folder.path, { hosts: [manager.recipe(baseUrl, rest)] }, port);
  };
  await restart();
}

async function call<T>(method: string, path: string, body?: object): Promise<T> {
  const response = await fetch(`${hub.baseUrl}${path}`, {
    method,
    ...(body && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
  });
  const text = await response.text();
  expect(response.ok, `${method} ${path}: ${text}`).toBe(true);
  return (text === '' ? undefined : JSON.parse(text)) as T;
}

const allocations = async () =>
  (await call<{ content: { allocations: Allocation[] }[] }>('GET', '/api/x/hosts')).content[0]?.allocations ??
  [];

const submit = (script = "println('it ran')") =>
  restClient(hub.baseUrl).createBatchJob({
    name: 'gear',
    classifiers: [{ type: 'LABLES', value: 'gears' }],
    inputScripts: [{ content: Buffer.from(script).toString('base64') }],
  });

const statusOf = async (id: string) => (await call<{ status: string }>('GET', `/api/x/tasks/${id}`)).status;

describe('a hub with a recipe of hosts', () => {
  it('brings a host for a task that waits, and gives it back when there is nothing to do', async () => {
    await start();
    const id = await submit();
    await eventually(async () => (await statusOf(id)) === 'FINISHED', LONG_MS);
    await eventually(async () => (await allocations())[0]?.state === 'ENDED', LONG_MS);
    expect(await allocations()).toMatchObject([{ state: 'ENDED', cause: 'IDLE' }]);
    expect(await manager.isOver('1')).toBe(true);
    // Neither files of the allocation nor the agent's data are left, and no agent is listed.
    expect(await readdir(join(folder.path, 'shared'))).toEqual([]);
    expect(readdirSync(folder.path).filter((name) => name.startsWith('workbench'))).toEqual([]);
    const agents = () => call<{ content: readonly object[] }>('GET', '/api/x/agents');
    await eventually(async () => (await agents()).content.length === 0, LONG_MS);
  });

  it('goes on with its hosts after it was killed, and asks for no second one', async () => {
    await start({ idleTimeout: '5s' });
    const first = await submit();
    await eventually(async () => (await allocations()).length === 1, LONG_MS);
    await hub.kill();
    await restart();
    await eventually(async () => (await statusOf(first)) === 'FINISHED', LONG_MS);
    await eventually(async () => (await allocations()).every(({ state }) => state === 'ENDED'), LONG_MS);
    expect(await manager.jobs()).toEqual(['1']);
  });

  it('ends its agent before the end that the workload manager says, whatever its wall time and the clock of its host', async () => {
    const clock = join(folder.path, 'clock');
    await writeFile(clock, String(5 * 3_600_000));
    const instance = { id: 'gear', version: '9.1', labels: ['gears'] };
    const shell = ['workbench-runner', '--interpreter', 'sh'];
    await start({
      agent: {
        command: ['env', `CHAOS_CLOCK_FILE=${clock}`, process.execPath, '--import', JUMPING_CLOCK, AGENT],
        instances: [{ ...instance, command: shell }],
      },
    });
    const go = join(folder.path, 'go');
    const id = await submit(`until [ -e '${go}' ]; do sleep 0.1; done`);
    await eventually(async () => (await statusOf(id)) === 'RUNNING', LONG_MS);
    // The job has less time now, as after its limit was changed. Only its agent can end the task: a hub does not cancel a host that works.
    await manager.shorten('1', 50);
    await eventually(() => manager.isOver('1'), LONG_MS);
    await writeFile(go, '');
    await eventually(async () => (await statusOf(id)) === 'FINISHED', LONG_MS);
    expect(await call('GET', `/api/x/tasks/${id}`)).not.toHaveProperty('losses');
    // Its second host may have run the task before the hub asks the workload manager about the first one again.
    const first = async () => (await allocations()).find(({ jobId }) => jobId === '1');
    await eventually(async () => (await first())?.state === 'ENDED', LONG_MS);
    expect(await first()).toMatchObject({ cause: 'TIME' });
  });

  it('says why a host does not come, with the end of its output', async () => {
    await start({
      agent: {
        command: ['/nonexistent/workbench-agent'],
        hub: 'ws://127.0.0.1:9',
        instances: [{ id: 'gear', version: '9.1', labels: ['gears'] }],
      },
    });
    await submit();
    await eventually(async () => (await allocations()).some(({ state }) => state === 'ENDED'), LONG_MS);
    const [ended] = (await allocations()).filter(({ state }) => state === 'ENDED');
    expect(ended).toMatchObject({ cause: 'ENDED_EARLY' });
    expect(ended?.message).toContain('/nonexistent/workbench-agent');
  });

  it('waits for a workload manager that is away, and shows that', async () => {
    await start();
    await mkdir(manager.folder);
    await writeFile(join(manager.folder, 'away'), '');
    const id = await submit();
    const recipe = async () => (await call<{ content: object[] }>('GET', '/api/x/hosts')).content[0];
    await eventually(async () => JSON.stringify(await recipe()).includes('UNREACHABLE'), LONG_MS);
    expect(await recipe()).toMatchObject({ message: expect.stringContaining('the manager is away') });
    expect(await call('GET', `/api/x/tasks/${id}/explain`)).toMatchObject({
      verdict: 'COMING',
      hosts: [{ recipe: 'gears', coming: 1, obstacle: 'UNREACHABLE' }],
    });
    expect(await call('GET', `/api/x/tasks/${id}`)).toMatchObject({
      waitReason: { verdict: 'COMING', recipes: ['gears'] },
    });
    await rm(join(manager.folder, 'away'));
    await eventually(async () => (await statusOf(id)) === 'FINISHED', LONG_MS);
    expect(await manager.jobs()).toEqual(['1']);
  });
});
