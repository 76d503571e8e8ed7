/** Agents that disconnect, and rejoin or not: an unreachable agent is not lost (contract 6.6). */
import { describe, expect, it, vi } from 'vitest';
import {
  create,
  engine,
  engineForEachTest,
  join,
  rejoin,
  startAnew,
} from '../support/engine/engine-for-each-test.js';
import { LEASE_MS } from '../support/engine/running-engine.js';

engineForEachTest();

/** A task that runs on agent-1. */
async function runOne() {
  const agent = await join();
  const id = await create();
  return { agent, id, ref: agent.latest.ref };
}

describe('a disconnected agent', () => {
  it('is DOWN with instances UNKNOWN, gets no new tasks and keeps its attempts', async () => {
    const { agent, id } = await runOne();
    const waiting = await create();
    await agent.disconnect();
    expect(engine.instances.findAgent('agent-1')).toMatchObject({ status: 'DOWN' });
    expect(engine.instances.find('sim-1')).toMatchObject({ status: 'UNKNOWN', working: true });
    await engine.runtime.advance(LEASE_MS - 1);
    expect(await engine.tasks.get(id)).toMatchObject({ status: 'RUNNING', attempt: 1, losses: 0 });
    expect(await engine.tasks.get(waiting)).toMatchObject({ status: 'WAITING', attempt: 0 });
    expect(agent.assigned).toHaveLength(1);
  });

  it('continues when it rejoins within its lease', async () => {
    const { agent, id, ref } = await runOne();
    const { startedAtMs } = await engine.tasks.get(id);
    await agent.disconnect();
    await engine.runtime.advance(LEASE_MS - 1);
    const again = await rejoin(agent, { running: [ref] });
    expect(again.heard.map(({ type }) => type)).toEqual(['welcome']);
    await engine.runtime.advance(2 * LEASE_MS);
    expect(await engine.tasks.get(id)).toMatchObject({
      status: 'RUNNING',
      attempt: 1,
      startedAtMs,
      losses: 0,
    });
    expect(engine.instances.find('sim-1')).toMatchObject({ status: 'UP', working: true });
    expect(await again.end(ref, 'OK')).toBe(true);
    expect(await engine.tasks.get(id)).toMatchObject({ status: 'FINISHED', attempt: 1 });
  });

  it('delivers the reports of attempts that ended meanwhile', async () => {
    const { agent, id, ref } = await runOne();
    await agent.disconnect();
    const again = await rejoin(agent, { spooled: [ref] });
    expect(await engine.tasks.get(id)).toMatchObject({ status: 'RUNNING' });
    expect(engine.instances.find('sim-1')).toMatchObject({ working: false });
    expect(await again.end(ref, 'ERROR', { message: 'exit code 1' })).toBe(true);
    expect(await engine.tasks.get(id)).toMatchObject({ status: 'FAILED', message: 'exit code 1' });
  });

  it('loses at once the attempts that it no longer runs when it rejoins', async () => {
    const { agent, id } = await runOne();
    await agent.disconnect();
    const again = await rejoin(agent);
    expect(again.latest.ref).toEqual({ taskId: id, attempt: 2, instanceId: 'sim-1' });
    expect(await engine.tasks.get(id)).toMatchObject({ status: 'RUNNING', losses: 1, crashes: 0 });
  });

  it('is lost when its lease ends: its tasks are requeued at their old place', async () => {
    const { agent, id, ref } = await runOne();
    const younger = await create();
    await agent.disconnect();
    await engine.runtime.advance(LEASE_MS);
    expect(await engine.tasks.get(id)).toMatchObject({ status: 'WAITING', startedAtMs: null, losses: 1 });
    const other = await join({ id: 'agent-2', instances: [{ id: 'sim-2' }] });
    expect(other.latest.ref).toEqual({ taskId: id, attempt: 2, instanceId: 'sim-2' });
    expect(await engine.tasks.get(younger)).toMatchObject({ status: 'WAITING' });

    // A newer attempt has begun: the report of the old one no longer counts.
    const again = await rejoin(agent, { running: [ref] });
    expect(again.heard).toContainEqual({ type: 'cancel', ref });
    expect(await again.end(ref, 'OK')).toBe(false);
    expect(await engine.tasks.get(id)).toMatchObject({ status: 'RUNNING', attempt: 2 });
    expect(await other.end(other.latest.ref, 'OK')).toBe(true);
    expect(await engine.tasks.get(id)).toMatchObject({ status: 'FINISHED', instance: { id: 'sim-2' } });
  });

  it.each(['runningOn', 'requeue'] as const)(
    'is lost a little later when the store failed at the end of the lease: %s',
    async (call) => {
      const { agent, id } = await runOne();
      await agent.disconnect();
      vi.spyOn(engine.store.queue, call).mockRejectedValueOnce(new Error('disk I/O error'));
      await engine.runtime.advance(LEASE_MS);
      expect(await engine.tasks.get(id)).toMatchObject({ status: 'RUNNING', losses: 0 });
      await engine.runtime.advance(5000);
      expect(await engine.tasks.get(id)).toMatchObject({ status: 'WAITING', losses: 1 });
    },
  );

  it('keeps its attempts when it rejoins just as its lease ends', async () => {
    const { agent, id, ref } = await runOne();
    await agent.disconnect();
    const { runningOn } = engine.store.queue;
    let answer!: () => void;
    vi.spyOn(engine.store.queue, 'runningOn').mockImplementationOnce(async (agentId) => {
      const tasks = await runningOn(agentId);
      await new Promise<void>((resolve) => {
        answer = resolve;
      });
      return tasks;
    });
    await engine.runtime.advance(LEASE_MS);
    const again = await rejoin(agent, { running: [ref] });
    answer();
    await engine.runtime.settle();
    expect(await engine.tasks.get(id)).toMatchObject({ status: 'RUNNING', attempt: 1, losses: 0 });
    expect(await again.end(ref, 'OK')).toBe(true);
  });

  it('keeps its attempts for a whole lease when it was back while the end of the former one failed', async () => {
    const { agent, id, ref } = await runOne();
    await agent.disconnect();
    let fail!: () => void;
    vi.spyOn(engine.store.queue, 'runningOn').mockImplementationOnce(
      () =>
        new Promise((_, reject) => {
          fail = () => reject(new Error('disk I/O error'));
        }),
    );
    await engine.runtime.advance(LEASE_MS);
    const again = await rejoin(agent, { running: [ref] });
    await again.disconnect();
    fail();
    await engine.runtime.settle();
    await engine.runtime.advance(LEASE_MS - 1);
    expect(await engine.tasks.get(id)).toMatchObject({ status: 'RUNNING', attempt: 1, losses: 0 });
    await engine.runtime.advance(1);
    expect(await engine.tasks.get(id)).toMatchObject({ status: 'WAITING', losses: 1 });
  });

  it.each(['running', 'spooled'] as const)(
    'has its attempts adopted after its lease as long as no newer one has begun: %s',
    async (how) => {
      const { agent, id, ref } = await runOne();
      await agent.disconnect();
      await engine.runtime.advance(LEASE_MS);
      expect(await engine.tasks.get(id)).toMatchObject({ status: 'WAITING' });
      const again = await rejoin(agent, { [how]: [ref] });
      expect(again.assigned).toEqual([]);
      expect(await engine.tasks.get(id)).toMatchObject({ status: 'RUNNING', attempt: 1 });
      expect(await again.end(ref, 'OK')).toBe(true);
      expect(await engine.tasks.get(id)).toMatchObject({ status: 'FINISHED', attempt: 1 });
    },
  );

  it('has its attempt adopted when it rejoins while the store requeues the task', async () => {
    const { agent, id, ref } = await runOne();
    await agent.disconnect();
    const again = await rejoin(agent, { running: [ref] });
    expect(await engine.store.queue.requeue([{ ref, loss: 'LOSS' }])).toEqual([true]);
    expect(await again.end(ref, 'OK')).toBe(true);
    expect(await engine.tasks.get(id)).toMatchObject({ status: 'FINISHED', attempt: 1 });
  });

  it('fails a task that was lost as often as tasks.maxLosses says, with the reason', async () => {
    await startAnew({ maxLosses: 2 });
    const { agent, id } = await runOne();
    await agent.disconnect();
    const again = await rejoin(agent);
    expect(again.latest.ref.attempt).toBe(2);
    await again.disconnect();
    await engine.runtime.advance(LEASE_MS);
    expect(await engine.tasks.get(id)).toMatchObject({
      status: 'FAILED',
      batchExecutionStatus: null,
      message:
        'the agent was lost 2 times while it ran this task (tasks.maxLosses): ' +
        'agent agent-1 was unreachable for 1800 s',
    });
  });

  it('loses all its attempts together', async () => {
    const instances = [{}, { id: 'sim-2' }, { id: 'sim-3' }];
    const agent = await join({ instances });
    const ids = [await create(), await create(), await create()];
    await agent.disconnect();
    await engine.runtime.advance(LEASE_MS);
    for (const id of ids) expect(await engine.tasks.get(id)).toMatchObject({ status: 'WAITING', losses: 1 });
    const other = await join({ id: 'agent-2', instances: [{ id: 'x' }] });
    expect(other.latest.ref.taskId).toBe(ids[0]);
  });

  it('is awaited, with what the end of its lease writes, before the hub closes its store', async () => {
    const { agent } = await runOne();
    await agent.disconnect();
    const { runningOn } = engine.store.queue;
    let goOn!: () => void;
    vi.spyOn(engine.store.queue, 'runningOn').mockImplementationOnce(async (agentId) => {
      await new Promise<void>((resolve) => {
        goOn = resolve;
      });
      return runningOn(agentId);
    });
    await engine.runtime.advance(LEASE_MS);
    let isStopped = false;
    const stopping = engine.stop().then(() => {
      isStopped = true;
    });
    await engine.runtime.settle();
    expect(isStopped).toBe(false);
    goOn();
    await stopping;
  });

  it('gets a new lease each time that it disconnects', async () => {
    const { agent, id, ref } = await runOne();
    await agent.disconnect();
    await engine.runtime.advance(LEASE_MS - 1);
    const again = await rejoin(agent, { running: [ref] });
    await again.disconnect();
    await engine.runtime.advance(LEASE_MS - 1);
    expect(await engine.tasks.get(id)).toMatchObject({ status: 'RUNNING' });
    await engine.runtime.advance(1);
    expect(await engine.tasks.get(id)).toMatchObject({ status: 'WAITING' });
  });
});
