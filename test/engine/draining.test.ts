/** Drained agents: they end their tasks and begin no new ones. */
import { HubError } from '@workbench-hub/hub/core/errors';
import { describe, expect, it, vi } from 'vitest';
import {
  create,
  engine,
  engineForEachTest,
  join,
  rejoin,
  restart,
} from '../support/engine/engine-for-each-test.js';

engineForEachTest();

const drain = (agentId = 'agent-1') => engine.drains.drain(agentId, 'anna');
const undrain = async (agentId = 'agent-1') => {
  await engine.drains.undrain(agentId);
  await engine.runtime.settle();
};
const statusOf = async (id: string) => (await engine.tasks.get(id)).status;

describe('a drained agent', () => {
  it('completes its task and begins no other until it is undrained', async () => {
    const agent = await join();
    const running = await create();
    await drain();
    const waiting = await create();
    expect(await engine.drains.runningTasksOn('agent-1')).toBe(1);
    await agent.end(agent.latest.ref, 'OK');
    expect(await statusOf(running)).toBe('FINISHED');
    expect(await statusOf(waiting)).toBe('WAITING');
    expect(await engine.drains.runningTasksOn('agent-1')).toBe(0);
    await undrain();
    expect(agent.latest.ref.taskId).toBe(waiting);
    expect(engine.instances.drainOf('agent-1')).toBeNull();
  });

  it('keeps its first timestamp and name when it is drained again', async () => {
    await join();
    await drain();
    const { sinceMs } = engine.instances.drainOf('agent-1') ?? {};
    await engine.runtime.advance(5000);
    await engine.drains.drain('agent-1', 'ben');
    expect(engine.instances.drainOf('agent-1')).toEqual({ agentId: 'agent-1', sinceMs, by: 'anna' });
  });

  it('stays drained over a reconnect, with the attempt that it holds, and over a restart of the hub', async () => {
    const agent = await join();
    const running = await create();
    const { ref } = agent.latest;
    await drain();
    const back = await rejoin(agent, { running: [ref] });
    const waiting = await create();
    expect(await statusOf(running)).toBe('RUNNING');
    await back.end(ref, 'OK');
    expect(await statusOf(running)).toBe('FINISHED');
    expect(await statusOf(waiting)).toBe('WAITING');
    await restart();
    expect(engine.instances.findAgent('agent-1')?.drain).toMatchObject({ by: 'anna' });
    const after = await join();
    expect(after.assigned).toEqual([]);
    await undrain();
    expect(after.latest.ref.taskId).toBe(waiting);
  });

  it('can be drained before it joins', async () => {
    await drain('agent-2');
    const waiting = await create();
    const agent = await join({ id: 'agent-2' });
    expect(agent.assigned).toEqual([]);
    await undrain('agent-2');
    expect(agent.latest.ref.taskId).toBe(waiting);
  });

  it('does not begin a task that was claimed for it just before', async () => {
    const agent = await join();
    const { claim } = engine.store.queue;
    const claims = vi.spyOn(engine.store.queue, 'claim').mockImplementationOnce(async (claimed) => {
      const result = await claim(claimed);
      await drain();
      return result;
    });
    const id = await create();
    expect(claims).toHaveBeenCalledTimes(1);
    expect(agent.assigned).toEqual([]);
    expect(await statusOf(id)).toBe('WAITING');
    await undrain();
    expect(agent.latest.ref.taskId).toBe(id);
  });

  it('leaves new tasks to another agent, and is no alternative for a returned task', async () => {
    const first = await join();
    const id = await create();
    await drain('agent-2');
    await join({ id: 'agent-2', instances: [{ id: 'sim-2' }] });
    await first.end(first.latest.ref, 'RETURNED', { hostFault: true, message: 'the disk is full' });
    await engine.runtime.advance(2000);
    expect(first.latest.ref).toMatchObject({ taskId: id, attempt: 2 });
  });
});

describe('the check for changes by commands', () => {
  it('applies them within a second, and changes nothing while the store fails', async () => {
    const agent = await join();
    const stop = engine.drains.watch();
    try {
      const { agentDrains } = engine.accounts;
      await agentDrains.drain({ agentId: 'agent-1', sinceMs: 1, by: 'root' });
      await engine.runtime.advance(1000);
      const id = await create();
      expect(await statusOf(id)).toBe('WAITING');
      vi.spyOn(agentDrains, 'all').mockRejectedValueOnce(new HubError('STORE_UNAVAILABLE', 'busy'));
      await engine.runtime.advance(1000);
      expect(engine.log.at(-1)).toMatchObject({ msg: 'the check for drained agents failed' });
      expect(engine.instances.drainOf('agent-1')).toMatchObject({ by: 'root' });
      await agentDrains.undrain('agent-1');
      await engine.runtime.advance(1000);
      expect(agent.latest.ref.taskId).toBe(id);
    } finally {
      stop();
    }
  });
});
