/** Several hubs on one store: each serves clients and agents, one schedules, and lost signals are made up for from the rows. */
import { createHash } from 'node:crypto';
import { ANYBODY } from '@workbench-hub/hub/core/access';
import type { LogEvent } from '@workbench-hub/hub/engine/following/log-follower';
import type { TaskOutput } from '@workbench-hub/hub/engine/following/task-output';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { siteSetup } from '../support/engine/joined-site.js';
import { createTask, LEASE_MS, SocketlessAgent } from '../support/engine/running-engine.js';
import { type JoinedHub, type JoinedHubs, startHubs } from '../support/hubs/joined-hubs.js';

let joined: JoinedHubs;
let a: JoinedHub;
let b: JoinedHub;
let c: JoinedHub;
beforeEach(async () => {
  joined = await startHubs(3);
  [a, b, c] = joined.hubs as [JoinedHub, JoinedHub, JoinedHub];
  await a.gain(1);
});
afterEach(() => joined.close());

const BEGINNING = { attempt: 0, offset: 0 };
/** Time within which those who follow a log are told. */
const FOLLOWED_MS = 100;
/** Time within which the output of an agent at another hub is read again. */
const READ_AGAIN_MS = 500;

/** Output that a hub keeps, which is not among what others use of an engine. */
const outputOf = (hub: JoinedHub) => (hub as JoinedHub & { readonly output: TaskOutput }).output;

/** News that a follower of the log of a task is told at a hub. */
function followAt(hub: JoinedHub, id: string): LogEvent[] {
  const heard: LogEvent[] = [];
  const { signal } = new AbortController();
  void (async () => {
    for await (const event of hub.logFollower.follow(id, BEGINNING, signal)) heard.push(event);
  })();
  return heard;
}

const statusOf = async (id: string) => (await c.tasks.get(id)).status;

