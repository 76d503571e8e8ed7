/** `Idempotency-Key` on create requests (contract 12.12). */
import { join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { FakeAgent } from '../support/agents/fake-agent.js';
import { type HubSetup, type RunningHub, startHub, USERS } from '../support/hubs/running-hub.js';
import { Api, base64, expectError } from '../support/interface/api.js';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.js';

const TASK = '/api/2.0/workbench/task';
const WORK = `${TASK}/simulate-work/create`;
const JOB = `${TASK}/execute-batch-job/create`;
const KEY = '8e03978e-40d5-43e8-bc93-6894a57f9324';
const NOWHERE = { classifiers: [{ type: 'VERSION', value: 'none' }] };

let folder: TemporaryFolder;
let hub: RunningHub;
let api: Api;

async function start(setup: HubSetup = {}): Promise<void> {
  hub = await startHub({ dataDir: join(folder.path, 'hub'), ...setup });
  api = new Api(hub);
}

beforeEach(async () => {
  folder = await temporaryFolder();
  onTestFinished(folder.remove);
  await start();
  onTestFinished(() => hub.stop());
});

const create = (path: string, json: object, key = KEY, by = api) =>
  by.call('POST', path, { json, headers: { 'idempotency-key': key } });
const total = async () => (await api.get('/api/x/tasks')).body['total'];

describe('a create request with a key', () => {
  it.each([
    ['simulated work', WORK, { duration: 3, name: 'once', ...NOWHERE }],
    [
      'a batch job',
      JOB,
      {
        inputScripts: [{ content: base64('print(1)') }],
        additionalFiles: [{ filename: 'a.txt', content: base64('a') }],
        variablesToInject: [{ key: 'x', value: '1' }],
        timeLimit: 60,
        ...NOWHERE,
      },
    ],
    ['a large batch job', JOB, { inputScripts: [{ content: base64('#'.repeat(600_000)) }], ...NOWHERE }],
  ])('creates one task, however often it is sent: %s', async (_, path, json) => {
    const first = await create(path, json);
    expect([first.status, first.headers.get('idempotency-replayed')]).toEqual([201, null]);
    const again = await create(path, json);
    expect([again.status, again.headers.get('idempotency-replayed')]).toEqual([201, 'true']);
    expect(again.body).toEqual(first.body);
    expect(await total()).toBe(1);
    expect((await create(path, json, 'another')).body['id']).not.toBe(first.body['id']);
    expect(await total()).toBe(2);
  });

  it('creates one task when it is sent many times at once', async () => {
    const json = { duration: 3, ...NOWHERE };
    const answers = await Promise.all(Array.from({ length: 20 }, () => create(WORK, json)));
    expect(new Set(answers.map(({ body }) => body['id'])).size).toBe(1);
    expect(answers.filter(({ headers }) => headers.get('idempotency-replayed') === null)).toHaveLength(1);
    expect(await total()).toBe(1);
  });

  it('is recognized after a restart, and answered with the task as it is then', async () => {
    const agent = await FakeAgent.join(hub);
    const { body } = await create(WORK, { duration: 3 });
    await agent.end((await agent.hear('assign')).ref, 'OK');
    await agent.leave();
    await hub.stop();
    await start();
    const again = await create(WORK, { duration: 3 });
    expect(again.body).toEqual({ ...body, status: 'FINISHED' });
  });

  it('creates no task again that was deleted', async () => {
    const { body } = await create(WORK, { duration: 3, ...NOWHERE });
    await api.delete(`${TASK}/${body['id']}/cancel`);
    await api.delete(`${TASK}/${body['id']}/delete`);
    expectError(
      await create(WORK, { duration: 3, ...NOWHERE }),
      422,
      WORK,
      `Idempotency-Key: task ${body['id']} was created with this key, and is deleted by now; take a new key to create another task`,
    );
    expect(await total()).toBe(0);
  });

  it('is refused when the content is another', async () => {
    const json = { duration: 3, name: 'a', ...NOWHERE };
    const { body } = await create(WORK, json);
    const others = [
      { ...json, duration: 4 },
      { ...json, name: 'b' },
      { ...json, timeLimit: 1 },
      { duration: 3 },
    ];
    for (const other of others) {
      expectError(
        await create(WORK, other),
        422,
        WORK,
        `Idempotency-Key: task ${body['id']} was created with this key by another request; take a new key for each ` +
          'request, and the same one only to repeat it',
      );
    }
    const job = { inputScripts: [{ content: base64('a') }], name: 'a', ...NOWHERE };
    expect((await create(JOB, job)).status).toBe(422);
    expect(await total()).toBe(1);
  });

  it.each(['', 'a b', 'x'.repeat(256), 'ü'])('is refused with the key %j', async (key) => {
    const encoded = Buffer.from(key).toString('latin1');
    const message = 'Idempotency-Key: must be 1 to 255 visible ASCII characters';
    expectError(await create(WORK, { duration: 3 }, encoded), 400, WORK, message);
    expect(await total()).toBe(0);
  });

  it('uses keys of its own user only', async () => {
    await hub.stop();
    await start({ users: USERS });
    const [ulla, udo] = [await api.asUser('ulla'), await api.asUser('udo')];
    const ids: unknown[] = [];
    for (const user of [ulla, udo, ulla]) {
      ids.push((await create(WORK, { duration: 3, ...NOWHERE }, KEY, user)).body['id']);
    }
    expect(ids[0]).toBe(ids[2]);
    expect(ids[0]).not.toBe(ids[1]);
  });
});
