/** Webhooks of studies (contract 12.45 and 12.19). */
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { FakeAgent } from '../support/agents/fake-agent.js';
import { eventually } from '../support/eventually.js';
import { type HubSetup, type RunningHub, startHub, USERS } from '../support/hubs/running-hub.js';
import { type ReceivedWebhook, WebhookReceiver } from '../support/hubs/webhook-receiver.js';
import { Api, base64, expectError, OFFSET_TIMESTAMP } from '../support/interface/api.js';
import { jsonSchemaCheck } from '../support/interface/openapi-check.js';
import { codeBlock } from '../support/pages/code-blocks.js';
import { temporaryFolder } from '../support/temporary-folder.js';

const STUDIES = '/api/x/studies';
const NOWHERE = { classifiers: [{ type: 'VERSION', value: 'none' }] };

let receiver: WebhookReceiver;
let hub: RunningHub;
let api: Api;

beforeEach(async () => {
  receiver = await WebhookReceiver.listen();
  onTestFinished(() => receiver.close());
});

async function start({ config, ...setup }: HubSetup = {}): Promise<void> {
  const local = { allowHttp: true, privateNetworks: ['loopback'], timeout: '1s' };
  const webhooks = { notify: [receiver.origin], ...local, ...config?.webhooks };
  hub = await startHub({ ...setup, config: { ...config, webhooks } });
  onTestFinished(() => hub.stop());
  api = new Api(hub);
}

/** An agent that ends each task so. */
async function agentThat(outcome: 'OK' | 'FAILED'): Promise<void> {
  const agent: FakeAgent = await FakeAgent.join(hub, {
    onHeard(message) {
      if (message.type === 'assign') this.report(message.ref, outcome);
    },
  });
  onTestFinished(() => agent.leave());
}

const requestOf = (fields: object) => ({
  name: 'bearing',
  inputScripts: [{ content: base64('run()') }],
  variables: [{ name: 'speed' }],
  plan: { kind: 'LIST', points: [{ speed: 500 }, { speed: 1000 }] },
  ...fields,
});

async function created(fields: object, by = api): Promise<string> {
  const { status, body, text } = await by.post(STUDIES, requestOf(fields));
  expect(status, text).toBe(201);
  return body['id'] as string;
}

const shown = async (id: string, by = api) => (await by.get(`${STUDIES}/${id}`)).body;
const webhooksOf = async (id: string) => (await shown(id))['webhooks'];
const typeOf = ({ body }: ReceivedWebhook) => (JSON.parse(body) as { type: string }).type;
const idOf = ({ headers }: ReceivedWebhook) => headers['webhook-id'];

describe('the address of a study', () => {
  it('must be one that the configuration allows', async () => {
    await start();
    for (const notify of ['https://elsewhere.example.org', 'hooks', `${receiver.origin}/..%2fx`]) {
      const refused = await api.post(STUDIES, requestOf({ notify }));
      expectError(refused, 400, STUDIES, /^notify: must be an address/);
    }
    expect((await api.get(STUDIES)).body['studies']).toEqual([]);
    await start({ config: { webhooks: { notify: [] } } });
    const refused = await api.post(STUDIES, requestOf({ notify: receiver.origin }));
    expectError(refused, 400, STUDIES, /^notify: this hub sends no webhooks for single tasks and studies;/);
  });

  it('is shown to its creator and to administrators only', async () => {
    await start({ users: USERS });
    const [ulla, udo, anna] = [await api.asUser('ulla'), await api.asUser('udo'), await api.asUser('anna')];
    const notify = `${receiver.origin}/secret-part`;
    const id = await created({ ...NOWHERE, notify }, ulla);
    expect([await shown(id, ulla), await shown(id, anna), await shown(id, udo)]).toMatchObject([
      { notify },
      { notify },
      { notify: receiver.origin },
    ]);
    expect(JSON.stringify((await api.asUser('udo')) && hub.log)).not.toContain('secret-part');
  });
});

