/** A database that was truncated, removed or replaced: the hub starts with all confirmed data, or reports what is missing. */
import {
  appendFileSync,
  copyFileSync,
  openSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { restClient } from '../support/interface/rest-client.js';
import { endPrograms, type HubProgram, startHub, startProgram } from '../support/programs/programs.js';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.js';

const TASKS = 40;
const ROUNDS = 5;
const NOWHERE = { duration: 1, classifiers: [{ type: 'VERSION', value: 'none' }] };

let folder: TemporaryFolder;
let database: string;
/** Size of the log with the first round of tasks. */
let firstBytes: number;
beforeEach(async () => {
  folder = await temporaryFolder();
  database = join(folder.path, 'hub', 'hub.sqlite');
});
afterEach(async () => {
  await endPrograms();
  await folder.remove();
});

/** A hub that has accepted all of them with 201, in several transactions. */
async function hubWithTasks(): Promise<HubProgram> {
  const hub = await startHub(folder.path);
  const client = restClient(hub.baseUrl);
  for (let round = 0; round < ROUNDS; round++) {
    await Promise.all(Array.from({ length: TASKS / ROUNDS }, () => client.createSimulateWork(NOWHERE)));
    if (round === 0) firstBytes = statSync(`${database}-wal`).size;
  }
  return hub;
}

async function killedHub(): Promise<void> {
  await (await hubWithTasks()).kill();
}

/** A hub that was stopped, so that all is in the one file. */
async function stoppedHub(): Promise<void> {
  expect(await (await hubWithTasks()).stop()).toBe(0);
}

/** The message of a hub that does not start. */
async function refusal(): Promise<string> {
  const hub = startProgram(
    'hub/bin/workbench-hub.js',
    ['--config', join(folder.path, 'hub.yaml')],
    folder.path,
  );
  expect(await hub.ended).toBe(2);
  return String(hub.lines.at(-1)?.msg);
}

async function tasksOfHub(): Promise<number> {
  const hub = await startHub(folder.path);
  const list = await restClient(hub.baseUrl).call('/api/2.0/workbench/task/list?size=1');
  await hub.stop();
  return (list.json() as { totalElements: number }).totalElements;
}

describe('a hub whose database', () => {
  it('was being written when it was killed has every task accepted with 201', async () => {
    await killedHub();
    appendFileSync(`${database}-wal`, Buffer.alloc(3000, 'half a transaction'));
    expect(await tasksOfHub()).toBe(TASKS);
  });

  it('has lost the end of its log reports how much is missing, and starts without it only on request', async () => {
    await killedHub();
    // Much of the log is the schema.
    truncateSync(`${database}-wal`, Math.floor((firstBytes + statSync(`${database}-wal`).size) / 2));
    expect(await refusal()).toMatch(
      /hub\.sqlite lacks the last \d+ transactions that were confirmed: .*hub\.sqlite-wal.*\(workbench-hub restore\).* delete .*hub\.sqlite-confirmed$/,
    );
    rmSync(`${database}-confirmed`);
    const left = await tasksOfHub();
    expect(left).toBeGreaterThan(0);
    expect(left).toBeLessThan(TASKS);
  });

  it.each(['-wal', ''])('has lost hub.sqlite%s reports that', async (suffix) => {
    await (suffix === '' ? stoppedHub() : killedHub());
    rmSync(database + suffix);
    expect(await refusal()).toMatch(/lacks the last \d+ transactions|cannot be used/);
  });

  it('is an older copy reports that', async () => {
    await stoppedHub();
    copyFileSync(database, `${database}-copy`);
    await stoppedHub();
    copyFileSync(`${database}-copy`, database);
    expect(await refusal()).toMatch(/lacks the last \d+ transactions that were confirmed/);
  });

  it.each<[string, () => void, RegExp]>([
    [
      'cut short',
      () => truncateSync(database, 64 * 1024),
      /hub\.sqlite (is damaged|cannot be used): .*restore a backup/,
    ],
    [
      'overwritten in its middle',
      () => void writeSync(openSync(database, 'r+'), Buffer.alloc(64 * 1024, 7), 0, 64 * 1024, 32 * 1024),
      /hub\.sqlite (is damaged|cannot be used): .*restore a backup/,
    ],
    [
      'no database any more',
      () => writeFileSync(database, 'x'.repeat(9000)),
      /cannot be used: .*restore a backup/,
    ],
  ])('is %s reports that', async (_, damage, message) => {
    await stoppedHub();
    damage();
    expect(await refusal()).toMatch(message);
  });
});