describe('a task', () => {
  it('is created at one hub, given out by another, carried out at a third, and waited for anywhere', async () => {
    const agent = await SocketlessAgent.join(b);
    const id = await createTask(c);
    const { ref } = agent.latest;
    expect(ref.taskId).toBe(id);
    let isOver = false;
    void c.resultWaiters.wait(id, 60_000).ended.then(() => {
      isOver = true;
    });
    expect(await agent.end(ref, 'OK')).toBe(true);
    expect(isOver).toBe(true);
    expect(await statusOf(id)).toBe('FINISHED');
    const next = await createTask(c);
    expect(agent.latest.ref.taskId).toBe(next);
  });

  it('occupies its instance at every hub, also at that of the agent', async () => {
    await SocketlessAgent.join(b, { instances: [{ id: 'sim-1' }] });
    await createTask(c);
    for (const hub of [a, b, c]) expect(await hub.nodes.instance('sim-1')).toMatchObject({ working: true });
  });

  it('shows its attempt to those who follow its log at any hub, as soon as it begins', async () => {
    const id = await createTask(c);
    const client = new AbortController();
    const followers = [a, b, c].map((hub) => hub.logFollower.follow(id, BEGINNING, client.signal));
    const first = followers.map((follower) => follower.next());
    await c.runtime.settle();
    await SocketlessAgent.join(b);
    await c.runtime.advance(FOLLOWED_MS);
    client.abort();
    await c.runtime.advance(FOLLOWED_MS);
    for (const result of await Promise.all(first))
      expect(result.value).toMatchObject({ type: 'attempt', attempt: 1 });
  });

  const leavesFirst = { how: 'leaves', leaves: true };
  const joinsFirst = { how: 'joins there before its connection ends', leaves: false };
  it.each([leavesFirst, joinsFirst])(
    'shows its output to those who follow it at the former hub of its agent, which $how',
    async ({ leaves }) => {
      const before = await SocketlessAgent.join(b);
      const id = await createTask(c);
      const { ref } = before.latest;
      const heard = followAt(b, id);
      await before.say({ type: 'output', ref, offset: 0, text: 'one' });
      await b.runtime.advance(FOLLOWED_MS);
      if (leaves) await before.disconnect();
      const after = await SocketlessAgent.join(a, { nodeId: before.nodeId, running: [ref] });
      await b.runtime.advance(FOLLOWED_MS);
      await after.say({ type: 'output', ref, offset: 3, text: 'two' });
      await b.runtime.advance(READ_AGAIN_MS + FOLLOWED_MS);
      expect(heard.filter(({ type }) => type === 'output')).toMatchObject([{ text: 'one' }, { text: 'two' }]);
    },
  );

  it('shows its output to those who follow its log although the signal of its start was lost', async () => {
    joined.lost.add('ASSIGNED');
    const id = await createTask(c);
    const heard = followAt(b, id);
    await b.runtime.advance(FOLLOWED_MS);
    const agent = await SocketlessAgent.join(a);
    const { ref } = agent.latest;
    await agent.say({ type: 'output', ref, offset: 0, text: 'one' });
    await b.resync();
    await b.runtime.advance(FOLLOWED_MS);
    expect(heard).toMatchObject([{ type: 'attempt' }, { type: 'output', text: 'one' }]);
  });

  it('ends for those who follow its log although the signals of its start and of its end were lost', async () => {
    joined.lost.add('ASSIGNED').add('ENDED');
    const id = await createTask(c);
    const heard = followAt(b, id);
    await b.runtime.advance(FOLLOWED_MS);
    const agent = await SocketlessAgent.join(a);
    await agent.end(agent.latest.ref, 'OK');
    await b.runtime.advance(FOLLOWED_MS);
    expect(heard).toEqual([]);
    await b.resync();
    await b.runtime.advance(FOLLOWED_MS);
    expect(heard.at(-1)).toMatchObject({ type: 'end', status: 'FINISHED' });
  });

  it('is canceled at one hub while it runs at the agent of another', async () => {
    const agent = await SocketlessAgent.join(b);
    const id = await createTask(c);
    await c.tasks.cancel(id, true, ANYBODY);
    await b.runtime.settle();
    expect(agent.heard.at(-1)).toMatchObject({ type: 'cancel', ref: { taskId: id } });
  });

  it('keeps the log of an attempt that was canceled at another hub than that of its agent', async () => {
    const agent = await SocketlessAgent.join(a);
    const id = await createTask(b);
    const { ref } = agent.latest;
    await c.tasks.cancel(id, true, ANYBODY);
    const text = 'step 1';
    const log = { digest: createHash('sha256').update(text).digest('hex'), sizeBytes: text.length };
    expect(await agent.end(ref, 'CANCELED', { log }, [text])).toBe(true);
    expect(await agent.end(ref, 'CANCELED', { log }, [text])).toBe(false);
  });

  it('is dispatched although the signals of its creation and of its assignment were lost', async () => {
    joined.lost.add('WAITS').add('ASSIGNED');
    const agent = await SocketlessAgent.join(b);
    const id = await createTask(c);
    expect(await statusOf(id)).toBe('WAITING');
    await a.resync();
    expect(await statusOf(id)).toBe('RUNNING');
    expect(agent.assigned).toEqual([]);
    await b.resync();
    await b.resync();
    expect(agent.assigned.map(({ ref }) => ref.taskId)).toEqual([id]);
    await b.resync();
    expect(agent.assigned).toHaveLength(1);
    expect(await agent.end(agent.latest.ref, 'OK')).toBe(true);
  });

  it('ends for those who wait at another hub although the signal of its end was lost', async () => {
    joined.lost.add('ENDED');
    const agent = await SocketlessAgent.join(b);
    const id = await createTask(c);
    let isOver = false;
    void c.resultWaiters.wait(id, 60_000).ended.then(() => {
      isOver = true;
    });
    await agent.end(agent.latest.ref, 'OK');
    expect(isOver).toBe(false);
    await c.resync();
    expect(isOver).toBe(true);
  });

  it('that has finished tells all hubs its run time, whatever the wall clock does, and they expect it of similar tasks', async () => {
    const agent = await SocketlessAgent.join(b);
    for (const runTimeMs of [1000, 2000, 3000, 4000, 5000]) {
      await createTask(c);
      b.runtime.setClock(3_600_000);
      await b.runtime.advance(runTimeMs);
      await agent.end(agent.latest.ref, 'OK');
    }
    await createTask(c);
    const nowMs = b.runtime.clock.nowMs();
    const estimate = {
      ...{ earliestMs: nowMs, expectedMs: nowMs + 1500, latestMs: nowMs + 5000 },
      measuredRuns: 5,
    };
    for (const { explanations } of [a, b, c])
      expect(await explanations.ofRequest([], null)).toMatchObject({ verdict: 'BUSY', estimate });
  });

  it('that ends at another hub than it began leaves no output there, although the signal was lost', async () => {
    joined.lost.add('ENDED');
    const agent = await SocketlessAgent.join(b);
    const [id, other] = [await createTask(c), await createTask(c)];
    const { ref } = agent.latest;
    const { nodeId } = agent;
    const moved = await SocketlessAgent.join(c, { id: agent.id, nodeId, running: [ref] });
    await SocketlessAgent.join(b, { id: 'agent-2', instances: [{ id: 'sim-2' }] });
    expect(await moved.end(ref, 'OK')).toBe(true);
    expect([id, other].map((each) => outputOf(b).tailOf(each)?.attempt)).toEqual([1, 1]);
    await b.resync();
    expect([id, other].map((each) => outputOf(b).tailOf(each)?.attempt)).toEqual([undefined, 1]);
  });

  it('does not go back to an agent that returned it for a host fault, although the signal was lost', async () => {
    joined.lost.add('EXCLUDED');
    const large = await SocketlessAgent.join(b, { id: 'large', instances: [{ id: 'sim-l' }] });
    await createTask(c);
    const small = await SocketlessAgent.join(c, { id: 'small', instances: [{ id: 'sim-s' }] });
    const id = await createTask(c);
    await small.end(small.latest.ref, 'RETURNED', { hostFault: true, message: 'its disk is full' });
    await a.resync();
    await a.runtime.advance(60_000);
    expect(small.assigned.map(({ ref }) => ref.taskId)).toEqual([id]);
    await large.end(large.latest.ref, 'OK');
    expect(large.latest.ref).toMatchObject({ taskId: id, attempt: 2 });
  });

  it('that was canceled is told to its agent although the signal was lost', async () => {
    joined.lost.add('CANCELED');
    const agent = await SocketlessAgent.join(b);
    const id = await createTask(c);
    await c.tasks.cancel(id, true, ANYBODY);
    await b.resync();
    expect(agent.heard.map(({ type }) => type)).not.toContain('cancel');
    await b.resync();
    expect(agent.heard.at(-1)).toMatchObject({ type: 'cancel', ref: { taskId: id } });
  });
});

