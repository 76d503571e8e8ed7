/** The state machines of attempts and agents in the engine: each transition that may come from outside, in each state. Permitted
 *  ones take place; all others change nothing and are logged. */
import { ANYBODY } from '@workbench-hub/hub/core/access';
import { AGENT_TRANSITIONS, type AgentState } from '@workbench-hub/hub/core/agent-states';
import {
  ATTEMPT_TRANSITIONS,
  type AttemptState,
  attemptStateOf,
} from '@workbench-hub/hub/core/attempt-states';
import { TASK_TRANSITIONS } from '@workbench-hub/hub/core/task';
import { canTransition } from '@workbench-hub/shared/domain/state-machine';
import { type AttemptRef, TASK_STATUSES } from '@workbench-hub/shared/domain/task';
import { describe, expect, it } from 'vitest';
import { create, engine, engineForEachTest, join, rejoin } from '../support/engine/engine-for-each-test.js';
import { LEASE_MS, proven, type SocketlessAgent } from '../support/engine/running-engine.js';

engineForEachTest();

const refusals = () => engine.log.filter(({ msg }) => /^a transition that .* was refused$/.test(msg));

describe('an attempt', () => {
  const stateOf = async (ref: AttemptRef) =>
    attemptStateOf(ref, await engine.tasks.get(ref.taskId).catch(() => undefined));

  /** An attempt of an agent that has an idle instance besides, which fits nothing. */
  async function attemptThatIs(state: AttemptState): Promise<{ agent: SocketlessAgent; ref: AttemptRef }> {
    if (state === 'UNCONFIRMED') {
      const ref = { taskId: await create(), attempt: 1, instanceId: 'sim-1' };
      await engine.shutdown.change(true); // so that it is not dispatched
      return { agent: await join(), ref };
    }
    let agent = await join();
    await create();
    const { ref } = agent.latest;
    await engine.shutdown.change(true);
    if (state === 'PRESUMED_LOST') {
      // It rejoins just before the end of its lease.
      agent = await reconnect(agent, [ref]);
      await engine.store.queue.requeue([{ ref, loss: 'LOSS' }]);
    }
    if (state === 'CLOSED') await engine.store.queue.requeue([{ ref, loss: 'CRASH' }]);
    return { agent, ref };
  }

  const reconnect = async (agent: SocketlessAgent, running: AttemptRef[]) => {
    await agent.disconnect();
    return rejoin(agent, { running: running.map((ref) => proven(ref)) });
  };

  const STATES = ['ACTIVE', 'PRESUMED_LOST', 'UNCONFIRMED', 'CLOSED'] as const;

  it.each(STATES)('that is %s has this state because of its task', async (state) => {
    expect(await stateOf((await attemptThatIs(state)).ref)).toBe(state);
  });

  it.each(STATES)('that is %s is handled when its agent rejoins with it', async (state) => {
    const { agent, ref } = await attemptThatIs(state);
    const again = await reconnect(agent, [ref]);
    const isWanted =
      canTransition<AttemptState>(ATTEMPT_TRANSITIONS.adopt, state) ||
      canTransition<AttemptState>(ATTEMPT_TRANSITIONS.keep, state);
    expect(await stateOf(ref)).toBe(isWanted ? 'ACTIVE' : state);
    expect(again.heard.some(({ type }) => type === 'cancel')).toBe(!isWanted);
    expect(refusals().map(({ transition }) => transition)).toEqual(isWanted ? [] : ['adopt']);
  });

  it.each(STATES)('that is %s is handled when it is reported', async (state) => {
    const { agent, ref } = await attemptThatIs(state);
    const counts =
      canTransition<AttemptState>(ATTEMPT_TRANSITIONS.report, state) ||
      canTransition<AttemptState>(ATTEMPT_TRANSITIONS.adoptOnReport, state);
    expect(await agent.end(ref, 'OK')).toBe(counts);
    expect(await stateOf(ref)).toBe(counts ? 'CLOSED' : state);
    expect((await engine.tasks.get(ref.taskId)).status).toBe(counts ? 'FINISHED' : 'WAITING');
    expect(refusals().map(({ transition }) => transition)).toEqual(counts ? [] : ['report']);
  });

  it.each(STATES)('that is %s is handled at the end of the lease', async (state) => {
    const { agent, ref } = await attemptThatIs(state);
    await agent.disconnect();
    await engine.runtime.advance(LEASE_MS);
    const { losses } = await engine.tasks.get(ref.taskId);
    const isLost = canTransition<AttemptState>(ATTEMPT_TRANSITIONS.lose, state);
    expect(await stateOf(ref)).toBe(isLost ? 'PRESUMED_LOST' : state);
    expect(losses).toBe(state === 'ACTIVE' || state === 'PRESUMED_LOST' ? 1 : 0);
  });

  it.each(['ACTIVE', 'PRESUMED_LOST', 'UNCONFIRMED'] as const)(
    'that is %s is closed when its task is canceled',
    async (state) => {
      const { agent, ref } = await attemptThatIs(state);
      await engine.tasks.cancel(ref.taskId, true, ANYBODY);
      expect(await stateOf(ref)).toBe('CLOSED');
      expect(await agent.end(ref, 'OK')).toBe(false);
    },
  );

  it.each(['PRESUMED_LOST', 'UNCONFIRMED'] as const)(
    'that is %s is closed when a newer one begins',
    async (state) => {
      const { ref } = await attemptThatIs(state);
      const other = await join({ id: 'agent-2', instances: [{ id: 'sim-2' }] });
      await engine.store.queue.claim([
        {
          taskId: ref.taskId,
          instance: { id: 'sim-2', version: '1', revision: '1', agentId: other.id },
          startedAtMs: 1,
        },
      ]);
      expect(await stateOf(ref)).toBe('CLOSED');
    },
  );
});