describe('a webhook of a study', () => {
  it('tells of each of its ends, with the study as lists show it', async () => {
    await start();
    await agentThat('OK');
    const id = await created({ notify: `${receiver.origin}/a?b=c` });
    const [first] = await receiver.hear(id);
    const listed = (await api.get(STUDIES)).body['studies'] as object[];
    expect(JSON.parse(first?.body ?? '')).toEqual({
      ...{ type: 'study.ended', timestamp: expect.stringMatching(OFFSET_TIMESTAMP), data: listed[0] },
    });
    expect(first).toMatchObject({ path: '/a?b=c', task: { state: 'FINISHED', points: { FINISHED: 2 } } });
    expect(first?.headers).toMatchObject({
      'webhook-id': `${id}.1.notify`,
      'webhook-signature': expect.stringMatching(/^v1,/),
    });
    const delivered = await eventually(async () => {
      const [webhook] = ((await webhooksOf(id)) ?? []) as { state: string }[];
      return webhook?.state === 'DELIVERED' && webhook;
    });
    const endedAt = expect.stringMatching(OFFSET_TIMESTAMP);
    expect(delivered).toEqual({ receiver: receiver.origin, state: 'DELIVERED', tries: 1, endedAt });

    const more = { plan: { kind: 'LIST', points: [{ speed: 1500 }] } };
    expect((await api.post(`${STUDIES}/${id}/points`, more)).status).toBe(200);
    const [, second] = await receiver.hear(id, 2);
    expect(second).toMatchObject({ task: { points: { FINISHED: 3 } } });
    expect(second && idOf(second)).toBe(`${id}.2.notify`);
  });

  it('tells of a pause by itself and of a stop, and of no pause that somebody asked for', async () => {
    await start();
    await agentThat('OK');
    const reader = { kind: 'JSON_PATH', path: '$.a' };
    const values = [{ name: 'a', source: { kind: 'FILE', path: 'a.json' }, reader }];
    const id = await created({ notify: receiver.origin, values, plan: { kind: 'OPEN' } });
    for (const change of ['pause', 'resume']) await api.post(`${STUDIES}/${id}/${change}`, {});
    await api.post(`${STUDIES}/${id}/points`, { plan: { kind: 'LIST', points: [{ speed: 1 }] } });
    const [paused] = await receiver.hear(id);
    expect(paused && [typeOf(paused), paused.task['state'], idOf(paused)]).toEqual([
      ...['study.paused', 'PAUSED', `${id}.1.notify`],
    ]);
    expect(paused?.task['message']).toContain('a is missing: the job left no file a.json');
    await api.post(`${STUDIES}/${id}/stop`, {});
    const [, stopped] = await receiver.hear(id, 2);
    expect(stopped && [typeOf(stopped), stopped.task['state'], idOf(stopped)]).toEqual([
      ...['study.ended', 'STOPPED', `${id}.2.notify`],
    ]);
  });

  it('is sent by configuration for all studies, beside those of the tasks of their points', async () => {
    const path = (name: string) => ({ name, url: `${receiver.origin}/${name}` });
    const receivers = [
      { ...path('all'), studies: true },
      path('tasks'),
      { ...path('failures'), statuses: ['FAILED' as const] },
      { ...path('some'), statuses: ['CANCELED' as const], studies: true },
    ];
    await start({ config: { webhooks: { receivers, notify: [] } } });
    await agentThat('FAILED');
    const id = await created({ stopAfterFailures: 1, plan: { kind: 'LIST', points: [{ speed: 1 }] } });
    const ended = await receiver.hear(id, 2);
    expect(ended.map(idOf).sort()).toEqual([`${id}.1.all`, `${id}.1.some`]);
    expect(ended[0]?.task).toMatchObject({
      state: 'STOPPED',
      message: expect.stringContaining('1 points failed'),
    });
    const { points } = (await api.get(`${STUDIES}/${id}/points`)).body as { points: { taskId: string }[] };
    const ofTask = await receiver.hear(points[0]?.taskId, 3);
    expect(ofTask.map((each) => `${typeOf(each)} ${each.path}`).sort()).toEqual(
      ['all', 'failures', 'tasks'].map((name) => `task.ended /${name}`),
    );
    expect(await webhooksOf(id)).toMatchObject([{ name: 'all' }, { name: 'some' }]);
  });

  it('is sent after a restart, when the hub stopped before', async () => {
    const folder = await temporaryFolder();
    onTestFinished(folder.remove);
    await start({ dataDir: folder.path });
    let held = 0;
    receiver.respond = () => void held++; // never responds
    const id = await created({ ...NOWHERE, notify: receiver.origin });
    await api.post(`${STUDIES}/${id}/stop`, {});
    await eventually(() => held > 0);
    await hub.stop();
    receiver.respond = (response) => response.writeHead(204).end();
    await start({ dataDir: folder.path });
    const [first, second] = await receiver.hear(id, 2);
    expect(second && idOf(second)).toBe(first && idOf(first));
    await eventually(async () => ((await webhooksOf(id)) as { state: string }[])[0]?.state === 'DELIVERED');
  });

  it('has the body that webhooks.md shows', async () => {
    await start();
    const id = await created({ ...NOWHERE, notify: receiver.origin });
    await api.post(`${STUDIES}/${id}/stop`, {});
    const [heard] = await receiver.hear(id);
    const example = JSON.parse(codeBlock('packages/docs/webhooks.md', '"study.ended"')) as { data: unknown };
    expect(Object.keys(example)).toEqual(Object.keys(JSON.parse(heard?.body ?? '{}')));
    const check = jsonSchemaCheck(await api.document(), ['paths', STUDIES, 'get', 'responses', '200']);
    expect(check({ studies: [example.data, heard?.task] })).toEqual([]);
  });
});
