/** Failures that stranded or duplicated work in other systems, each by name. */
import { ANYBODY } from '@workbench-hub/hub/core/access';
import { Link, type Transport } from '@workbench-hub/shared/agent-protocol/link';
import type { AgentMessage, HubMessage } from '@workbench-hub/shared/agent-protocol/messages';
import { parseAgentMessage, parseHubMessage } from '@workbench-hub/shared/agent-protocol/parse-message';
import { describe, expect, it } from 'vitest';
import {
  create,
  engine,
  engineForEachTest,
  join,
  rejoin,
  restart,
} from '../support/engine/engine-for-each-test.js';
import { HandDrivenRuntime } from '../support/engine/hand-driven-runtime.js';
import { LEASE_MS } from '../support/engine/running-engine.js';

engineForEachTest();

describe('an agent that disconnects between the claim of a task and its assignment', () => {
  it('gets the task again when it rejoins without the attempt', async () => {
    const agent = await join();
    const id = await create();
    await agent.disconnect(); // with the assignment still on its way
    const again = await rejoin(agent);
    expect(again.latest.ref).toMatchObject({ taskId: id, attempt: 2 });
  });

  it('keeps the attempt for its lease, and no longer, when it never rejoins', async () => {
    const agent = await join();
    const id = await create();
    await agent.disconnect();
    const other = await join({ id: 'agent-2', instances: [{ id: 'sim-2' }] });
    await engine.runtime.advance(LEASE_MS - 1);
    expect(other.assigned).toEqual([]);
    await engine.runtime.advance(1);
    expect(other.latest.ref).toMatchObject({ taskId: id, attempt: 2 });
  });

  it.each(['rejoins', 'never rejoins'])(
    'together with the hub leaves only the claim of the attempt, and the agent %s',
    async (how) => {
      const id = await create();
      const instance = { id: 'sim-1', version: '9.1.0', revision: '4711', agentId: 'agent-1' };
      await engine.store.queue.claim([{ taskId: id, instance, startedAtMs: 1 }]);
      await restart();
      const other = how === 'never rejoins' ? { id: 'agent-2', instances: [{ id: 'sim-2' }] } : {};
      const agent = await join(other);
      if (how === 'never rejoins') {
        await engine.runtime.advance(LEASE_MS - 1);
        expect(await engine.tasks.get(id)).toMatchObject({ status: 'RUNNING' });
        await engine.runtime.advance(1);
      }
      expect(agent.latest.ref).toMatchObject({ taskId: id, attempt: 2 });
    },
  );
});

/** Whether a cancel by force took place; an error other than that the task has ended is the result. */
function cancelByForce(id: string): Promise<unknown> {
  return engine.tasks.cancel(id, true, ANYBODY).then(
    () => true,
    (error: { code?: string }) => error.code !== 'TASK_NOT_CANCELABLE' && error,
  );
}

describe('a cancel by force that races with the end', () => {
  it.each([0, 1, 2, 3, 4, 5, 6, 8, 10])(
    'wins or loses, and hub and agent agree (%d microtasks)',
    async (microtasks) => {
      for (const cancelFirst of [true, false]) {
        const agent = await join();
        const id = await create();
        const { ref } = agent.latest;
        const cancel = () => cancelByForce(id);
        const end = () => agent.end(ref, 'OK');
        const [begin, follow] = cancelFirst ? [cancel, end] : [end, cancel];
        const first = begin();
        for (let at = 0; at < microtasks; at++) await Promise.resolve();
        const second = follow();
        const outcomes = await Promise.all([first, second]);
        const [canceled, counted] = cancelFirst ? outcomes : outcomes.toReversed();
        expect([canceled, counted]).toContain(true);
        expect(canceled).not.toBe(counted);
        expect(await engine.tasks.get(id)).toMatchObject({ status: canceled ? 'CANCELED' : 'FINISHED' });
        expect(engine.instances.find('sim-1')).toMatchObject({ working: false });
        await agent.disconnect();
      }
    },
  );
});

describe('a proxy that closes after 60 s of silence', () => {
  const PROXY_LIMIT_MS = 60_000;

  /** Two ends of a link; a proxy between them ends it when nothing has passed for a minute. */
  function throughProxy(runtime: HandDrivenRuntime) {
    const ends: string[] = [];
    let passedAtMs = runtime.clock.monotonicMs();
    const pass = (deliver: () => void) => {
      if (runtime.clock.monotonicMs() - passedAtMs >= PROXY_LIMIT_MS) ends.push('closed by the proxy');
      passedAtMs = runtime.clock.monotonicMs();
      deliver();
    };
    const transport = (receive: (frame: string) => void): Transport => ({
      send: (frame) => pass(() => receive(frame)),
      close: () => undefined,
      terminate: () => undefined,
      bufferedBytes: () => 0,
    });
    const onDown = (reason: string) => void ends.push(reason);
    const common = { runtime, onMessage: () => undefined, onDown };
    const hub: Link<AgentMessage, HubMessage> = new Link<AgentMessage, HubMessage>({
      ...common,
      read: parseAgentMessage,
      transport: transport((frame) => agent.receive(frame)),
    });
    const agent: Link<HubMessage, AgentMessage> = new Link<HubMessage, AgentMessage>({
      ...common,
      read: parseHubMessage,
      transport: transport((frame) => hub.receive(frame)),
    });
    return { hub, agent, ends };
  }

  it('never sees silence, however long agents.unreachableAfter is', async () => {
    const runtime = new HandDrivenRuntime();
    const { hub, agent, ends } = throughProxy(runtime);
    // Intervals of the hub for an agents.unreachableAfter of an hour: test/contract/agent-link.test.ts.
    for (const end of [hub, agent]) end.watch(20_000, 3_600_000);
    await runtime.advance(24 * 3_600_000);
    expect(ends).toEqual([]);
  });

  it('would close a link with the heartbeats of an unreachableAfter of an hour', async () => {
    const runtime = new HandDrivenRuntime();
    const { hub, agent, ends } = throughProxy(runtime);
    for (const end of [hub, agent]) end.watch(600_000, 3_600_000);
    await runtime.advance(3_600_000);
    expect(ends).toContain('closed by the proxy');
  });
});
