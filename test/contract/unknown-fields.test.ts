/** Misspelled optional fields of create requests: they are ignored (contract 1.3), and named in the header `Warning` of the 201. */
import { describe, expect, it } from 'vitest';
import { FakeAgent } from '../support/agents/fake-agent.js';
import { api, hubForAllTests, ownHub } from '../support/hubs/hub-for-tests.js';
import { base64 } from '../support/interface/api.js';

hubForAllTests();

const SIMULATE = '/api/2.0/workbench/task/simulate-work/create';
const BATCH = '/api/2.0/workbench/task/execute-batch-job/create';
const scripts = [{ content: base64('1') }];

async function warningOf(path: string, request: object): Promise<string | null> {
  const answer = await api.post(path, request);
  expect(answer.status, answer.text).toBe(201);
  return answer.headers.get('warning');
}
const ignored = (fields: string) => `299 - "ignored request fields that the hub does not know: ${fields}"`;

describe('the header Warning of a create request', () => {
  it('is absent without unknown fields', async () => {
    expect(await warningOf(SIMULATE, { duration: 0, name: null, timeLimit: 5 })).toBeNull();
    const file = { filename: 'a', content: base64('a') };
    expect(await warningOf(BATCH, { inputScripts: scripts, additionalFiles: [file] })).toBeNull();
  });

  it.each(['1.0', '1.1', '2.0'])(
    'names a misspelled field with its likely spelling, in %s',
    async (version) => {
      const path = SIMULATE.replace('2.0', version);
      expect(await warningOf(path, { duration: 0, timeLimt: 5 })).toBe(
        ignored('timeLimt (did you mean timeLimit?)'),
      );
    },
  );

  it('names fields of lists and objects once each, with where they first are', async () => {
    const request = {
      inputScripts: scripts,
      classifier: [],
      inputModel: { type: 'MJCF', content: base64('m'), size: 1 },
      additionalFiles: [
        { filename: 'a', content: base64('a') },
        { filename: 'b', Content: base64('secret'), storagename: null, content: base64('b') },
        { filename: 'c', Content: base64('secret'), content: base64('c') },
      ],
    };
    expect(await warningOf(BATCH, request)).toBe(
      ignored(
        'classifier (did you mean classifiers?), inputModel.size, ' +
          'additionalFiles[1].Content (did you mean content?), ' +
          'additionalFiles[1].storagename (did you mean storageName?)',
      ),
    );
  });

  it('names five fields, and none that is long or has unusual characters', async () => {
    const unknown = { a1: 'secret', a2: 1, 'x\r\nSet-Cookie: y': 1, 'gr"ün': 1, a3: 1, a4: 1, a5: 1, a6: 1 };
    const warning = await warningOf(SIMULATE, { duration: 0, ...unknown, [`wbh_${'s'.repeat(60)}`]: 1 });
    expect(warning).toBe(ignored('a1, a2, a3, a4, a5 and 4 more'));
    expect(await warningOf(SIMULATE, { duration: 0, 'ü ü': 1 })).toBe(ignored('1 with an unusual name'));
  });

  it('is left out of a refusal', async () => {
    const answer = await api.post(SIMULATE, { duratio: 0 });
    expect([answer.status, answer.headers.get('warning')]).toEqual([400, null]);
  });
});

describe('the message of a task whose request had a misspelled field', () => {
  const NOTE =
    'The hub ignored fields of the request that it does not know: timeLimt (did you mean timeLimit?).';
  const TASKS = '/api/2.0/workbench/task';
  const nowhere = { classifiers: [{ type: 'VERSION', value: '404' }], timeLimt: 5 };
  const messageAt = async (path: string) => (await api.get(path)).body['message'];

  async function created(path: string, request: object): Promise<string> {
    return String((await api.post(path, request)).body['id']);
  }

  it('names it while the task waits, in lists and results too', async () => {
    const id = await created(BATCH, { ...nowhere, inputScripts: scripts });
    const message = await messageAt(`${TASKS}/${id}`);
    expect(message).toMatch(
      /^The task waits for a workbench instance\. No known instance fits: .+\. The hub/,
    );
    expect(String(message).endsWith(NOTE)).toBe(true);
    expect(await messageAt(`${TASKS}/execute-batch-job/${id}/result`)).toBe(message);
    const { content } = (await api.get(`${TASKS}/list?id=${id}`)).body as { content: object[] };
    expect(content).toEqual([expect.objectContaining({ id, message })]);
  });

  it('names it in the result of each later status, but not in a task that no longer waits', async () => {
    const simulated = await created(SIMULATE, { ...nowhere, duration: 0 });
    const batch = await created(BATCH, { ...nowhere, inputScripts: scripts });
    for (const id of [simulated, batch]) await api.delete(`${TASKS}/${id}/cancel`);
    const canceled = `The task was canceled before it ran. ${NOTE}`;
    expect(await messageAt(`${TASKS}/simulate-work/${simulated}/result`)).toBe(canceled);
    expect(await messageAt(`${TASKS}/execute-batch-job/${batch}/result`)).toBe(canceled);
    expect((await api.get(`${TASKS}/${batch}`)).body).not.toHaveProperty('message');
  });

  it('is as before in 1.x', async () => {
    const id = await created(SIMULATE.replace('2.0', '1.1'), { ...nowhere, duration: 0 });
    expect(await messageAt(`/api/1.1/workbench/task/simulate-work/${id}/result`)).toBe(
      'The task waits for a workbench instance.',
    );
  });

  it('names it in the result of a task that runs, finishes or fails', async () => {
    // Tasks of other tests wait on their hub.
    const { hub: own, api: client } = await ownHub();
    const agent = await FakeAgent.join(own, { instances: [{ id: 'a', version: '1', labels: [] }] });
    const outcomes = [
      { outcome: 'OK', message: null, shown: NOTE },
      { outcome: 'FAILED', message: 'the disk is full', shown: `the disk is full. ${NOTE}` },
    ] as const;
    for (const { outcome, message, shown } of outcomes) {
      const { body } = await client.post(BATCH, { inputScripts: scripts, timeLimt: 5 });
      const { ref } = await agent.hear('assign', (assigned) => assigned.ref.taskId === body['id']);
      const result = `${TASKS}/execute-batch-job/${body['id']}/result`;
      expect((await client.get(result)).body['message']).toBe(NOTE);
      agent.report(ref, outcome, { message });
      expect((await client.get(`${result}?timeout=10`)).body['message']).toBe(shown);
    }
    await agent.leave();
  });
});