describe('an agent', () => {
  it('and its instances are listed alike by all hubs', async () => {
    const agent = await SocketlessAgent.join(b, { instances: [{ id: 'sim-1' }, { id: 'sim-2' }] });
    await createTask(c);
    for (const hub of [a, b, c]) {
      const instances = await hub.nodes.instances();
      expect(instances.map(({ profile, status, working }) => [profile.id, status, working])).toEqual([
        ['sim-1', 'UP', true],
        ['sim-2', 'UP', false],
      ]);
    }
    await agent.disconnect();
    for (const hub of [a, b, c]) expect((await hub.nodes.agent('agent-1'))?.status).toBe('DOWN');
  });

  it('has instances with the same start at all hubs, whenever these hear of it', async () => {
    const arrive = joined.hold();
    await SocketlessAgent.join(b, { instances: [{ id: 'sim-1' }, { id: 'sim-2' }] });
    await b.runtime.advance(7);
    await a.resync();
    await arrive();
    const starts = async (hub: JoinedHub) =>
      (await hub.nodes.instances()).map(({ startedAtMs }) => startedAtMs);
    const told = await starts(b);
    expect(told).toEqual([expect.any(Number), expect.any(Number)]);
    expect(await starts(a)).toEqual(told);
    expect(await starts(c)).toEqual(told);
  });

  it('whose joining and leaving was not heard is known after the next reading of the rows', async () => {
    joined.lost.add('JOINED').add('READY').add('LEFT').add('INSTANCE');
    const agent = await SocketlessAgent.join(b);
    expect(await a.nodes.agents()).toEqual([]);
    await b.runtime.advance(10_000);
    await a.resync();
    expect(await a.nodes.instance('sim-1')).toMatchObject({ status: 'UP' });
    const id = await createTask(c);
    expect(agent.latest.ref.taskId).toBe(id);
    await agent.end(agent.latest.ref, 'OK');
    await agent.disconnect();
    await a.resync();
    expect(await a.nodes.instance('sim-1')).toMatchObject({ status: 'UNKNOWN' });
  });

  it('moves to another hub with what it runs, and its attempt counts once', async () => {
    const before = await SocketlessAgent.join(b);
    const id = await createTask(c);
    const { ref } = before.latest;
    const after = await SocketlessAgent.join(c, { nodeId: before.nodeId, running: [ref] });
    expect(before.ended).toBe('the same agent has joined another hub');
    expect((await a.nodes.agent('agent-1'))?.status).toBe('UP');
    expect(await before.end(ref, 'OK')).toBeUndefined();
    expect(await after.end(ref, 'OK')).toBe(true);
    expect(await statusOf(id)).toBe('FINISHED');
    const next = await createTask(b);
    expect(after.latest.ref.taskId).toBe(next);
    expect(before.assigned).toHaveLength(1);
  });

  it('keeps an attempt that a scheduler gave out before it heard that the agent joined again', async () => {
    const before = await SocketlessAgent.join(b);
    joined.lost.add('LEFT').add('JOINED').add('READY');
    await before.disconnect();
    const { queue } = b.store;
    const read = queue.runningOn.bind(queue);
    vi.spyOn(queue, 'runningOn').mockImplementationOnce(async (agentId) => {
      await createTask(c);
      return read(agentId);
    });
    const agent = await SocketlessAgent.join(b, { nodeId: before.nodeId });
    expect(agent.assigned).toHaveLength(1);
    expect(await agent.end(agent.latest.ref, 'OK')).toBe(true);
  });

  it('gets at another hub, at once and before any other task, what was sent to its former connection', async () => {
    const before = await SocketlessAgent.join(a);
    const arrive = joined.hold();
    const { queue } = b.store;
    const read = queue.runningOn.bind(queue);
    let first = '';
    vi.spyOn(queue, 'runningOn').mockImplementationOnce(async (agentId) => {
      const rows = await read(agentId);
      first = await createTask(a);
      return rows;
    });
    const agent = await SocketlessAgent.join(b, { nodeId: before.nodeId });
    expect(before.latest.ref.taskId).toBe(first);
    const second = await createTask(a);
    await arrive();
    expect(agent.assigned.map(({ ref }) => ref.taskId)).toEqual([first]);
    await agent.end(agent.latest.ref, 'OK');
    expect(agent.latest.ref.taskId).toBe(second);
  });

  it('keeps what it runs although the row of an earlier attempt is still there when the rows are read', async () => {
    const before = await SocketlessAgent.join(b);
    await createTask(c);
    const { ref } = before.latest;
    await before.disconnect();
    // The report of its end is under way.
    const agent = await SocketlessAgent.join(b, { nodeId: before.nodeId, spooled: [ref] });
    const next = await createTask(c);
    expect(agent.latest.ref.taskId).toBe(next);
    await a.resync();
    await agent.end(ref, 'RETURNED');
    await a.runtime.advance(5000);
    expect(agent.assigned.map((each) => each.ref.taskId)).toEqual([next]);
  });

  it('is let go by a hub that cannot reach the store, and goes on with its attempt at another', async () => {
    const before = await SocketlessAgent.join(b);
    await createTask(c);
    const { ref } = before.latest;
    await b.cutOff();
    expect(before.ended).toBe('the hub cannot reach its database');
    const after = await SocketlessAgent.join(c, { nodeId: before.nodeId, running: [ref] });
    expect(await after.end(ref, 'OK')).toBe(true);
    expect(await statusOf(ref.taskId)).toBe('FINISHED');
  });

  it('carries out commands that another hub was asked for', async () => {
    const agent = await SocketlessAgent.join(b);
    const commanded = c.control.command('sim-1', 'stop', { user: null });
    await b.runtime.settle();
    const request = agent.heard.at(-1);
    expect(request).toMatchObject({
      type: 'request',
      request: { kind: 'instanceCommand', instanceId: 'sim-1', command: 'stop' },
    });
    const requestId = (request as { requestId: string }).requestId;
    await agent.say({ type: 'reply', requestId, error: null, text: null });
    await commanded;
  });

  it('keeps an attempt whose row is gone only until its hub has compared them twice', async () => {
    joined.lost.add('FREED');
    const agent = await SocketlessAgent.join(b);
    await createTask(c);
    await agent.end(agent.latest.ref, 'OK');
    const next = await createTask(c);
    expect(await statusOf(next)).toBe('WAITING');
    await a.resync();
    await a.resync();
    expect(agent.latest.ref.taskId).toBe(next);
  });
});

