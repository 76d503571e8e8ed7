/** Webhooks for the ends of tasks, and the creation of tasks under /api/x (contract 12.18 and 12.19). */
import { createHmac, randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { hubConfigSchema } from '@workbench-hub/hub/config';
import { webhookKeys } from '@workbench-hub/hub/security/webhook-keys';
import { receiverSecret } from '@workbench-hub/hub/webhooks/signature';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { FakeAgent } from '../support/agents/fake-agent.js';
import { eventually } from '../support/eventually.js';
import { type Authority, authority } from '../support/hubs/certificates.js';
import { HUBS, PREPARE_SHUTDOWN } from '../support/hubs/hubs-under-test.js';
import { type HubSetup, type RunningHub, startHub, USERS } from '../support/hubs/running-hub.js';
import { type Respond, WebhookReceiver } from '../support/hubs/webhook-receiver.js';
import { Api, base64, expectError, OFFSET_TIMESTAMP } from '../support/interface/api.js';
import { jsonSchemaCheck } from '../support/interface/openapi-check.js';
import { codeBlock } from '../support/pages/code-blocks.js';

const TASKS = '/api/x/tasks';
const NOWHERE = { classifiers: [{ type: 'VERSION', value: 'none' }] };
const WORK = { type: 'SIMULATE_WORK', duration: 0 };

let receiver: WebhookReceiver;
let hub: RunningHub;
let api: Api;

beforeEach(async () => {
  receiver = await WebhookReceiver.listen();
  onTestFinished(() => receiver.close());
});

/** Webhooks to the receiver, which is on a loopback address without TLS. */
function local(more: object = {}) {
  return {
    notify: [receiver.origin],
    allowHttp: true,
    privateNetworks: ['loopback'],
    timeout: '1s',
    ...more,
  };
}

async function start({ config, ...setup }: HubSetup = {}): Promise<void> {
  hub = await startHub({ ...setup, config: { webhooks: local(), ...config } });
  onTestFinished(() => hub.stop());
  api = new Api(hub);
}

async function created(request: object, by = api): Promise<string> {
  const { status, body, text } = await by.post(TASKS, request);
  expect(status, text).toBe(201);
  return body['id'] as string;
}

/** A task that was created with `notify` and canceled. */
async function ended(notify: string, by = api): Promise<string> {
  const id = await created({ ...WORK, ...NOWHERE, notify }, by);
  expect((await by.delete(`/api/2.0/workbench/task/${id}/cancel`)).status).toBe(204);
  return id;
}

/** The webhooks of a task as its page shows them. */
async function webhooksOf(id: string, by = api): Promise<Record<string, unknown>[]> {
  return (await by.get(`${TASKS}/${id}`)).body['webhooks'] as Record<string, unknown>[];
}

async function faultOf(id: string): Promise<unknown> {
  return eventually(async () => (await webhooksOf(id))?.[0]?.['fault'] as string | undefined);
}

describe('the creation of a task', () => {
  it('takes both types of job, and shows the task as lists do', async () => {
    await start();
    const work = await api.post(TASKS, { ...WORK, ...NOWHERE, name: 'a', timeLimit: 60 });
    expect([work.status, work.body['type'], work.body['status']]).toEqual([201, 'SIMULATE_WORK', 'WAITING']);
    const job = { type: 'EXECUTE_BATCH_JOB', inputScripts: [{ content: base64('print(1)') }], ...NOWHERE };
    const batch = await api.post(TASKS, job);
    expect([batch.status, batch.body['type'], batch.body['status']]).toEqual([
      201,
      'EXECUTE_BATCH_JOB',
      'WAITING',
    ]);
    expect((await api.get(TASKS)).body['tasks']).toEqual([batch.body, work.body]);
    expect((await api.get(`${TASKS}/${batch.body['id']}/inputs/scripts%2F1`)).text).toBe('print(1)');
    const large = await api.post(TASKS, { ...job, inputScripts: [{ content: base64('#'.repeat(600_000)) }] });
    expect(large.status).toBe(201);
    expect((await api.get(`${TASKS}/${large.body['id']}`)).body['inputs']).toMatchObject([{ size: 600_000 }]);
  });

  it('names each fault of a request, and unknown fields', async () => {
    await start();
    const refused = async (json: object, message: RegExp) =>
      expectError(await api.post(TASKS, json), 400, TASKS, message);
    await refused({ duration: 1 }, /^type: must be SIMULATE_WORK or EXECUTE_BATCH_JOB$/);
    await refused({ type: 'NONE' }, /^type: must be SIMULATE_WORK or EXECUTE_BATCH_JOB$/);
    await refused({ type: 'SIMULATE_WORK' }, /^duration: is required$/);
    await refused({ type: 'EXECUTE_BATCH_JOB' }, /^inputScripts: is required$/);
    await refused({ ...WORK, notify: 7 }, /^notify: must be a text$/);
    const job = { type: 'EXECUTE_BATCH_JOB', inputScripts: [{ content: '*' }], notify: 'x' };
    await refused(job, /notify: must be an address.*inputScripts\[0\].content: must be/);
    const { status, headers } = await api.post(TASKS, { ...WORK, ...NOWHERE, timeLimt: 1 });
    expect([status, headers.get('warning')]).toEqual([
      201,
      expect.stringContaining('timeLimt (did you mean'),
    ]);
    expect((await api.get(TASKS)).body['total']).toBe(1);
  });

  it('is repeated with the same key without a second task', async () => {
    await start();
    const create = (json: object) =>
      api.call('POST', TASKS, { json, headers: { 'idempotency-key': 'once' } });
    const request = { ...WORK, ...NOWHERE, notify: receiver.origin };
    const first = await create(request);
    const again = await create(request);
    expect([again.status, again.headers.get('idempotency-replayed')]).toEqual([201, 'true']);
    expect(again.body['id']).toBe(first.body['id']);
    expect((await create({ ...request, notify: `${receiver.origin}/other` })).status).toBe(422);
    expect((await create({ ...request, notify: undefined })).status).toBe(422);
    expect((await api.get(TASKS)).body['total']).toBe(1);
  });
});

describe('an address for the end of a task', () => {
  it('must be at or below one that the configuration allows', async () => {
    const { port } = receiver;
    await start({ config: { webhooks: local({ notify: [`${receiver.origin}/hooks`] }) } });
    const status = async (notify: string) => (await api.post(TASKS, { ...WORK, ...NOWHERE, notify })).status;
    for (const below of ['/hooks', '/hooks/', '/hooks/a?b=c', '/x/../hooks/a']) {
      expect(await status(receiver.origin + below), below).toBe(201);
    }
    for (const other of [
      `${receiver.origin}/`,
      `${receiver.origin}/hooksx`,
      `${receiver.origin}/hooks/../x`,
      `${receiver.origin}/hooks/%2e%2e/x`,
      `${receiver.origin}/hooks/..%2fx`,
      `${receiver.origin}/hooks/..%5cx`,
      `${receiver.origin}/hooks/..%252fx`,
      `${receiver.origin}/hooks/%252e%252e/x`,
      `${receiver.origin}/hooks/..;a=b/x`,
      `https://127.0.0.1:${port}/hooks/a`,
      `http://localhost:${port}/hooks/a`,
      `http://127.0.0.1:${port + 1}/hooks/a`,
      `http://x@127.0.0.1:${port}/hooks/a`,
      `http://127.0.0.1:${port}@evil.example/hooks/a`,
      `${receiver.origin}/hooks/a#b`,
      'ftp://127.0.0.1/hooks',
      'hooks',
      '',
    ]) {
      expect(await status(other), other).toBe(400);
    }
    const wrong = { ...WORK, ...NOWHERE, notify: 'https://evil.example/' };
    const allowed = `notify: must be an address that this hub allows: at or below ${receiver.origin}/hooks`;
    expectError(await api.post(TASKS, wrong), 400, TASKS, allowed);
  });

  it('is refused as long as the configuration allows none', async () => {
    await start({ config: { webhooks: {} } });
    expectError(
      await api.post(TASKS, { ...WORK, notify: receiver.origin }),
      400,
      TASKS,
      'notify: this hub sends no webhooks for single tasks and studies; an administrator can allow addresses by webhooks.notify',
    );
  });

  it('is shown to its creator and to administrators only', async () => {
    await start({ users: USERS });
    const [ulla, udo, anna] = [await api.asUser('ulla'), await api.asUser('udo'), await api.asUser('anna')];
    const id = await ended(`${receiver.origin}/secret-part`, ulla);
    await receiver.hear(id);
    const shown = async (by: Api) => (await by.get(`${TASKS}/${id}`)).body['notify'];
    expect([await shown(ulla), await shown(anna)]).toEqual(Array(2).fill(`${receiver.origin}/secret-part`));
    expect(await shown(udo)).toBe(receiver.origin);
    expect(JSON.stringify(hub.log)).not.toContain('secret-part');
  });
});

describe('a webhook', () => {
  it('tells of each end with the task as events show it, signed', async () => {
    await start();
    const agent = await FakeAgent.join(hub);
    onTestFinished(() => agent.leave());
    const id = await created({
      ...WORK,
      name: 'run 7',
      note: 'cold start',
      notify: `${receiver.origin}/a?b=c`,
    });
    const { ref } = await agent.hear('assign');
    await agent.end(ref, 'OK');
    const [heard] = await receiver.hear(id);
    expect(heard?.path).toBe('/a?b=c');
    const [event] = (await api.get(TASKS)).body['tasks'] as unknown[];
    expect(JSON.parse(heard?.body ?? '')).toEqual({
      type: 'task.ended',
      timestamp: expect.stringMatching(OFFSET_TIMESTAMP),
      data: event,
    });
    expect(event).toMatchObject({ id, name: 'run 7', note: 'cold start', status: 'FINISHED' });
    const headers = heard?.headers ?? {};
    expect(headers).toMatchObject({ 'content-type': 'application/json', 'webhook-id': `${id}.notify` });
    expect(Math.abs(Number(headers['webhook-timestamp']) - Date.now() / 1000)).toBeLessThan(60);
    expect(headers['webhook-signature']).toBe(signature(await secretFor(receiver.origin), heard));
    const delivered = await eventually(async () => {
      const [webhook] = await webhooksOf(id);
      return webhook?.['state'] === 'DELIVERED' && webhook;
    });
    expect(delivered).toEqual({
      receiver: receiver.origin,
      state: 'DELIVERED',
      tries: 1,
      endedAt: expect.stringMatching(OFFSET_TIMESTAMP),
    });
  });

  it('has the body that webhooks.md shows', async () => {
    await start();
    const [heard] = await receiver.hear(await ended(receiver.origin));
    const example = JSON.parse(codeBlock('packages/docs/webhooks.md', '"type": "task.ended"')) as {
      data: unknown;
    };
    expect(Object.keys(example)).toEqual(Object.keys(JSON.parse(heard?.body ?? '{}')));
    const check = jsonSchemaCheck(await api.document(), ['paths', TASKS, 'post', 'responses', '201']);
    expect(check(example.data)).toEqual([]);
    expect(check(heard?.task)).toEqual([]);
  });

  // A hub with a new data folder takes the keys of those that began before it.
  if (HUBS === 1) {
    it('has a secret for each receiver, and a signature by each key of the hub', async () => {
      await start();
      const [first, other] = [
        await secretFor(receiver.origin),
        await secretFor('https://ci.example.org/hooks'),
      ];
      expect(first).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
      expect(other).not.toBe(first);
      const path = join(hub.config.dataDir, 'webhook-keys');
      expect(statSync(path).mode & 0o777).toBe(0o600);
      const former = readFileSync(path, 'utf8');
      await hub.stop();
      const dataDir = temporary('two-keys-');
      writeFileSync(join(dataDir, 'webhook-keys'), `${base64(randomBytes(32))}\n${former}`, { mode: 0o600 });
      await start({ dataDir });
      const [heard] = await receiver.hear(await ended(receiver.origin));
      const byNewer = signature(await secretFor(receiver.origin), heard);
      expect(heard?.headers['webhook-signature']).toBe(`${byNewer} ${signature(first, heard)}`);
    });
  }

  it('is sent by configuration for all tasks, or for some ends of them', async () => {
    const receivers = [
      { name: 'all', url: `${receiver.origin}/all` },
      { name: 'failures', url: `${receiver.origin}/failures`, statuses: ['FAILED' as const] },
    ];
    await start({ config: { webhooks: local({ receivers, notify: [] }) } });
    const agent = await FakeAgent.join(hub);
    onTestFinished(() => agent.leave());
    const ids: string[] = [];
    for (const outcome of ['OK', 'FAILED'] as const) {
      ids.push(await api.simulateWork());
      const { ref } = await agent.hear('assign');
      await agent.end(ref, outcome, { message: outcome === 'OK' ? null : 'no license' });
    }
    const [finished, failed] = ids;
    await receiver.hear(finished);
    await receiver.hear(failed, 2);
    const told = receiver.received.map(({ task, headers }) => [task['status'], headers['webhook-id']]);
    expect(told.sort()).toEqual([
      ['FAILED', `${failed}.all`],
      ['FAILED', `${failed}.failures`],
      ['FINISHED', `${finished}.all`],
    ]);
    expect((await webhooksOf(failed as string)).map(({ name }) => name)).toEqual(['all', 'failures']);
  });

  it('is sent also when the task is deleted at once', async () => {
    await start();
    receiver.respond = (response) => void setTimeout(() => response.writeHead(204).end(), 300);
    const ids = await Promise.all(Array.from({ length: 20 }, () => ended(receiver.origin)));
    for (const id of ids) expect((await api.delete(`/api/2.0/workbench/task/${id}/delete`)).status).toBe(204);
    for (const id of ids)
      expect((await receiver.hear(id))[0]?.task).toMatchObject({ id, status: 'CANCELED' });
  });

  it('is sent while a shutdown is prepared', async () => {
    await start();
    const id = await created({ ...WORK, ...NOWHERE, notify: receiver.origin });
    await api.post(PREPARE_SHUTDOWN, { initiated: true });
    await api.delete(`/api/2.0/workbench/task/${id}/cancel`);
    await receiver.hear(id);
  });

  it('is sent after a restart, when the hub stopped before', async () => {
    const dataDir = temporary('webhooks-');
    await start({ dataDir });
    let held = 0;
    receiver.respond = () => void held++; // never responds
    const id = await ended(receiver.origin);
    await eventually(() => held > 0);
    await hub.stop();
    receiver.respond = (response) => response.writeHead(200).end('thanks');
    await start({ dataDir });
    const [first, second] = await receiver.hear(id, 2);
    expect(second?.headers['webhook-id']).toBe(first?.headers['webhook-id']);
    await eventually(async () => (await webhooksOf(id))[0]?.['state'] === 'DELIVERED');
  });
});

describe('a receiver', () => {
  it.each<[string, Respond, string]>([
    ['fails', (response) => response.writeHead(500).end(), 'responded with 500'],
    [
      'redirects',
      (response, { path }) => response.writeHead(307, { location: `${path}elsewhere` }).end(),
      'responded with 307; redirects are not followed',
    ],
    ['is silent', () => undefined, 'did not respond within 1 s'],
    ['closes the connection', (response) => response.socket?.destroy(), 'could not be reached (ECONNRESET)'],
    [
      'sends nonsense',
      (response) => response.socket?.end('nonsense\r\n\r\n'),
      'could not be reached (HPE_INVALID_CONSTANT)',
    ],
  ])('that %s gets the webhook again', async (_, respond, fault) => {
    await start();
    receiver.respond = respond;
    const id = await ended(`${receiver.origin}/`);
    expect(await faultOf(id)).toBe(fault);
    const [webhook] = await webhooksOf(id);
    expect(webhook).toMatchObject({ state: 'WAITING', tries: 1 });
    receiver.respond = (response) => response.writeHead(204).end();
    expect(new Set((await receiver.hear(id, 2)).map(({ path }) => path))).toEqual(new Set(['/']));
    await eventually(async () => (await webhooksOf(id))[0]?.['state'] === 'DELIVERED');
  });

  it('that wants no more gets no more', async () => {
    await start();
    receiver.respond = (response) => response.writeHead(410).end();
    const id = await ended(receiver.origin);
    await eventually(async () => (await webhooksOf(id))[0]?.['state'] === 'FAILED');
    expect((await webhooksOf(id))[0]).toMatchObject({ fault: 'responded with 410', tries: 1 });
  });

  it('that responds without end is not read', async () => {
    await start();
    let written = 0;
    let isClosed = false;
    receiver.respond = (response) => {
      response.writeHead(200);
      response.on('close', () => {
        isClosed = true;
      });
      const chunk = Buffer.alloc(65_536);
      const write = () => {
        while (!response.destroyed) {
          written += chunk.length;
          if (!response.write(chunk)) break;
        }
      };
      response.on('drain', write);
      write();
    };
    const id = await ended(receiver.origin);
    await eventually(async () => (await webhooksOf(id))[0]?.['state'] === 'DELIVERED');
    await eventually(() => isClosed);
    expect(written).toBeLessThan(20 * 1024 * 1024);
  });

  // Each hub sends so many to a receiver at a time, and counts those that it knows to wait.
  if (HUBS === 1) {
    it('that is slow does not keep others from theirs', async () => {
      const slow = await WebhookReceiver.listen();
      onTestFinished(() => slow.close());
      slow.respond = () => undefined;
      await start({
        config: { webhooks: local({ notify: [slow.origin, receiver.origin], timeout: '30s' }) },
      });
      for (let count = 0; count < 40; count++) await ended(slow.origin);
      await eventually(() => slow.received.length === 8);
      await receiver.hear(await ended(receiver.origin));
      expect(slow.received).toHaveLength(8);
      expect((await api.get('/actuator/prometheus')).text).toContain(
        `workbench_hub_webhooks_waiting{receiver="${slow.origin}"} 40`,
      );
    });

    it('cannot keep more waiting than the configuration allows', async () => {
      receiver.respond = (response) => response.writeHead(503, { 'retry-after': '3000' }).end();
      await start({ config: { webhooks: local({ maxWaiting: 2 }) } });
      const ids: string[] = [];
      for (let count = 0; count < 3; count++) ids.push(await ended(receiver.origin));
      expect(await webhooksOf(ids[2] as string)).toMatchObject([
        { state: 'FAILED', tries: 0, fault: 'too many deliveries waited for this receiver' },
      ]);
      expect(await webhooksOf(ids[1] as string)).toMatchObject([{ state: 'WAITING' }]);
    });
  }
});

describe('the network of the hub', () => {
  it('is not reached without permission', async () => {
    await start({ config: { webhooks: local({ privateNetworks: [] }) } });
    expect(await faultOf(await ended(receiver.origin))).toMatch(
      /^its address is in a network that is not public/,
    );
    expect(receiver.received).toEqual([]);
  });

  it('is not reached by a name, whatever it resolves to', async () => {
    const origin = `http://inside.example:${receiver.port}`;
    const addresses = ['127.0.0.1', '10.0.0.1', '169.254.169.254', '::1', '::ffff:127.0.0.1', 'fd00::1'];
    await start({
      config: { webhooks: local({ notify: [origin], privateNetworks: [] }) },
      resolve: (_, found) =>
        found(
          null,
          addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
        ),
    });
    expect(await faultOf(await ended(origin))).toMatch(/^its address is in a network that is not public/);
    expect(receiver.received).toEqual([]);
  });

  it('is reached at the checked address only, also when the name changes its address at once', async () => {
    const origin = `http://ci.example:${receiver.port}`;
    let asked = 0;
    await start({
      config: { webhooks: local({ notify: [origin], privateNetworks: ['127.0.0.1/32'] }) },
      resolve: (hostname, found) => {
        expect(hostname).toBe('ci.example');
        const answer = ++asked === 1 ? ['127.0.0.2', '127.0.0.1'] : ['10.0.0.1'];
        found(
          null,
          answer.map((address) => ({ address, family: 4 })),
        );
      },
    });
    const [heard] = await receiver.hear(await ended(`${origin}/hook`));
    expect(heard?.headers['host']).toBe(`ci.example:${receiver.port}`);
    expect(asked).toBe(1);
  });
});

/** A folder that is removed after the test. */
function temporary(prefix: string): string {
  const folder = mkdtempSync(join(tmpdir(), prefix));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

describe('a receiver with TLS', () => {
  const notifyOver = async (issuer: Authority, trusted: Authority | null, hosts: string[]) => {
    const files = await issuer.issue({ name: 'receiver', hosts });
    const tls = { cert: readFileSync(files.cert, 'utf8'), key: readFileSync(files.key, 'utf8') };
    const secure = await WebhookReceiver.listen({ tls });
    onTestFinished(() => secure.close());
    const ca = trusted === null ? {} : { ca: trusted.file };
    await start({
      config: { webhooks: local({ notify: [secure.origin], allowHttp: false, timeout: '30s', ...ca }) },
    });
    return { secure, id: await ended(`${secure.origin}/hook`) };
  };

  it('is told when its certificate is that of a trusted authority', async () => {
    const ca = await authority(temporary('authority-'), 'ca');
    const { secure, id } = await notifyOver(ca, ca, ['127.0.0.1']);
    expect((await secure.hear(id))[0]?.path).toBe('/hook');
  });

  it.each([
    [
      'of another authority',
      'other',
      ['127.0.0.1'],
      /^could not be reached \((?:UNABLE_TO_VERIFY|SELF_SIGNED|DEPTH)/,
    ],
    ['for another name', 'ca', ['ci.example.org'], /^could not be reached \(ERR_TLS_CERT_ALTNAME_INVALID\)/],
    [
      'of an authority that Node does not know',
      'none',
      ['127.0.0.1'],
      /^could not be reached \(UNABLE_TO_VERIFY/,
    ],
  ])('is not told when its certificate is %s', async (_, trusted, hosts, fault) => {
    const folder = temporary('authority-');
    const ca = await authority(folder, 'ca');
    const others = { ca, other: await authority(folder, 'other'), none: null };
    const { secure, id } = await notifyOver(ca, others[trusted as keyof typeof others], hosts);
    expect(await faultOf(id)).toMatch(fault);
    expect(secure.received).toEqual([]);
  });

  it('needs none only when the configuration says so', () => {
    const faults = (webhooks: object) => {
      const { error } = hubConfigSchema.safeParse({ webhooks });
      return error?.issues.map(({ path, message }) => `${path.join('.')}: ${message}`);
    };
    const plain = { notify: ['http://a.example/'], receivers: [{ name: 'a', url: 'http://a.example/' }] };
    expect(faults(plain)).toEqual([
      'webhooks.receivers.0.url: an https address, unless webhooks.allowHttp is true',
      'webhooks.notify.0: an https address, unless webhooks.allowHttp is true',
    ]);
    expect(faults({ ...plain, allowHttp: true })).toBeUndefined();
    const twice = { name: 'a', url: 'https://a.example/' };
    expect(faults({ receivers: [{ ...twice, name: 'notify' }] })).toEqual([
      'webhooks.receivers.0.name: 1 to 40 letters, digits and hyphens, other than "notify"',
    ]);
    expect(faults({ receivers: [twice, twice] })).toEqual([
      'webhooks.receivers.1.name: a name that no other receiver has',
    ]);
    for (const url of [
      'https://b.example/?c',
      'https://a@b.example/',
      'https://b.example/#c',
      'ftp://b.example',
      'b',
      7,
    ])
      expect(faults({ notify: [url] }), String(url)).toHaveLength(1);
  });
});

/** Secret that `workbench-hub webhook secret` prints. */
async function secretFor(address: string): Promise<string> {
  const [newest] = await webhookKeys(hub.config.dataDir);
  return receiverSecret(newest as Buffer, new URL(address).origin);
}

function signature(
  secret: string,
  heard: { readonly headers: Readonly<Record<string, unknown>>; readonly body: string } | undefined,
): string {
  const signed = `${heard?.headers['webhook-id']}.${heard?.headers['webhook-timestamp']}.${heard?.body}`;
  const key = Buffer.from(secret.replace('whsec_', ''), 'base64');
  return `v1,${createHmac('sha256', key).update(signed).digest('base64')}`;
}
