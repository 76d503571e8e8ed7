/** Tasks of points name their study, and are filtered by it (contract 12.47). */
import { expect, it } from 'vitest';
import { eventually } from '../support/eventually.js';
import { api, hub, hubForEachTest } from '../support/hubs/hub-for-tests.js';
import { base64, expectError } from '../support/interface/api.js';

hubForEachTest();

const nowhere = { classifiers: [{ type: 'VERSION', value: 'none' }] };
const UNKNOWN = '019aa4f2-ffff-7c41-9f0e-5b2f6f1d2a77';

interface Shown {
  readonly id: string;
  readonly study?: { readonly id: string; readonly point: number };
}

interface List {
  readonly tasks: readonly Shown[];
  readonly total: number;
  readonly counts: Readonly<Record<string, number>>;
  readonly cursor: string;
}

const listed = async (query = '') => (await api.get(`/api/x/tasks?${query}`)).body as unknown as List;

/** A study of three points, whose tasks wait. */
async function study(): Promise<string> {
  const { status, body, text } = await api.call('POST', '/api/x/studies', {
    json: {
      ...{ name: 'bearing', inputScripts: [{ content: base64('run()') }], ...nowhere },
      variables: [{ name: 'speed', unit: '1/min', lower: 0, upper: 5000 }],
      plan: { kind: 'GRID', levels: [{ variable: 'speed', values: [500, 1000, 1500] }] },
      values: [],
    },
  });
  expect(status, text).toBe(201);
  const id = String(body['id']);
  await eventually(async () => (await listed(`study=${id}`)).total === 3);
  return id;
}

const pointsOf = ({ tasks }: List) => tasks.map(({ study: of }) => of?.point);

it('the task of a point names study and point, alone, in lists and in 2.x as before', async () => {
  const id = await study();
  const alone = await api.batchJob(nowhere);
  const { tasks } = await listed();
  expect(tasks[0]).toMatchObject({ id: alone });
  expect(tasks[0]).not.toHaveProperty('study');
  expect(tasks.slice(1).map(({ study: of }) => of)).toEqual([3, 2, 1].map((point) => ({ id, point })));
  const [, last] = tasks;
  expect((await api.get(`/api/x/tasks/${last?.id}`)).body).toMatchObject({ study: { id, point: 3 } });
  expect(await api.task(String(last?.id))).not.toHaveProperty('study');
});

it('lists have the tasks of one study, or those of none, and counts of the same', async () => {
  const [first, second] = [await study(), await study()];
  const alone = await api.batchJob(nowhere);
  const ofFirst = await listed(`study=${first}`);
  expect(pointsOf(ofFirst)).toEqual([3, 2, 1]);
  expect(ofFirst.tasks.every(({ study: of }) => of?.id === first)).toBe(true);
  expect(ofFirst).toMatchObject({ total: 3, counts: { WAITING: 3, CANCELED: 0 } });
  expect(await listed(`study=${second}&status=FINISHED`)).toMatchObject({ total: 0, counts: { WAITING: 3 } });
  const none = await listed('study=none');
  expect(none.tasks.map(({ id }) => id)).toEqual([alone]);
  expect(none).toMatchObject({ total: 1, counts: { WAITING: 1 } });
  expect(await listed(`study=${UNKNOWN}`)).toMatchObject({ total: 0, tasks: [] });
  expect((await listed()).total).toBe(7);
});

it('events and changes are of the same tasks', async () => {
  const { cursor } = await listed();
  const id = await study();
  const alone = await api.batchJob(nowhere);
  const told = async (query: string) => {
    const events = await fetch(`${hub.address}/api/x/events?timeout=0&since=${cursor}&${query}`);
    return [...(await events.text()).matchAll(/^event: task\ndata: (.*)$/gm)].map(
      ([, data]) => JSON.parse(data ?? '') as Shown,
    );
  };
  const points = await told(`study=${id}`);
  expect(points.map(({ study: of }) => of)).toEqual([1, 2, 3].map((point) => ({ id, point })));
  expect((await told('study=none')).map((task) => task.id)).toEqual([alone]);

  const cancel = async (filter: object, dryRun: boolean) =>
    (await api.call('POST', '/api/x/tasks/cancel', { json: { filter, dryRun } })).body;
  expect(await cancel({ study: null }, true)).toMatchObject({ matched: 4 });
  expect(await cancel({ study: 'none' }, false)).toMatchObject({ changed: 1, tasks: [{ id: alone }] });
  expect(await cancel({ study: UNKNOWN }, false)).toMatchObject({ matched: 0 });
  expect(await cancel({ study: id }, true)).toMatchObject({
    matched: 3,
    tasks: [{ study: { id, point: 3 } }, {}, {}],
  });
});

it('the filter takes an id or none, and nothing else', async () => {
  const what = 'must be the id of a study, or none';
  for (const value of ['', 'None', 'bearing', `${UNKNOWN}*`, UNKNOWN.toUpperCase()]) {
    for (const path of ['/api/x/tasks', '/api/x/events'])
      expectError(
        await api.get(`${path}?study=${encodeURIComponent(value)}`),
        400,
        path,
        `study: ${what}, given once`,
      );
    const json = { filter: { study: value }, dryRun: true };
    const path = '/api/x/tasks/cancel';
    expectError(await api.call('POST', path, { json }), 400, path, `filter.study: ${what}`);
  }
});

it('the task of a point outlives its study, and names it', async () => {
  const id = await study();
  const before = await listed(`study=${id}`);
  await api.call('POST', `/api/x/studies/${id}/stop`);
  await eventually(async () => (await api.get(`/api/x/studies/${id}`)).body['state'] === 'STOPPED');
  await eventually(async () => (await api.call('DELETE', `/api/x/studies/${id}`)).status === 204);
  expect((await api.get(`/api/x/studies/${id}`)).status).toBe(404);
  expect((await listed(`study=${id}`)).tasks).toMatchObject(
    before.tasks.map(({ id: taskId, study: of }) => ({ id: taskId, study: of })),
  );
});
