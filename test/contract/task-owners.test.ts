/** Creators of tasks: who may cancel and delete them (contract 8.7). */
import { join } from 'node:path';
import { beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { FakeAgent } from '../support/agents/fake-agent.js';
import { hub, hubForAllTests } from '../support/hubs/hub-for-tests.js';
import { startHub, USERS } from '../support/hubs/running-hub.js';
import { Api, expectError } from '../support/interface/api.js';
import { temporaryFolder } from '../support/temporary-folder.js';

const TASKS = '/api/2.0/workbench/task';
const CANCEL = {
  '2.0': (id: string) => `${TASKS}/${id}/cancel`,
  '1.0': (id: string) => `/api/1.0/workbench/task/${id}/cancel`,
};

const notYours = (id: string) => `task ${id} is not yours: only its creator and the role ADMIN may do this`;

hubForAllTests({ users: USERS });

let vera: Api;
let ulla: Api;
let udo: Api;
let anna: Api;
beforeAll(async () => {
  const api = new Api(hub);
  vera = await api.asUser('vera');
  ulla = await api.asUser('ulla');
  udo = await api.asUser('udo');
  anna = await api.asUser('anna');
});

/** A task of ulla's that waits. */
let id: string;
beforeEach(async () => {
  id = await ulla.simulateWork();
});

describe.each(['2.0', '1.0'] as const)('a task can be canceled over %s', (generation) => {
  const path = () => CANCEL[generation](id);

  it('by its creator', async () => {
    expect((await ulla.delete(path())).status).toBe(204);
  });

  it('by an ADMIN', async () => {
    expect((await anna.delete(path())).status).toBe(204);
  });

  it('by no other user', async () => {
    expectError(await udo.delete(path()), 403, path(), notYours(id));
    expectError(await vera.delete(path()), 403, path(), 'this requires the role USER; vera has VIEWER');
    expect(await ulla.task(id)).toMatchObject({ status: 'WAITING' });
  });
});

it('the same users can cancel by force', async () => {
  const agent = await FakeAgent.join(hub);
  onTestFinished(() => agent.leave());
  const { ref } = await agent.hear('assign');
  const path = CANCEL['2.0'](ref.taskId);
  expectError(await udo.delete(`${path}?force=true`), 403, path, notYours(ref.taskId));
  expect((await ulla.delete(`${path}?force=true`)).status).toBe(204);
});

describe('an ended task can be deleted', () => {
  beforeEach(async () => {
    expect((await ulla.delete(CANCEL['2.0'](id))).status).toBe(204);
  });
  const path = () => `${TASKS}/${id}/delete`;

  it('by its creator', async () => {
    expect((await ulla.delete(path())).status).toBe(204);
  });

  it('by an ADMIN', async () => {
    expect((await anna.delete(path())).status).toBe(204);
  });

  it('by no other user', async () => {
    expectError(await udo.delete(path()), 403, path(), notYours(id));
    expectError(await vera.delete(path()), 403, path(), 'this requires the role USER; vera has VIEWER');
    expect(await ulla.task(id)).toMatchObject({ status: 'CANCELED' });
  });
});

describe('the creator of a task', () => {
  it('is shown to all readers, in the task and in lists', async () => {
    for (const reader of [vera, ulla, udo, anna]) {
      expect(await reader.task(id)).toMatchObject({ creator: 'ulla' });
      const { body } = await reader.get(`${TASKS}/list?id=${id}`);
      expect(body).toMatchObject({ totalElements: 1, content: [{ id, creator: 'ulla' }] });
    }
  });

  it('is the caller of the request, in every API version and for both types of task', async () => {
    for (const generation of ['1.0', '1.1', '2.0']) {
      for (const [kind, json] of [
        ['simulate-work', { duration: 1, creator: 'anna' }],
        ['execute-batch-job', { inputScripts: [{ content: '' }], creator: 'anna' }],
      ] as const) {
        const { body } = await udo.post(`/api/${generation}/workbench/task/${kind}/create`, json);
        expect(await vera.task(body['id'] as string)).toMatchObject({ creator: 'udo' });
      }
    }
  });

  it('can be a filter of lists', async () => {
    const found = async (creator: string) =>
      (
        (await vera.get(`${TASKS}/list?size=2000&creator=${creator}`)).body['content'] as {
          creator: string;
        }[]
      ).map((task) => task.creator);
    expect(new Set(await found('ulla'))).toEqual(new Set(['ulla']));
    expect(new Set(await found('u*'))).toEqual(new Set(['ulla', 'udo']));
    expect(await found('nobody')).toEqual([]);
  });

  it('is absent while security is off; such a task is everybody’s, and later the ADMINs’', async () => {
    const folder = await temporaryFolder();
    onTestFinished(folder.remove);
    const dataDir = join(folder.path, 'data');
    const open = await startHub({ dataDir });
    const somebody = new Api(open);
    const task = await somebody.simulateWork();
    const other = await somebody.simulateWork();
    expect(await somebody.task(task)).not.toHaveProperty('creator');
    for (const creator of ['anonymous', '*']) {
      expect((await somebody.get(`${TASKS}/list?creator=${creator}`)).body).toMatchObject({
        totalElements: 0,
      });
    }
    expect((await somebody.delete(CANCEL['2.0'](other))).status).toBe(204);
    await open.stop();

    const secured = await startHub({ dataDir, users: USERS });
    onTestFinished(secured.stop);
    const path = CANCEL['2.0'](task);
    expectError(await (await new Api(secured).asUser('ulla')).delete(path), 403, path, notYours(task));
    expect((await (await new Api(secured).asUser('anna')).delete(path)).status).toBe(204);
  });

  it('stays when the user is removed', async () => {
    const folder = await temporaryFolder();
    onTestFinished(folder.remove);
    const dataDir = join(folder.path, 'data');
    const before = await startHub({ dataDir, users: USERS });
    const task = await (await new Api(before).asUser('udo')).simulateWork();
    await before.stop();
    const { udo: _, ...others } = USERS;
    const after = await startHub({ dataDir, users: others });
    onTestFinished(after.stop);
    expect(await (await new Api(after).asUser('vera')).task(task)).toMatchObject({ creator: 'udo' });
  });
});
