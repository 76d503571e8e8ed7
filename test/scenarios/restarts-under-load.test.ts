/** Hub and agents are restarted as by systemd (SIGTERM, wait for the end, start) while tasks are created and run: the audit of
 *  every 201 finds each task ended once, and run once. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { eventually } from '../support/eventually.js';
import { base64, restClient } from '../support/interface/rest-client.js';
import {
  endPrograms,
  type HubProgram,
  type Program,
  startAgent,
  startHub,
} from '../support/programs/programs.js';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.js';

let folder: TemporaryFolder;
let ledger: string;

beforeEach(async () => {
  folder = await temporaryFolder();
  ledger = join(folder.path, 'ledger');
});

afterEach(async () => {
  await endPrograms();
  await folder.remove();
});

/** Begins, works a moment, and ends: an interrupted run lacks its second line. */
const SCRIPT = `
const { appendFileSync } = require('node:fs');
appendFileSync(ledger, 'begin ' + process.env.WORKBENCH_TASK_ID + '\\n');
setTimeout(() => appendFileSync(ledger, 'end ' + process.env.WORKBENCH_TASK_ID + '\\n'), 100);
`;

const entries = (kind: string) =>
  existsSync(ledger)
    ? readFileSync(ledger, 'utf8')
        .split('\n')
        .filter((line) => line.startsWith(kind))
        .map((line) => line.slice(kind.length + 1))
    : [];

/** Number of tasks that wait or run at a time. */
const BACKLOG = 12;

/** Creates tasks until it is stopped, and records which were acknowledged. */
class Load {
  readonly acknowledged: string[] = [];
  /** Status codes other than 201 that it was answered with. */
  readonly refusals = new Set<number>();
  #going = true;
  readonly #baseUrl: string;
  readonly #done: Promise<void>;

  constructor(baseUrl: string) {
    this.#baseUrl = baseUrl;
    this.#done = this.#handIn();
  }

  async end(): Promise<void> {
    this.#going = false;
    await this.#done;
  }

  /** Creates a task, whatever waits. Without a hub there, nothing happens. */
  async create(): Promise<void> {
    const response = await fetch(`${this.#baseUrl}/api/2.0/workbench/task/execute-batch-job/create`, {
      method: 'POST',
      body: JSON.stringify({
        inputScripts: [{ content: base64(SCRIPT) }],
        variablesToInject: [{ key: 'ledger', value: ledger }],
      }),
    }).catch(() => undefined);
    if (response?.status === 201) this.acknowledged.push(((await response.json()) as { id: string }).id);
    else if (response) this.refusals.add(response.status);
  }

  async #handIn(): Promise<void> {
    while (this.#going) {
      if (this.acknowledged.length - entries('end').length < BACKLOG) await this.create();
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }
}

it('restarts of hub and agents under load lose nothing and run nothing twice', {
  timeout: 240_000,
}, async () => {
  let hub: HubProgram = await startHub(folder.path);
  const port = Number(new URL(hub.baseUrl).port);
  const start = (id: string) =>
    startAgent(folder.path, hub, id, {
      instances: [{ id: `${id}-sim`, version: '1', count: 2 }],
      drainTimeout: '60s',
    });
  const agents: Record<string, Program> = { a: start('a'), b: start('b') };
  const load = new Load(hub.baseUrl);
  const moreHaveRun = async () => {
    const before = entries('end').length;
    await eventually(() => entries('end').length >= before + 6);
  };
  const restartHub = async () => {
    expect(await hub.stop()).toBe(0);
    hub = await startHub(folder.path, {}, port);
  };
  const restartAgent = async (id: string) => {
    expect(await agents[id]?.stop()).toBe(0);
    agents[id] = start(id);
  };

  await moreHaveRun();
  const client = restClient(hub.baseUrl);
  const prepared = await client.call('/api/2.0/admin/prepare-shutdown/change', {
    method: 'POST',
    body: JSON.stringify({ initiated: true }),
  });
  expect(prepared.status).toBe(200);
  await load.create();
  expect(load.refusals).toContain(423);
  await restartHub();
  await moreHaveRun();
  await restartHub();
  await moreHaveRun();
  await restartAgent('a');
  await moreHaveRun();
  await Promise.all([restartAgent('b'), restartHub()]);
  await moreHaveRun();
  await load.end();

  for (const id of load.acknowledged) {
    expect(await client.batchJobResult(id)).toMatchObject({
      id,
      status: 'FINISHED',
      batchExecutionStatus: 'OK',
    });
  }
  const begun = entries('begin');
  expect(new Set(begun).size).toBe(begun.length);
  expect(entries('end').sort()).toEqual(begun.sort());
  for (const id of load.acknowledged) expect(begun).toContain(id);
  // All others are tasks whose 201 was lost with the connection.
  const { totalElements } = (await client.call('/api/2.0/workbench/task/list?size=1')).json() as {
    totalElements: number;
  };
  expect(begun.length).toBe(totalElements);
  expect([...load.refusals].sort()).toEqual([423]);
});
