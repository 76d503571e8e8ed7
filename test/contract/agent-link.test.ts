/** The hub's end of the agent link over real sockets (shared/agent-protocol/README.md). */
import { once } from 'node:events';
import { DialRefused } from '@workbench-hub/shared/agent-protocol/dial';
import { AGENT_PATHS } from '@workbench-hub/shared/agent-protocol/messages';
import { hubLink } from '@workbench-hub/shared/hub-link/hub-link';
import type { FileTransfer, HubListener } from '@workbench-hub/shared/joining/ports/hub';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import { afterEach, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { FakeAgent } from '../support/agents/fake-agent.js';
import { eventually } from '../support/eventually.js';
import { api, hub, hubForAllTests } from '../support/hubs/hub-for-tests.js';
import { startHub } from '../support/hubs/running-hub.js';
import { Api } from '../support/interface/api.js';
import { LOG_LEVEL } from '../support/memory-log.js';

const NODE_1 = '0c0e5e0e-0000-4000-8000-000000000001';
const NODE_2 = '0c0e5e0e-0000-4000-8000-000000000002';

hubForAllTests();

const agents: FakeAgent[] = [];
afterEach(async () => {
  for (const agent of agents.splice(0)) await agent.leave();
});

async function connect(setup: Parameters<typeof FakeAgent.connect>[1] = {}): Promise<FakeAgent> {
  const agent = await FakeAgent.connect(hub, setup);
  agents.push(agent);
  return agent;
}

/** A bare WebSocket with the token. */
async function bare(): Promise<WebSocket> {
  const socket = new WebSocket(hub.address.replace('http', 'ws') + AGENT_PATHS.CONNECT, {
    headers: { authorization: `Bearer ${hub.token}` },
  });
  await once(socket, 'open');
  return socket;
}

/** Code and reason with which the hub closes it. */
async function closeOf(socket: WebSocket): Promise<[number, string]> {
  const [code, reason] = (await once(socket, 'close')) as [number, Buffer];
  return [code, reason.toString()];
}

const hello = JSON.stringify({
  type: 'hello',
  protocolVersions: [1],
  agent: { id: 'bare', nodeId: NODE_1, version: '1', revision: '1' },
  instances: [],
  running: [],
  spooled: [],
});

/** The link of an agent with this token, which joins nothing. */
async function joinAs(token: string): Promise<unknown> {
  const link = hubLink({
    addresses: [hub.address.replace('http', 'ws')],
    agent: { id: 'linked', nodeId: NODE_1, version: '1', revision: '1' },
    secret: { read: async () => token, advice: 'check the token' },
    tls: async () => ({}),
    runtime: systemRuntime,
    files: () => ({}) as FileTransfer,
  });
  const signal = AbortSignal.timeout(60_000);
  return link.join(link.addresses[0] ?? '', {} as HubListener, signal).catch((error: unknown) => error);
}

describe('the join token', () => {
  it('that is refused is told from other failures to join', async () => {
    expect(await joinAs('wrong')).toMatchObject({ name: 'JoinFailed', isUnauthorized: true });
  });

  it.each(['', 'wrong', 'token-of-the-tests2', 'Token-of-the-tests'])(
    '%j is answered with 401',
    async (token) => {
      const refused = FakeAgent.connect({ ...hub, token });
      await expect(refused).rejects.toBeInstanceOf(DialRefused);
      await expect(refused).rejects.toMatchObject({ status: 401 });
      const warnings = hub.log.filter(
        ({ level, msg }) => level === LOG_LEVEL.WARN && msg === 'an agent was refused',
      );
      expect(warnings.length).toBeGreaterThan(0);
      expect(JSON.stringify(hub.log)).not.toContain(hub.token);
    },
  );

  it('is not needed at unknown paths', async () => {
    const socket = new WebSocket(`${hub.address.replace('http', 'ws')}/elsewhere`);
    const [, response] = (await once(socket, 'unexpected-response')) as [unknown, { statusCode: number }];
    expect(response.statusCode).toBe(404);
    socket.on('error', () => undefined);
    socket.terminate();
  });

  it('does not help a plain request, which gets the 404 of unknown paths', async () => {
    const response = await fetch(hub.address + AGENT_PATHS.CONNECT, {
      headers: { authorization: `Bearer ${hub.token}` },
    });
    expect(response.status).toBe(404);
    await response.text();
  });
});

describe('a protocol violation', () => {
  it.each<[string, string, string]>([
    ['no JSON', 'hello', 'protocol error: a frame that is not JSON'],
    ['no list', hello, 'protocol error: a frame that is not a list of messages'],
    ['no message', '[5]', 'protocol error: a message of type undefined: '],
    ['null', '[null]', 'protocol error: a message of type undefined: '],
    ['an unknown message', '[{"type":"dance"}]', 'protocol error: a message of type "dance": type '],
    [
      'a message before hello',
      '[{"type":"reply","requestId":"1","error":null,"text":null}]',
      'protocol error: reply before hello',
    ],
    ['a second hello', `[${hello},${hello}]`, 'protocol error: a second hello'],
    [
      'a hello without versions',
      `[${hello.replace('[1]', '[]')}]`,
      'protocol error: a message of type "hello": protocolVersions ',
    ],
    [
      'an id that is none',
      `[${hello.replace('bare', 'a b')}]`,
      'protocol error: a message of type "hello": agent.id ',
    ],
  ])('of an agent closes the connection with 1002 and a reason: %s', async (_, frame, reason) => {
    const socket = await bare();
    socket.send(frame);
    const [code, said] = await closeOf(socket);
    expect(code).toBe(1002);
    expect(said.startsWith(reason), said).toBe(true);
  });

  it('by a binary frame closes the connection', async () => {
    const socket = await bare();
    socket.send(Buffer.from(`[${hello}]`));
    expect(await closeOf(socket)).toEqual([1003, 'text frames only']);
  });

  it('of one agent does not affect another one', async () => {
    const agent = await FakeAgent.join(hub, { instances: [{ id: 'steady' }] });
    agents.push(agent);
    const socket = await bare();
    socket.send('rubbish');
    await closeOf(socket);
    expect((await api.get('/api/2.0/workbench/node/instance/steady')).body).toMatchObject({ status: 'UP' });
  });
});

describe('a message', () => {
  it('may have unknown fields', async () => {
    const socket = await bare();
    const first = once(socket, 'message');
    socket.send(`[${hello.replace('{', '{"mood":"good",')}]`);
    const [frame] = (await first) as [Buffer];
    expect(JSON.parse(frame.toString())).toMatchObject([{ type: 'welcome', protocolVersion: 1 }]);
    socket.close();
    await closeOf(socket);
  });
});

describe('two agents', () => {
  it('with the same id: the second is refused with the reason, also in the log', async () => {
    agents.push(await FakeAgent.join(hub, { id: 'twin', nodeId: NODE_1, instances: [] }));
    const second = await connect({ id: 'twin', nodeId: NODE_2, instances: [] });
    const message = 'an agent with the id twin is connected from elsewhere: give one of them another "id"';
    expect(await second.hear('refused')).toEqual({ type: 'refused', code: 'AGENT_ID_TAKEN', message });
    expect(await second.closed()).toBe('refused');
    expect(hub.log.some((line) => line.level === LOG_LEVEL.WARN && line['message'] === message)).toBe(true);
    expect((await api.get('/api/2.0/workbench/node/agent/twin')).body).toMatchObject({ status: 'UP' });
  });

  it('that are one: a join that was delayed on its way is refused, and does not end the later one', async () => {
    const later = await FakeAgent.join(hub, { id: 'same', joinNumber: 8, instances: [{ id: 'of-same' }] });
    agents.push(later);
    const delayed = await connect({ id: 'same', joinNumber: 7, instances: [] });
    const message =
      'agent same has joined with a later number: this join was delayed, or the clock of its host was set back';
    const refused = { type: 'refused', code: 'JOIN_OUTDATED', message, latestJoin: 8 };
    expect(await delayed.hear('refused')).toEqual(refused);
    expect(await delayed.closed()).toBe('refused');
    await api.simulateWork();
    await later.hear('assign');
  });

  it('with the same instance id: the second is refused with the reason', async () => {
    agents.push(await FakeAgent.join(hub, { id: 'one', nodeId: NODE_1, instances: [{ id: 'shared' }] }));
    const second = await connect({ id: 'two', nodeId: NODE_2, instances: [{ id: 'shared' }] });
    expect(await second.hear('refused')).toMatchObject({
      code: 'INSTANCE_ID_TAKEN',
      message: 'the instance id shared is in use by the connected agent one: ids are unique in the cluster',
    });
    expect(await second.closed()).toBe('refused');
  });

  it('that are the same agent: the newer connection replaces the older', async () => {
    const first = await FakeAgent.join(hub, { id: 'same', nodeId: NODE_1, instances: [] });
    agents.push(await FakeAgent.join(hub, { id: 'same', nodeId: NODE_1, instances: [] }));
    expect(await first.closed()).toMatch(/^the same agent has (reconnected|joined another hub)$/);
    expect((await api.get('/api/2.0/workbench/node/agent/same')).body).toMatchObject({ status: 'UP' });
  });
});

it('a silent agent is unreachable after agents.unreachableAfter', async () => {
  const other = await startHub({ config: { agents: { unreachableAfter: '1s' } } });
  const socket = new WebSocket(other.address.replace('http', 'ws') + AGENT_PATHS.CONNECT, {
    headers: { authorization: `Bearer ${other.token}` },
  });
  await once(socket, 'open');
  socket.send(`[${hello}]`);
  // The hub sends heartbeats; this side sends nothing.
  expect(await closeOf(socket)).toEqual([1006, '']);
  await eventually(async () => {
    const { body } = await new Api(other).get('/api/2.0/workbench/node/agent/bare');
    return body['status'] === 'DOWN';
  });
  await other.stop();
});

it('heartbeats come every 20 s, whatever agents.unreachableAfter is, so that no proxy closes the link as idle', async () => {
  const other = await startHub({ config: { agents: { unreachableAfter: '1h', leaseTimeout: '2h' } } });
  const agent = await FakeAgent.connect(other);
  expect(await agent.hear('welcome')).toMatchObject({
    heartbeatIntervalMs: 20_000,
    silenceLimitMs: 3_600_000,
  });
  await agent.leave();
  await other.stop();
});