describe('the agents', () => {
  it('are asked to move when one hub has many more than the others, until they are spread', async () => {
    const agents: SocketlessAgent[] = [];
    for (let at = 1; at <= 7; at++) {
      agents.push(
        await SocketlessAgent.join(b, {
          id: `agent-${at}`,
          instances: [{ id: `sim-${at}` }],
          takes: ['move'],
        }),
      );
    }
    await SocketlessAgent.join(c, { id: 'agent-8', instances: [{ id: 'sim-8' }] });
    await c.resync();
    await b.resync();
    const moves = agents.flatMap(({ heard }) => heard.filter(({ type }) => type === 'move'));
    // Eight agents at three hubs.
    expect(moves).toHaveLength(4);
    expect(moves.map((move) => (move as { to: string[] }).to[0])).toEqual([
      'ws://hub-0:8080',
      'ws://hub-2:8080',
      'ws://hub-0:8080',
      'ws://hub-2:8080',
    ]);
  });
});

describe('a hub that is prepared for a shutdown, and no other', () => {
  it('gives out tasks while others live, and none when it is the only one left', async () => {
    const agent = await SocketlessAgent.join(a);
    await a.shutdown.change(true);
    const first = await createTask(c);
    expect(agent.latest.ref.taskId).toBe(first);
    await agent.end(agent.latest.ref, 'OK');
    await b.leave();
    const second = await createTask(c);
    expect(agent.latest.ref.taskId).toBe(second);
    const last = await createTask(c);
    await c.leave();
    await agent.end(agent.latest.ref, 'OK');
    expect(await statusOf(last)).toBe('WAITING');
    await a.shutdown.change(false);
    await a.runtime.settle();
    expect(await statusOf(last)).toBe('RUNNING');
  });

  it('says that tasks are dispatched while others live, and that none are when it is the only one left', async () => {
    await SocketlessAgent.join(a);
    const [, waiting] = [await createTask(c), await createTask(c)];
    await a.shutdown.change(true);
    const task = await a.tasks.get(waiting);
    const verdicts = async () => {
      const explained = [await a.explanations.ofTask(task), await a.explanations.ofRequest([], null)];
      return [a.explanations.reasonOf(task), ...explained].map(({ verdict }) => verdict);
    };
    expect(await verdicts()).toEqual(['BUSY', 'BUSY', 'BUSY']);
    await b.leave();
    await c.leave();
    expect(await verdicts()).toEqual(['PAUSED', 'PAUSED', 'PAUSED']);
  });
});

