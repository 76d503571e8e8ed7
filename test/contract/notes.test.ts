/** Notes of tasks (contract 12.42). */
import { describe, expect, it } from 'vitest';
import { api, hub, hubForEachTest } from '../support/hubs/hub-for-tests.js';
import { expectError } from '../support/interface/api.js';
import { formOf } from '../support/interface/forms.js';
import { PATH, SCRIPT } from './batch-job-requests.js';

hubForEachTest();

const NOTE = 'Second try,\nwith the *softer* bearing: Größe 7 🚀';
const nowhere = { classifiers: [{ type: 'VERSION', value: 'none' }] };
const job = { ...nowhere, inputScripts: [SCRIPT] };

async function noteOf(id: unknown): Promise<unknown> {
  const { body } = await api.get(`/api/x/tasks/${id}`);
  const list = await api.get(`/api/x/tasks?id=${id}`);
  expect((list.body['tasks'] as { note?: string }[])[0]?.note).toBe(body['note']);
  expect((await api.task(String(id)))['note']).toBe(body['note']);
  return body['note'];
}

async function idsBy(note: string): Promise<unknown[]> {
  const query = `?note=${encodeURIComponent(note)}`;
  const idsIn = (tasks: unknown) => (tasks as { id: string }[]).map(({ id }) => id);
  const ids = idsIn((await api.get(`/api/x/tasks${query}`)).body['tasks']);
  expect(idsIn((await api.get(`/api/2.0/workbench/task/list${query}`)).body['content'])).toEqual(ids);
  return ids;
}

describe('the note of a task', () => {
  it.each([
    ['simulated work, 1.0', '/api/1.0/workbench/task/simulate-work/create', { duration: 1 }],
    ['simulated work, 2.0', '/api/2.0/workbench/task/simulate-work/create', { duration: 1 }],
    ['a batch job, 2.0', PATH, { inputScripts: [SCRIPT] }],
    ['simulated work, x', '/api/x/tasks', { type: 'SIMULATE_WORK', duration: 1 }],
    ['a batch job, x', '/api/x/tasks', { type: 'EXECUTE_BATCH_JOB', inputScripts: [SCRIPT] }],
  ])('is shown as it was given: %s', async (_, path, body) => {
    const created = await api.call('POST', path, { json: { ...nowhere, ...body, note: NOTE } });
    expect(created.status, created.text).toBe(201);
    expect(await noteOf(created.body['id'])).toBe(NOTE);
    const { body: other } = await api.call('POST', path, { json: { ...nowhere, ...body, note: null } });
    expect(await noteOf(other['id'])).toBeUndefined();
  });

  it('may be given in a form', async () => {
    const script = {
      head: 'Content-Disposition: form-data; name="script"; filename="throw.js"',
      content: 'print(1)',
    };
    const note = { head: 'Content-Disposition: form-data; name="note"', content: NOTE };
    const { status, body, text } = await api.call('POST', '/api/x/tasks/form', formOf([script, note]));
    expect(status, text).toBe(201);
    expect(body['note']).toBe(NOTE);
  });

  it('has at most 2,000 characters', async () => {
    expect(await noteOf(await api.batchJob({ ...nowhere, note: 'n'.repeat(2000) }))).toHaveLength(2000);
    const tooLong = await api.call('POST', PATH, { json: { ...job, note: 'n'.repeat(2001) } });
    expectError(tooLong, 400, PATH, 'note: must be at most 2000 characters long');
    const number = await api.call('POST', PATH, { json: { ...job, note: 7 } });
    expectError(number, 400, PATH, 'note: must be a text');
  });

  it('is searched by a pattern, without case, in lists, events and bulk changes', async () => {
    const { cursor } = (await api.get('/api/x/tasks')).body;
    const id = await api.batchJob({ ...nowhere, note: NOTE });
    await api.batchJob({ ...nowhere, note: 'another' });
    await api.batchJob(nowhere);
    expect(await idsBy('*SOFTER*größe ?*')).toEqual([id]);
    expect(await idsBy('softer')).toEqual([]);
    const events = await fetch(`${hub.address}/api/x/events?timeout=0&since=${cursor}&note=second*`);
    const told = (await events.text()).matchAll(/^event: task\ndata: \{"id":"([^"]+)"/gm);
    expect([...told].map(([, each]) => each)).toEqual([id]);
    const { body } = await api.call('POST', '/api/x/tasks/cancel', {
      json: { filter: { note: 'second*' }, dryRun: false },
    });
    expect(body).toMatchObject({ matched: 1, changed: 1, tasks: [{ id, note: NOTE }] });
  });

  it('belongs to the content that an Idempotency-Key counts', async () => {
    const create = (note?: string) =>
      api.call('POST', PATH, {
        json: { ...job, ...(note === undefined ? {} : { note }) },
        headers: { 'Idempotency-Key': 'key-7' },
      });
    expect((await create(NOTE)).status).toBe(201);
    expect((await create(NOTE)).headers.get('idempotency-replayed')).toBe('true');
    expect((await create()).status).toBe(422);
  });
});