describe('an agent', () => {
  const ID = 'agent-1';
  const AWAY_FOR_EVER_MS = 31 * 86_400_000;

  /** The transitions, as the engine performs them. */
  const TRANSITIONS = {
    reconcile: () => engine.instances.ready(ID),
    disconnect: () => engine.instances.disconnected(ID),
    lose: () => engine.instances.lost(ID),
    forget: () => engine.instances.forget(ID),
  } as const;

  const connect = () =>
    engine.instances.connected(
      { id: ID, version: '1', revision: '1', address: null, clockOffsetMs: null },
      [],
      [],
    );

  function agentThatIs(state: AgentState): void {
    if (state === '-') return;
    connect();
    if (state === 'READY') engine.instances.ready(ID);
    if (state === 'DISCONNECTED' || state === 'LOST') engine.instances.disconnected(ID);
    if (state === 'LOST') engine.instances.lost(ID);
  }

  const STATES = ['-', 'CONNECTED', 'READY', 'DISCONNECTED', 'LOST'] as const;
  const pairs = STATES.flatMap((state) =>
    (Object.keys(TRANSITIONS) as (keyof typeof TRANSITIONS)[]).map((transition) => ({ state, transition })),
  );

  it.each(pairs)('that is $state: $transition', async ({ state, transition }) => {
    agentThatIs(state);
    const before = engine.instances.findAgent(ID);
    const isAllowed = canTransition<AgentState>(AGENT_TRANSITIONS[transition], state);
    TRANSITIONS[transition]();
    expect(refusals()).toMatchObject(isAllowed ? [] : [{ agentId: ID, transition, state }]);
    const after = engine.instances.findAgent(ID);
    if (!isAllowed) expect(after).toEqual(before);
    else expect(engine.instances.isConnected(ID)).toBe(transition === 'reconcile');
    expect(after === undefined).toBe(state === '-' || (isAllowed && transition === 'forget'));
  });

  it.each(STATES)('in the state %s may join', (state) => {
    agentThatIs(state);
    connect();
    expect(engine.instances.findAgent(ID)).toMatchObject({ status: 'UP' });
    expect(refusals()).toEqual([]);
  });

  it('is disconnected, lost and forgotten in turn', async () => {
    const agent = await join();
    await agent.disconnect();
    await engine.runtime.advance(LEASE_MS);
    engine.runtime.skip(AWAY_FOR_EVER_MS);
    await engine.sweep();
    expect(engine.instances.findAgent(agent.id)).toBeUndefined();
    expect(refusals()).toEqual([]);
  });
});

describe('a client', () => {
  it.each(['cancel', 'cancelByForce', 'remove'] as const)(
    'causes the transition %s only where the state machine permits it',
    async (transition) => {
      for (const status of TASK_STATUSES) {
        const id = await taskThatIs(status);
        const before = refusals().length;
        const done = await (transition === 'remove'
          ? engine.tasks.remove(id, ANYBODY)
          : engine.tasks.cancel(id, transition === 'cancelByForce', ANYBODY)
        ).then(
          () => true,
          () => false,
        );
        expect([status, done]).toEqual([
          status,
          (TASK_TRANSITIONS[transition].from as readonly string[]).includes(status),
        ]);
        expect(refusals().slice(before)).toMatchObject(done ? [] : [{ taskId: id, transition, status }]);
      }
    },
  );

  async function taskThatIs(status: (typeof TASK_STATUSES)[number]): Promise<string> {
    const id = await create();
    if (status === 'WAITING') return id;
    if (status === 'CANCELED') {
      await engine.tasks.cancel(id, false, ANYBODY);
      return id;
    }
    const name = `agent-of-${id}`;
    const waiting = (await engine.tasks.list({ page: 0, size: 100, statuses: ['WAITING'] })).tasks;
    const ahead = waiting.filter((task) => task.id !== id);
    for (const task of ahead) await engine.tasks.cancel(task.id, false, ANYBODY);
    const agent = await join({ id: name, instances: [{ id: `sim-of-${id}` }] });
    const { ref } = agent.latest;
    if (status !== 'RUNNING') {
      await agent.end(ref, status === 'FINISHED' ? 'OK' : 'FAILED');
      await agent.disconnect();
    }
    return ref.taskId;
  }
});