describe('hubs that are prepared for a shutdown together', () => {
  it('accept no tasks and give out none until that is revoked, and what runs ends', async () => {
    const agent = await SocketlessAgent.join(a);
    await createTask(c);
    const waiting = await createTask(c);
    await b.shutdown.change(true, 'CLUSTER');
    await b.runtime.settle();
    for (const hub of [a, b, c]) expect(() => hub.shutdown.refuseNewTasks()).toThrow('accepts no tasks');
    expect(await agent.end(agent.latest.ref, 'OK')).toBe(true);
    expect(await statusOf(waiting)).toBe('WAITING');
    await c.shutdown.change(false, 'CLUSTER');
    await c.runtime.settle();
    expect(agent.latest.ref.taskId).toBe(waiting);
  });
});

describe('the next scheduler', () => {
  it('gives out what waits, to agents of all hubs, and gives out nothing twice', async () => {
    const agent = await SocketlessAgent.join(b, { instances: [{ id: 'sim-1' }, { id: 'sim-2' }] });
    const first = await createTask(c);
    await a.lose();
    const second = await createTask(c);
    expect(await statusOf(second)).toBe('WAITING');
    await b.gain(2);
    expect(agent.assigned.map(({ ref }) => ref.taskId)).toEqual([first, second]);
  });

  it('knows what runs from the rows, also on an agent of which it hears while it reads them', async () => {
    joined.lost.add('OCCUPIED');
    const agent = await SocketlessAgent.join(b, { instances: [{ id: 'sim-1' }, { id: 'sim-2' }] });
    await createTask(c);
    await createTask(c);
    const second = agent.latest.ref;
    await a.lose();
    const { queue } = c.store;
    const read = queue.running.bind(queue);
    vi.spyOn(queue, 'running').mockImplementationOnce(async () => {
      const rows = await read();
      await agent.end(second, 'OK');
      await c.runtime.settle();
      return rows;
    });
    await c.gain(2);
    const [third, fourth] = [await createTask(c), await createTask(c)];
    expect(agent.latest.ref).toMatchObject({ taskId: third, instanceId: second.instanceId });
    expect(await statusOf(fourth)).toBe('WAITING');
  });

  it('ends the lease of an agent that left before, from the start of its own term', async () => {
    const agent = await SocketlessAgent.join(b);
    const id = await createTask(c);
    await agent.disconnect();
    await a.runtime.advance(LEASE_MS / 2);
    await a.lose();
    await c.gain(2);
    await c.runtime.advance(LEASE_MS - 1);
    expect(await statusOf(id)).toBe('RUNNING');
    await c.runtime.advance(1);
    expect(await statusOf(id)).toBe('WAITING');
  });

  it('counts no lease that began in a term whose beginning failed', async () => {
    const agent = await SocketlessAgent.join(b);
    const id = await createTask(c);
    await agent.disconnect();
    await a.lose();
    vi.spyOn(c.store.queue, 'waitingGroups').mockRejectedValueOnce(new Error('the store is away'));
    await expect(c.gain(2)).rejects.toThrow('the store is away');
    await a.runtime.advance(LEASE_MS / 2);
    await c.gain(3);
    await c.runtime.advance(LEASE_MS - 1);
    expect(await statusOf(id)).toBe('RUNNING');
    await c.runtime.advance(1);
    expect(await statusOf(id)).toBe('WAITING');
  });

  it('begins no lease of an agent that is connected to another hub', async () => {
    await SocketlessAgent.join(b);
    const id = await createTask(c);
    await a.lose();
    await c.gain(2);
    await c.runtime.advance(2 * LEASE_MS);
    expect(await statusOf(id)).toBe('RUNNING');
  });
});

describe('recipes of a joined hub', () => {
  it('are asked for hosts by the hub that schedules, over the one that holds the connection, and by the next', async () => {
    const { site, setup } = siteSetup('berlin');
    await SocketlessAgent.join(b, setup);
    await createTask(c, { classifiers: [{ type: 'LABLES', value: 'gears' }] });
    await a.runtime.advance(5000);
    expect(site.wanted.at(-1)).toMatchObject([{ recipe: 'gears', count: 1 }]);
    await a.lose();
    const before = site.wanted.length;
    await c.gain(2);
    await c.runtime.advance(5000);
    expect(site.wanted.slice(before)[0]).toBe(null);
    expect(site.wanted.at(-1)).toMatchObject([{ recipe: 'gears', count: 1 }]);
  });
});
