/** Joining agents: refused, replaced, reconciled; and requests to them. */
import type { HubError } from '@workbench-hub/hub/core/errors';
import type { AgentConnection } from '@workbench-hub/hub/core/ports/agents';
import { describe, expect, it, vi } from 'vitest';
import { INSTALLATION } from '../support/agents/fake-agent.js';
import {
  create,
  engine,
  engineForEachTest,
  join,
  rejoin,
  startAnew,
} from '../support/engine/engine-for-each-test.js';
import { proven, type SocketlessAgent } from '../support/engine/running-engine.js';
import { LOG_LEVEL } from '../support/memory-log.js';

const NODE = '0c0e5e0e-0000-4000-8000-000000000001';
const OTHER_NODE = '0c0e5e0e-0000-4000-8000-000000000002';

engineForEachTest();

const refusals = () =>
  engine.log.filter(({ level, msg }) => level === LOG_LEVEL.WARN && msg === 'agent refused');

describe('an agent that joins', () => {
  it('is accepted, and listed with its instances', async () => {
    const agent = await join({
      id: 'host-b',
      instances: [
        { id: 'sim-2', labels: ['Gears'] },
        { id: 'sim-1', status: 'STARTING', upForMs: null },
      ],
    });
    expect(agent.welcome).toBe(true);
    expect(agent.heard).toEqual([
      {
        type: 'welcome',
        protocolVersion: 1,
        hubVersion: '0.1.0',
        heartbeatIntervalMs: 5000,
        silenceLimitMs: 30_000,
        inlineBlobBytes: 16_384,
        outputStorage: true,
      },
    ]);
    await join({ id: 'host-a', instances: [] });
    expect(engine.instances.agents().map(({ id, status }) => [id, status])).toEqual([
      ['host-a', 'UP'],
      ['host-b', 'UP'],
    ]);
    expect(engine.instances.list()).toMatchObject([
      { profile: { id: 'sim-1' }, status: 'STARTING', startedAtMs: null, working: false },
      {
        profile: { id: 'sim-2', version: '9.1.0', revision: '4711', labels: ['Gears'] },
        agentId: 'host-b',
        status: 'UP',
        startedAtMs: engine.runtime.clock.nowMs() - 1000,
      },
    ]);
  });

  it('is refused when it speaks only versions that the hub does not', async () => {
    const agent = await join({ protocolVersions: [2, 3] });
    expect(agent.welcome).toBe(false);
    expect(agent.heard).toEqual([
      {
        type: 'refused',
        code: 'PROTOCOL_VERSION',
        message:
          'this hub speaks version 1 of the agent protocol, agent agent-1 version 2, 3: update the hub',
      },
    ]);
    expect(engine.instances.agents()).toEqual([]);
    expect(refusals()).toHaveLength(1);
  });

  it('is told to update when it is older than the hub', async () => {
    const agent = await join({ protocolVersions: [0] });
    expect(agent.heard).toMatchObject([{ message: expect.stringMatching(/: update the agent$/) }]);
    expect(refusals()).toMatchObject([{ message: expect.stringMatching(/: update the agent$/) }]);
  });

  it('is accepted when one of its protocol versions is known', async () => {
    const agent = await join({ protocolVersions: [7, 1] });
    expect(agent.heard[0]).toMatchObject({ type: 'welcome', protocolVersion: 1 });
  });

  it('is refused while another one with its id is connected, and accepted afterwards', async () => {
    const first = await join({ nodeId: NODE });
    const second = await join({ nodeId: OTHER_NODE });
    expect(second.heard).toEqual([
      {
        type: 'refused',
        code: 'AGENT_ID_TAKEN',
        message: 'an agent with the id agent-1 is connected from elsewhere: give one of them another "id"',
      },
    ]);
    expect(first.ended).toBeUndefined();
    expect(refusals()).toMatchObject([{ agentId: 'agent-1', code: 'AGENT_ID_TAKEN' }]);
    await first.disconnect();
    expect((await join({ nodeId: OTHER_NODE })).welcome).toBe(true);
  });

  it('is refused while a connected agent holds one of its instance ids, and gets it when that disconnects', async () => {
    const first = await join({ id: 'host-a', nodeId: NODE });
    const second = await join({ id: 'host-b', instances: [{ id: 'x' }, {}] });
    expect(second.heard).toEqual([
      {
        type: 'refused',
        code: 'INSTANCE_ID_TAKEN',
        message:
          'the instance id sim-1 is in use by the connected agent host-a: ids are unique in the cluster',
      },
    ]);
    expect(engine.instances.find('x')).toBeUndefined();
    await first.disconnect();
    const third = await join({ id: 'host-b', instances: [{ id: 'x' }, {}] });
    expect(third.welcome).toBe(true);
    expect(engine.instances.find('sim-1')).toMatchObject({ agentId: 'host-b', status: 'UP' });
    expect(engine.instances.findAgent('host-a')).toMatchObject({ status: 'DOWN', instances: [] });
    const fourth = await join({ id: 'host-a', nodeId: NODE });
    expect(fourth.heard).toMatchObject([{ type: 'refused', code: 'INSTANCE_ID_TAKEN' }]);
  });

  it('replaces its own older connection without loss', async () => {
    const first = await join({ nodeId: NODE });
    const id = await create();
    const { ref } = first.latest;
    const second = await join({ nodeId: NODE, running: [ref] });
    expect(first.ended).toBe('the same agent has reconnected');
    expect(engine.instances.findAgent('agent-1')).toMatchObject({ status: 'UP' });
    await first.say({ type: 'output', ref, offset: 0, text: 'from the dead connection' });
    expect(await engine.tasks.log(id)).toMatchObject({ kind: 'TEXT', text: '' });
    await engine.runtime.advance(60 * 60_000);
    expect(await engine.tasks.get(id)).toMatchObject({ status: 'RUNNING', losses: 0 });
    expect(await second.end(ref, 'OK')).toBe(true);
  });

  it('keeps the assignments of its new connection, however late the older one is reconciled', async () => {
    const first = await join({ nodeId: NODE });
    await create();
    const { ref } = first.latest;
    await first.disconnect();
    const { queue } = engine.store;
    const { adopt } = queue;
    let isSynced: () => void = () => undefined;
    queue.adopt = async (held) => {
      const adopted = await adopt(held);
      await new Promise<void>((resolve) => {
        isSynced = resolve;
      });
      return adopted;
    };
    const second = join({ nodeId: NODE, running: [ref] });
    await engine.runtime.settle();
    queue.adopt = adopt;

    // It was killed, and holds nothing any more: what it ran is requeued.
    const third = await join({ nodeId: NODE });
    expect(third.latest.ref).toEqual({ ...ref, attempt: 2 });
    isSynced();
    await second;
    expect(await engine.tasks.get(ref.taskId)).toMatchObject({ status: 'RUNNING', attempt: 2, losses: 1 });
    expect(await third.end(third.latest.ref, 'OK')).toBe(true);
  });

  it('gets tasks only when its newest connection is reconciled, not an older one', async () => {
    const id = await create();
    const { runningOn } = engine.store.queue;
    const answers: (() => void)[] = [];
    vi.spyOn(engine.store.queue, 'runningOn').mockImplementation(async (agentId) => {
      await new Promise<void>((resolve) => answers.push(resolve));
      return runningOn(agentId);
    });
    const first = join({ nodeId: NODE });
    const second = join({ nodeId: NODE });
    await engine.runtime.settle();
    answers[0]?.();
    await first;
    expect(await engine.tasks.get(id)).toMatchObject({ status: 'WAITING' });
    answers[1]?.();
    expect((await second).latest.ref.taskId).toBe(id);
  });

  it('gets tasks even if the hub cannot save that it has joined', async () => {
    engine.store.agents.save = () => Promise.reject(new Error('database or disk is full'));
    const agent = await join();
    expect(agent.welcome).toBe(true);
    const id = await create();
    expect(agent.latest.ref.taskId).toBe(id);
    await agent.disconnect();
    const told = engine.log.filter(
      ({ msg }) => msg === 'the time at which the agent was last seen could not be saved',
    );
    expect(told).toHaveLength(2);
  });

  it('may rejoin with other instances', async () => {
    const first = await join({ nodeId: NODE, instances: [{}, { id: 'sim-2' }] });
    await first.disconnect();
    await join({ nodeId: NODE, instances: [{ id: 'sim-3' }] });
    expect(engine.instances.list().map(({ profile }) => profile.id)).toEqual(['sim-3']);
  });

  it('that disconnects while it joins is not taken for connected', async () => {
    const { hearOf, connect } = await slowJoins();
    const first = connect('a');
    engine.agents.leave('agent-1', first.connection, 'gone');
    await hearOf(0);
    expect(await first.joined).toBe(true);
    expect(first.heard).toEqual([]);
    expect(engine.instances.findAgent('agent-1')).toBeUndefined();
    const other = connect('b');
    await hearOf(1);
    expect(await other.joined).toBe(true);
    expect(other.heard).toEqual(['welcome']);
    expect(engine.instances.findAgent('agent-1')).toMatchObject({ status: 'UP' });
  });

  it('that disconnects while it joins again has no earlier connection left', async () => {
    const { hearOf, connect } = await slowJoins();
    const earlier = connect('a');
    await hearOf(0);
    await earlier.joined;
    const later = connect('a');
    engine.agents.leave('agent-1', later.connection, 'gone');
    await hearOf(1);
    await later.joined;
    expect(earlier.heard).toEqual(['welcome', 'close']);
    expect(later.heard).toEqual([]);
  });

  it('has the connection that joined last, in whatever order the hub hears of the joins', async () => {
    const { hearOf, connect } = await slowJoins();
    const [earlier, later] = [connect('a'), connect('a')];
    await hearOf(1);
    expect(await later.joined).toBe(true);
    await hearOf(0);
    expect(await earlier.joined).toBe(true);
    expect(earlier.heard).toEqual(['close']);
    expect(later.heard).toEqual(['welcome']);
    engine.agents.leave('agent-1', earlier.connection, 'closed');
    expect(engine.instances.findAgent('agent-1')).toMatchObject({ status: 'UP' });
  });

  it('is told to cancel attempts that no longer count', async () => {
    const unknown = { taskId: '019aa4f2-ffff-7c41-9f0e-5b2f6f1d2a77', attempt: 1, instanceId: 'sim-1' };
    const waiting = await create();
    const agent = await join({ running: [unknown] });
    expect(agent.heard.map(({ type }) => type)).toEqual(['welcome', 'cancel']);
    expect(agent.heard[1]).toEqual({ type: 'cancel', ref: unknown });
    expect(engine.instances.find('sim-1')).toMatchObject({ working: true });
    expect(await agent.end(unknown, 'CANCELED')).toBe(false);
    expect(agent.latest.ref.taskId).toBe(waiting);
  });

  it('keeps an attempt whose claim the hub lost in a power failure', async () => {
    const id = await create();
    const held = { taskId: id, attempt: 1, instanceId: 'sim-1' };
    const agent = await join({ running: [proven(held)] });
    expect(agent.assigned).toEqual([]);
    expect(await engine.tasks.get(id)).toMatchObject({
      status: 'RUNNING',
      attempt: 1,
      startedAtMs: engine.runtime.clock.nowMs(),
      instance: { id: 'sim-1', version: '9.1.0', revision: '4711', agentId: 'agent-1' },
    });
    expect(await agent.end(held, 'OK')).toBe(true);
  });

  it('gets a proof with each assignment, by which a hub that has lost the claim knows it again', async () => {
    const agent = await join();
    await create();
    const { ref, proof } = agent.latest;
    expect({ ...ref, proof }).toEqual(proven(ref));
  });

  it.each([
    ['without a proof, as one of an earlier version does', {}],
    ['with the proof of another agent', { by: 'agent-2' }],
    ['with the proof of another attempt', { attempt: 2 }],
    ['with the proof of another instance', { instanceId: 'sim-2' }],
    ['with the proof of another task', { taskId: '019aa4f2-ffff-7c41-9f0e-5b2f6f1d2a77' }],
  ] as const)('is not believed that it has an attempt that the hub does not know, %s', async (_, told) => {
    const id = await create({ classifiers: [{ type: 'LABLES', value: 'of no instance' }] });
    const ref = { taskId: id, attempt: 1, instanceId: 'sim-1' };
    const { by = 'agent-1', ...other } = told as { by?: string };
    const proof =
      'by' in told || Object.keys(other).length > 0 ? proven({ ...ref, ...other }, by).proof : undefined;
    const agent = await join({ running: [{ ...ref, proof }] });
    expect(agent.heard.filter(({ type }) => type === 'cancel')).toEqual([{ type: 'cancel', ref }]);
    expect(await agent.end(ref, 'OK')).toBe(false);
    const again = await rejoin(agent, { spooled: [{ ...ref, proof }] });
    expect(await again.end(ref, 'OK')).toBe(false);
    expect(await engine.tasks.get(id)).toMatchObject({ status: 'WAITING', attempt: 0 });
  });

  it('runs an attempt again that it had without a proof, as the same one', async () => {
    const id = await create();
    const held = { taskId: id, attempt: 1, instanceId: 'sim-1' };
    const agent = await join({ running: [held] });
    expect(agent.assigned).toEqual([]);
    expect(await agent.end(held, 'CANCELED')).toBe(false);
    expect(agent.latest.ref).toEqual(held);
    expect(await agent.end(held, 'OK')).toBe(true);
    expect(await engine.tasks.get(id)).toMatchObject({ status: 'FINISHED', attempt: 1 });
  });

  it('removes from the queue a waiting task that it runs: no claim of it is tried', async () => {
    await join({ id: 'host-a' });
    await create();
    const id = await create();
    await join({
      id: 'host-b',
      instances: [{ id: 'sim-2' }, { id: 'sim-3' }],
      running: [proven({ taskId: id, attempt: 1, instanceId: 'sim-2' }, 'host-b')],
    });
    expect(await engine.tasks.get(id)).toMatchObject({ status: 'RUNNING', instance: { id: 'sim-2' } });
    const refused = 'a transition that tasks no longer permit was refused';
    expect(engine.log.filter(({ msg }) => msg === refused)).toEqual([]);
  });

  it('breaks the protocol with a second hello', async () => {
    const agent = await join();
    await agent.say({
      type: 'hello',
      protocolVersions: [1],
      agent: { id: agent.id, nodeId: agent.nodeId, version: '1', revision: '1' },
      instances: [],
      running: [],
      spooled: [],
    });
    expect(agent.ended).toBe('fault: a second hello');
  });
});

