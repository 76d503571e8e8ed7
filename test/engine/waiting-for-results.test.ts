/** Clients that wait for the end of a task. */
import { getEventListeners } from 'node:events';
import { ANYBODY } from '@workbench-hub/hub/core/access';
import { describe, expect, it } from 'vitest';
import { create, engine, engineForEachTest, join } from '../support/engine/engine-for-each-test.js';

engineForEachTest();

/** Waits for a task; `status` is undefined as long as there is no answer. */
function await_(id: string, timeoutMs: number, signal = new AbortController().signal) {
  const waiting: { status: string | undefined } = { status: undefined };
  engine.tasks
    .awaitEnd(id, 'SIMULATE_WORK', timeoutMs, () => signal)
    .then(
      ({ status }) => {
        waiting.status = status;
      },
      (error: { code: string }) => {
        waiting.status = error.code;
      },
    );
  return waiting;
}

describe('waiting for the end of a task', () => {
  it('ends with the task, for all waiters', async () => {
    const agent = await join();
    const id = await create();
    const all = [await_(id, 60_000), await_(id, 60_000)];
    await engine.runtime.advance(59_999);
    expect(all.map(({ status }) => status)).toEqual([undefined, undefined]);
    expect(engine.resultWaiters.waiting).toBe(2);
    await agent.end(agent.latest.ref, 'OK');
    expect(all.map(({ status }) => status)).toEqual(['FINISHED', 'FINISHED']);
    expect(engine.resultWaiters.waiting).toBe(0);
  });

  it('ends at its timeout, with the present state of the task', async () => {
    const id = await create();
    const waiting = await_(id, 5000);
    await join();
    await engine.runtime.advance(4999);
    expect(waiting.status).toBeUndefined();
    await engine.runtime.advance(1);
    expect(waiting.status).toBe('RUNNING');
    expect(engine.resultWaiters.waiting).toBe(0);
  });

  it('ends at once without a timeout, and with a task that has ended', async () => {
    const id = await create();
    const now = await_(id, 0);
    await engine.runtime.settle();
    expect(now.status).toBe('WAITING');
    await engine.tasks.cancel(id, false, ANYBODY);
    const ended = await_(id, 60_000);
    await engine.runtime.settle();
    expect(ended.status).toBe('CANCELED');
    expect(engine.resultWaiters.waiting).toBe(0);
  });

  it('continues while a task is requeued', async () => {
    const agent = await join();
    const id = await create();
    const waiting = await_(id, 60_000);
    await agent.end(agent.latest.ref, 'INSTANCE_LOST');
    expect(waiting.status).toBeUndefined();
    await agent.end(agent.latest.ref, 'OK');
    expect(waiting.status).toBe('FINISHED');
  });

  it.each([false, true])('ends with a cancel (by force: %s)', async (force) => {
    if (force) await join();
    const id = await create();
    const waiting = await_(id, 60_000);
    await engine.runtime.settle();
    await engine.tasks.cancel(id, force, ANYBODY);
    await engine.runtime.settle();
    expect(waiting.status).toBe('CANCELED');
  });

  it('is released when the client disconnects', async () => {
    const id = await create();
    const client = new AbortController();
    const timers = engine.runtime.pendingTimers;
    const waiting = await_(id, 60_000, client.signal);
    await engine.runtime.settle();
    expect(engine.resultWaiters.waiting).toBe(1);
    client.abort();
    await engine.runtime.settle();
    expect(engine.resultWaiters.waiting).toBe(0);
    expect(engine.runtime.pendingTimers).toBe(timers);
    expect(waiting.status).toBe('WAITING');
  });

  it('goes on for those that wait longer, and leaves nothing of a task when all have given up', async () => {
    const id = await create();
    const [short, long] = [await_(id, 5000), await_(id, 10_000)];
    await engine.runtime.advance(5000);
    expect([short.status, long.status]).toEqual(['WAITING', undefined]);
    expect(engine.resultWaiters.taskIds).toEqual([id]);
    await engine.tasks.cancel(id, false, ANYBODY);
    await engine.runtime.settle();
    expect(long.status).toBe('CANCELED');
    expect(engine.resultWaiters.taskIds).toEqual([]);
  });

  it('leaves no listener on the client, however it ends', async () => {
    const agent = await join();
    const id = await create();
    const { signal } = new AbortController();
    const { pendingTimers } = engine.runtime;
    await_(id, 5000, signal);
    await engine.runtime.advance(5000);
    await_(id, 60_000, signal);
    await agent.end(agent.latest.ref, 'OK');
    expect(getEventListeners(signal, 'abort')).toEqual([]);
    expect(engine.runtime.pendingTimers).toBe(pendingTimers);
  });

  it('does not begin for a disconnected client', async () => {
    const id = await create();
    const waiting = await_(id, 60_000, AbortSignal.abort());
    await engine.runtime.settle();
    expect(waiting.status).toBe('WAITING');
    expect(engine.resultWaiters.waiting).toBe(0);
  });

  it('ends when the hub stops', async () => {
    const id = await create();
    const waiting = await_(id, 60_000);
    await engine.runtime.settle();
    await engine.quiesce();
    await engine.runtime.settle();
    expect(waiting.status).toBe('WAITING');
  });

  it('misses no end, however close to the request', async () => {
    for (let microtasks = 0; microtasks < 8; microtasks++) {
      const id = await create();
      const waiting = await_(id, 60_000);
      for (let at = 0; at < microtasks; at++) await Promise.resolve();
      await engine.tasks.cancel(id, false, ANYBODY);
      await engine.runtime.settle();
      expect(waiting.status, `${microtasks} microtasks`).toBe('CANCELED');
    }
  });
});
