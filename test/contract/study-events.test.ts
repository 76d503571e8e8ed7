/** GET /api/x/studies/{id}/events (contract 12.45). */
import { describe, expect, it, onTestFinished } from 'vitest';
import { FakeAgent } from '../support/agents/fake-agent.js';
import { eventually } from '../support/eventually.js';
import { HUBS } from '../support/hubs/hubs-under-test.js';
import { AUTH, logIn } from '../support/hubs/login.js';
import { type HubSetup, type RunningHub, startHub, USERS } from '../support/hubs/running-hub.js';
import { Api, base64, expectError } from '../support/interface/api.js';
import { EventReader } from '../support/interface/event-reader.js';

const STUDIES = '/api/x/studies';
const NOWHERE = { classifiers: [{ type: 'VERSION', value: 'none' }] };

let hub: RunningHub;
let api: Api;

async function start(setup: HubSetup = {}): Promise<void> {
  hub = await startHub(setup);
  onTestFinished(() => hub.stop());
  api = new Api(hub);
}

async function created(fields: object = {}, by = api): Promise<string> {
  const request = {
    name: 'bearing',
    inputScripts: [{ content: base64('run()') }],
    variables: [{ name: 'speed' }],
    plan: { kind: 'LIST', points: [{ speed: 500 }, { speed: 1000 }] },
  };
  const { status, body, text } = await by.post(STUDIES, { ...request, ...fields });
  expect(status, text).toBe(201);
  return body['id'] as string;
}

async function listen(id: string, query = '', token?: string): Promise<EventReader> {
  const reader = await EventReader.open(hub, `${STUDIES}/${id}/events${query}`, { token });
  onTestFinished(() => reader.close());
  return reader;
}

const listed = async () => ((await api.get(STUDIES)).body['studies'] as Record<string, unknown>[])[0];
const change = (id: string, what: string) => api.post(`${STUDIES}/${id}/${what}`, {});
const stateIs = (state: string) => (event: { data: Record<string, unknown> }) =>
  event.data['state'] === state;

describe('the stream of a study', () => {
  it('begins with the study as it is, and tells of each change of its state and numbers', async () => {
    await start();
    const id = await created(NOWHERE);
    expect((await change(id, 'pause')).status).toBe(200);
    const reader = await listen(id);
    expect(reader.response.headers.get('content-type')).toBe('text/event-stream');
    expect(await reader.next()).toEqual({ type: 'study', id: '', data: await listed() });
    await change(id, 'resume');
    await reader.find(stateIs('RUNNING'));
    const agent: FakeAgent = await FakeAgent.join(hub, {
      instances: [{ id: 'sim', version: 'none' }],
      onHeard(message) {
        if (message.type === 'assign') this.report(message.ref, 'OK');
      },
    });
    onTestFinished(() => agent.leave());
    const finished = await reader.find(stateIs('FINISHED'));
    expect(finished.data).toEqual(await listed());
    expect(finished.data).toMatchObject({ points: { total: 2, FINISHED: 2, open: 0 } });
    // It goes on, since a study may run again.
    const more = { plan: { kind: 'LIST', points: [{ speed: 1500 }] } };
    expect((await api.post(`${STUDIES}/${id}/points`, more)).status).toBe(200);
    const again = await reader.find(({ data }) => (data['points'] as { total: number }).total === 3);
    if (again.data['state'] === 'RUNNING') await reader.find(stateIs('FINISHED'));
    expect((await api.delete(`${STUDIES}/${id}`)).status).toBe(204);
    expect(await reader.rest()).toEqual([{ type: 'removed', id: '', data: { id } }]);
  });

  it('tells nothing while nothing changes, and is the same for all who listen', async () => {
    await start();
    const id = await created({ ...NOWHERE, plan: { kind: 'OPEN' } });
    const readers = await Promise.all(Array.from({ length: 5 }, () => listen(id, '?timeout=4')));
    for (const reader of readers) await reader.find(stateIs('RUNNING'));
    await change(id, 'stop');
    const rest = await Promise.all(readers.map((reader) => reader.rest()));
    for (const events of rest) expect(events.map(({ data }) => data['state'])).toEqual(['STOPPED']);
  });

  it('ends at once when it is to, with the hub, and with the session of its caller', async () => {
    await start({ users: USERS });
    const ulla = await api.asUser('ulla');
    const id = await created(NOWHERE, ulla);
    const { accessToken: token, cookie } = await logIn(api, 'udo');
    expect(await (await listen(id, '?timeout=0', token)).rest()).toMatchObject([{ data: { id } }]);
    const reader = await listen(id, '', token);
    await reader.next();
    await api.call('GET', AUTH.LOGOUT, { headers: { cookie } });
    let hasEnded = false;
    void reader.rest().then(() => {
      hasEnded = true;
    });
    // An authorization counts for a second.
    await eventually(async () => {
      for (const what of ['stop', 'resume']) await ulla.post(`${STUDIES}/${id}/${what}`, {});
      return hasEnded;
    });
    const other = await listen(id, '', ulla.token);
    await other.next();
    await hub.stop();
    expect(await other.rest()).toEqual([]);
  });

  it('is refused for a study that there is not', async () => {
    await start();
    const path = `${STUDIES}/none/events`;
    expectError(await api.get(path), 404, path, /^there is no study with the id "none"$/);
    const own = `${STUDIES}/${await created(NOWHERE)}/events`;
    expectError(await api.get(`${own}?timeout=x`), 400, own, /^timeout: /);
  });

  // Each hub of a cluster counts by itself.
  if (HUBS === 1) {
    it('is refused beyond 16 for a user', async () => {
      await start({ users: USERS });
      const udo = await api.asUser('udo');
      const id = await created(NOWHERE, udo);
      for (let count = 0; count < 16; count++) {
        expect((await listen(id, '', udo.token)).response.status).toBe(200);
      }
      const path = `${STUDIES}/${id}/events`;
      const refused = await udo.get(path);
      expectError(refused, 429, path, /^udo follows 16 studies, which is the most/);
      expect(refused.headers.get('x-error-code')).toBe('TOO_MANY_STREAMS');
    });
  }
});