/** A hub that hears that an agent has joined only when the test lets it; joins are numbered in their order. */
async function slowJoins() {
  const joins: (() => void)[] = [];
  await startAnew({
    cluster: ({ presence }) => ({
      presence: {
        ...presence,
        join: async (agent) => {
          const joined = await presence.join(agent);
          await new Promise<void>((resolve) => joins.push(resolve));
          return joined;
        },
      },
    }),
  });
  const connect = (nodeId: string) => {
    const heard: string[] = [];
    const connection = new Proxy({} as AgentConnection, {
      get: (_, name) => () => void heard.push(String(name)),
    });
    const agent = { id: 'agent-1', nodeId, version: '1', revision: '1', installation: INSTALLATION };
    const [clockMs, joinNumber, address] = [null, null, null];
    const introduction = {
      agent,
      address,
      clockMs,
      joinNumber,
      instances: [],
      running: [],
      spooled: [],
      isTrial: false,
    };
    return { connection, heard, joined: engine.agents.join(introduction, connection) };
  };
  const hearOf = async (at: number) => {
    await expect.poll(() => joins.length).toBeGreaterThan(at);
    joins[at]?.();
  };
  return { hearOf, connect };
}

describe('a request to an agent', () => {
  /** The end of a request, once that has been sent. */
  const ask = async () => {
    const end = engine.control.log('sim-1', 'console').then(
      (text) => ({ text }),
      (error: HubError) => ({ code: error.code, message: error.message }),
    );
    await engine.runtime.settle();
    return { end };
  };
  const asked = (agent: SocketlessAgent) => {
    const request = agent.heard.find((message) => message.type === 'request');
    if (!request) throw new Error('nothing was asked');
    return request;
  };

  it('is answered with the reply of the agent', async () => {
    const agent = await join();
    const { pendingTimers } = engine.runtime;
    const { end } = await ask();
    const { requestId, request } = asked(agent);
    expect(request).toEqual({ kind: 'instanceLog', instanceId: 'sim-1', logType: 'console' });
    await agent.say({ type: 'reply', requestId: 'of another one', error: null, text: 'x' });
    await agent.say({ type: 'reply', requestId, error: null, text: 'done' });
    expect(await end).toEqual({ text: { text: 'done', offset: null } });
    expect(engine.runtime.pendingTimers).toBe(pendingTimers);
  });

  it('fails with the error of the agent', async () => {
    const agent = await join();
    const { pendingTimers } = engine.runtime;
    const { end } = await ask();
    await agent.say({
      type: 'reply',
      requestId: asked(agent).requestId,
      error: 'no such instance',
      text: null,
    });
    expect(await end).toEqual({ code: 'AGENT_UNAVAILABLE', message: 'instance sim-1: no such instance' });
    expect(engine.runtime.pendingTimers).toBe(pendingTimers);
  });

  it('fails after 10 seconds without an answer', async () => {
    const agent = await join();
    const { end } = await ask();
    await engine.runtime.advance(10_000);
    expect(await end).toEqual({
      code: 'AGENT_UNAVAILABLE',
      message: 'instance sim-1: agent agent-1 did not answer in 10 s',
    });
    await agent.say({ type: 'reply', requestId: asked(agent).requestId, error: null, text: 'late' });
  });

  it('fails at once when the agent disconnects or is not connected', async () => {
    const agent = await join();
    const { end } = await ask();
    await agent.disconnect();
    expect(await end).toEqual({
      code: 'AGENT_UNAVAILABLE',
      message: 'instance sim-1: agent agent-1 disconnected',
    });
    expect(await (await ask()).end).toEqual({
      code: 'AGENT_UNAVAILABLE',
      message: 'instance sim-1: agent agent-1 is not connected',
    });
  });
});
