/** Logs, start, stop and restart of an instance through its agent (contract 6.3 and 6.4; contract 11.2 for 1.0). The test
 *  chooses the messages of the agent, and drives the time. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { FakeAgent } from '../support/agents/fake-agent.js';
import { HandDrivenRuntime } from '../support/engine/hand-driven-runtime.js';
import { eventually } from '../support/eventually.js';
import { HUBS } from '../support/hubs/hubs-under-test.js';
import { type RunningHub, startHub } from '../support/hubs/running-hub.js';
import { type Answer, Api, expectError } from '../support/interface/api.js';

const BASE = '/api/2.0/workbench/node/instance/sim-1';
const COMMANDS = [
  ['2.0', 'start'],
  ['2.0', 'restart'],
  ['2.0', 'stop'],
  ['1.0', 'start'],
  ['1.0', 'stop'],
] as const;
const EVERYTHING: [string, string][] = [
  ['GET', `${BASE}/log/console`],
  ...COMMANDS.map(([generation, command]): [string, string] => [
    'PATCH',
    `/api/${generation}/workbench/node/instance/sim-1/${command}`,
  ]),
];

let runtime: HandDrivenRuntime;
let hub: RunningHub;
let api: Api;
let agent: FakeAgent;
beforeAll(async () => {
  runtime = new HandDrivenRuntime();
  hub = await startHub({ runtime });
  api = new Api(hub);
});
beforeEach(async () => {
  agent = await FakeAgent.join(hub);
  await eventually(isKnownToAll);
});
afterEach(() => agent.leave());
afterAll(() => hub.stop());

/** Whether all hubs know the instance: requests go to them in turn. */
async function isKnownToAll(): Promise<boolean> {
  for (let asked = 0; asked < HUBS; asked++) if ((await api.get(BASE)).body['status'] !== 'UP') return false;
  return true;
}

/** Requests to the agent, and its replies. */
async function replies(text: string | null, error: string | null = null) {
  const { requestId, request } = await agent.hear('request');
  agent.say({ type: 'reply', requestId, error, text });
  return request;
}

describe('the log of an instance', () => {
  it.each(['stdout', 'stderr', 'console'])('of type %s comes from the agent, as plain text', async (type) => {
    const answer = api.get(`${BASE}/log/${type}`);
    expect(await replies('erste Zeile: größe\nsecond\n')).toEqual({
      kind: 'instanceLog',
      instanceId: 'sim-1',
      logType: type,
    });
    const { status, text, headers } = await answer;
    expect([status, text]).toEqual([200, 'erste Zeile: größe\nsecond\n']);
    expect(headers.get('content-type')).toBe('text/plain; charset=utf-8');
  });

  it('has a case-insensitive type', async () => {
    const answer = api.get(`${BASE}/log/StdErr`);
    expect(await replies('x')).toMatchObject({ logType: 'stderr' });
    expect((await answer).text).toBe('x');
  });

  it.each(['', null])('with no output is an empty 200: %j', async (nothing) => {
    const answer = api.get(`${BASE}/log/console`);
    await replies(nothing);
    expect(await answer).toMatchObject({ status: 200, text: '' });
  });

  it.each(['all', 'stdin', 'console.log', '%20'])(
    'of unknown type is answered with 400: %s',
    async (type) => {
      const message = 'type: must be one of stdout, stderr, console';
      expectError(await api.get(`${BASE}/log/${type}`), 400, `${BASE}/log/${type}`, message);
      expect(agent.heard.some((message) => message.type === 'request')).toBe(false);
    },
  );
});

describe.each(COMMANDS)('in %s, %s', (generation, command) => {
  it('is answered with 202 and no body when the agent has accepted it', async () => {
    const answer = api.call('PATCH', `/api/${generation}/workbench/node/instance/sim-1/${command}`);
    expect(await replies(null)).toEqual({ kind: 'instanceCommand', instanceId: 'sim-1', command });
    const { status, text, headers } = await answer;
    expect([status, text]).toEqual([202, '']);
    expect(headers.get('content-type')).toBeNull();
  });
});

describe.each(EVERYTHING)('%s %s', (method, path) => {
  it('is answered with 404 for an unknown instance', async () => {
    const unknown = path.replace('sim-1', 'sim-9');
    expectError(await api.call(method, unknown), 404, unknown, 'there is no instance with the id "sim-9"');
  });

  it('is answered with 502 when the agent is disconnected', async () => {
    await agent.leave();
    expectError(await api.call(method, path), 502, path, 'instance sim-1: agent agent-1 is not connected');
  });

  it('is answered with 502 when the agent refuses', async () => {
    const answer = api.call(method, path);
    await replies(null, 'no such instance here');
    expectError(await answer, 502, path, 'instance sim-1: no such instance here');
  });

  it('is answered with 502 at once when the agent disconnects meanwhile', async () => {
    const answer = api.call(method, path);
    await agent.hear('request');
    await agent.leave();
    expectError(await answer, 502, path, 'instance sim-1: agent agent-1 disconnected');
  });

  // The time of the test is not that of the way from hub to hub.
  if (HUBS === 1) {
    it('is answered with 502 after 10 s without a reply, and not before', async () => {
      let came: Answer | undefined;
      const answer = api.call(method, path).then((found) => {
        came = found;
        return found;
      });
      const { requestId } = await agent.hear('request');
      await runtime.advance(9_999);
      await api.get('/livez');
      expect(came).toBeUndefined();
      await runtime.advance(1);
      expectError(await answer, 502, path, 'instance sim-1: agent agent-1 did not answer in 10 s');
      // A late reply is ignored, and the agent stays connected.
      agent.say({ type: 'reply', requestId, error: null, text: 'late' });
      const next = api.get(`${BASE}/log/console`);
      await replies('in time');
      expect((await next).text).toBe('in time');
    });
  }
});

it('simultaneous requests each get their own response', async () => {
  const types = ['stdout', 'stderr', 'console'];
  const answers = types.map((type) => api.get(`${BASE}/log/${type}`));
  const heard = [await agent.hear('request'), await agent.hear('request'), await agent.hear('request')];
  for (const { requestId, request } of heard.reverse()) {
    const text = request.kind === 'instanceLog' ? request.logType : 'none';
    agent.say({ type: 'reply', requestId, error: null, text });
  }
  expect((await Promise.all(answers)).map(({ text }) => text)).toEqual(types);
});
