/** Lists that one user makes as costly as possible, and their effect on others. */

import { join } from 'node:path';
import { requirementKey } from '@workbench-hub/shared/domain/classifier';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { fillStore } from '../bench/lists/fill-store.js';
import { eventually } from '../support/eventually.js';
import { type RunningHub, startHub, USERS } from '../support/hubs/running-hub.js';
import { type Answer, Api, expectError } from '../support/interface/api.js';
import { storeFor, TESTED_STORE } from '../support/stores/tested-store.js';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.js';

const PATH = '/api/2.0/workbench/task/list';
// PostgreSQL takes longer to match such a filter.
const TASKS = TESTED_STORE === 'sqlite' ? 8000 : 1000;
const MAX_LISTS_OF_USER = 64;

let folder: TemporaryFolder;
let hub: RunningHub;
let mallory: Api;
let vera: Api;

beforeAll(async () => {
  folder = await temporaryFolder();
  if (TESTED_STORE === 'sqlite') fillOnSqlite();
  hub = await startHub({ dataDir: folder.path, users: USERS });
  if (TESTED_STORE === 'postgres') await fillOnPostgres();
  mallory = await new Api(hub).asUser('udo');
  vera = await new Api(hub).asUser('vera');
});
afterAll(async () => {
  await hub.stop();
  await folder.remove();
});

const NAME = 'a'.repeat(1000);
const ANYTHING = requirementKey({ version: null, labels: [] });

function fillOnSqlite(): void {
  const db = fillStore(join(folder.path, 'hub.sqlite'), { ended: TASKS, running: 0, waiting: 0 }, 1);
  db.prepare('UPDATE task SET name = ?').run(NAME);
  db.close();
}

async function fillOnPostgres(): Promise<void> {
  const { queryAt } = await import('../support/stores/postgres.js');
  const url = await storeFor(folder.path);
  const from = `FROM generate_series(1, ${TASKS}) AS seq`;
  for (const statement of [
    `INSERT INTO requirement (id, digest, key) OVERRIDING SYSTEM VALUE VALUES (1, 'digest', '${ANYTHING}')`,
    `INSERT INTO task (seq, type, status, priority, requirement_id, ended_at)
     SELECT seq, 'SIMULATE_WORK', 'CANCELED', 2, 1, 1 ${from}`,
    `INSERT INTO task_request (task_seq, id, requirement_id, requested_at, name, classifiers, job)
     SELECT seq, 'task-' || seq, 1, 1, '${NAME}', '[]', '{"type":"SIMULATE_WORK","durationS":5}' ${from}`,
    `INSERT INTO task_text (task_seq, requested_at, id, name) SELECT seq, 1, 'task-' || seq, '${NAME}' ${from}`,
    `SELECT setval('task_seq', ${TASKS})`,
  ])
    await queryAt(url, statement);
}

/** A filter that nearly matches at every place of every name; no two are equal. */
const costly = (number: number) => `${PATH}?name=*?${'a'.repeat(252 - number)}b*`;

/** Requests this number of costly lists at once. */
function askForMuch(lists: number, first: number) {
  const client = new AbortController();
  const answered: Answer[] = [];
  const all = Array.from({ length: lists }, async (_, number) => {
    answered.push(await mallory.call('GET', costly(first + number), { signal: client.signal }));
  });
  return { answered, client, ended: Promise.allSettled(all) };
}

it('a plain list of one user is answered while costly lists of another run', async () => {
  const { answered, ended } = askForMuch(8, 0);
  await mallory.get('/api/2.0/user');
  const plain = await vera.get(PATH);
  expect(plain.body).toMatchObject({ totalElements: TASKS });
  expect(answered.length).toBeLessThan(8);
  await ended;
  expect(answered.map(({ body }) => body['totalElements'])).toEqual(Array(8).fill(0));
});

it('the waiting lists of one user are limited to a share, and dropped when their client has gone', async () => {
  const { answered, client, ended } = askForMuch(MAX_LISTS_OF_USER + 8, 8);
  const refused = await eventually(() => answered.find(({ status }) => status === 503));
  expectError(refused, 503, PATH, /64 lists that you asked for are not answered yet; try again later$/);
  expect(refused.headers.get('retry-after')).toBe('1');
  expect((await vera.get(PATH)).status).toBe(200);
  client.abort();
  await ended;
  const atOnce = () => Promise.all(Array.from({ length: MAX_LISTS_OF_USER }, () => mallory.get(PATH)));
  await eventually(async () => (await atOnce()).every(({ status }) => status === 200));
  expect(answered.filter(({ status }) => status === 200).length).toBeLessThan(MAX_LISTS_OF_USER);
});
