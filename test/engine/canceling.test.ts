/** Cancel and delete, also during another transition of the task. */
import { ANYBODY } from '@workbench-hub/hub/core/access';
import { describe, expect, it } from 'vitest';
import { engine, engineForEachTest, join, rejoin } from '../support/engine/engine-for-each-test.js';
import type { SocketlessAgent } from '../support/engine/running-engine.js';

engineForEachTest();

async function create(): Promise<string> {
  const task = await engine.tasks.create({
    name: null,
    creator: null,
    classifiers: [],
    timeLimitS: null,
    job: { type: 'SIMULATE_WORK', durationS: 1 },
  });
  return task.id;
}

const canceled = (agent: SocketlessAgent) => agent.heard.filter(({ type }) => type === 'cancel');

describe('cancel', () => {
  it('takes a waiting task out of the queue for good', async () => {
    const id = await create();
    await engine.runtime.advance(500);
    await engine.tasks.cancel(id, false, ANYBODY);
    const task = await engine.tasks.get(id);
    expect(task).toMatchObject({ status: 'CANCELED', startedAtMs: null, attempt: 0 });
    expect(task.endedAtMs).toBe(task.requestedAtMs + 500);
    const agent = await join();
    expect(agent.assigned).toEqual([]);
  });

  it('of a running task is refused, and the message names force', async () => {
    await join();
    const id = await create();
    await engine.runtime.settle();
    await expect(engine.tasks.cancel(id, false, ANYBODY)).rejects.toMatchObject({
      code: 'TASK_NOT_CANCELABLE',
      message: `task ${id} is RUNNING, only a WAITING one can be canceled; add ?force=true to end it on its workbench instance`,
    });
    expect(await engine.tasks.get(id)).toMatchObject({ status: 'RUNNING' });
  });

  it('by force ends a running task on its instance, and its report is dropped', async () => {
    const agent = await join();
    const id = await create();
    const next = await create();
    await engine.runtime.settle();
    const { ref } = agent.latest;
    await engine.tasks.cancel(id, true, ANYBODY);
    await engine.runtime.settle();
    expect(canceled(agent)).toEqual([{ type: 'cancel', ref }]);
    expect(await engine.tasks.get(id)).toMatchObject({ status: 'CANCELED', instance: { id: 'sim-1' } });
    // The instance is busy until its agent says that it is not.
    expect(agent.assigned).toHaveLength(1);
    expect(await agent.end(ref, 'OK')).toBe(false);
    expect(await engine.tasks.get(id)).toMatchObject({ status: 'CANCELED' });
    expect(agent.latest.ref.taskId).toBe(next);
  });

  it('by force reaches a disconnected agent when it rejoins', async () => {
    const agent = await join();
    const id = await create();
    await engine.runtime.settle();
    const { ref } = agent.latest;
    await agent.disconnect();
    await engine.tasks.cancel(id, true, ANYBODY);
    const again = await rejoin(agent, { running: [ref] });
    expect(canceled(again)).toEqual([{ type: 'cancel', ref }]);
    expect(await again.end(ref, 'CANCELED')).toBe(false);
    expect(await engine.tasks.get(id)).toMatchObject({ status: 'CANCELED' });
  });

  it.each([false, true])('of an ended task is refused (by force: %s)', async (force) => {
    const agent = await join();
    const id = await create();
    await engine.runtime.settle();
    await agent.end(agent.latest.ref, 'OK');
    await expect(engine.tasks.cancel(id, force, ANYBODY)).rejects.toMatchObject({
      code: 'TASK_NOT_CANCELABLE',
      message: `task ${id} is FINISHED, only a ${force ? 'WAITING or RUNNING' : 'WAITING'} one can be canceled`,
    });
  });

  it('of an unknown task is refused as such', async () => {
    await expect(engine.tasks.cancel('nobody', false, ANYBODY)).rejects.toMatchObject({
      code: 'TASK_NOT_FOUND',
      message: 'there is no task with the id "nobody"',
    });
  });

  it.each([
    ['as soon as it is asked for', 0],
    ['a microtask later', 1],
    ['two microtasks later', 2],
    ['three microtasks later', 3],
    ['five microtasks later', 5],
  ])(
    'simultaneous with a claim: one of the two wins, and hub and agent agree (%s)',
    async (_, microtasks) => {
      const agent = await join();
      const id = await create();
      for (let at = 0; at < microtasks; at++) await Promise.resolve();
      const outcome = await engine.tasks.cancel(id, false, ANYBODY).then(
        () => 'CANCELED',
        () => 'RUNNING',
      );
      await engine.runtime.settle();
      expect(await engine.tasks.get(id)).toMatchObject({ status: outcome });
      expect(agent.assigned).toHaveLength(outcome === 'RUNNING' ? 1 : 0);
    },
  );

  it.each([0, 1, 2, 3, 5, 8])(
    'by force simultaneous with a claim: a dispatched attempt is canceled (%d microtasks later)',
    async (microtasks) => {
      const agent = await join();
      const id = await create();
      for (let at = 0; at < microtasks; at++) await Promise.resolve();
      await engine.tasks.cancel(id, true, ANYBODY);
      await engine.runtime.settle();
      expect(await engine.tasks.get(id)).toMatchObject({ status: 'CANCELED' });
      const refs = agent.assigned.map(({ ref }) => ref);
      expect(canceled(agent)).toEqual(refs.map((ref) => ({ type: 'cancel', ref })));
      for (const ref of refs) expect(await agent.end(ref, 'CANCELED')).toBe(false);
      const next = await create();
      await engine.runtime.settle();
      expect(agent.latest.ref.taskId).toBe(next);
    },
  );
});

it('a cancel between pairing and claim of a task leaves the instance to the next task', async () => {
  const outcomes = new Set<string>();
  for (let microtasks = 0; microtasks < 12; microtasks++) {
    const [first, second] = [await create(), await create()];
    const joining = join();
    for (let at = 0; at < microtasks; at++) await Promise.resolve();
    const canceling = engine.tasks.cancel(first, false, ANYBODY).catch(() => undefined);
    const agent = await joining;
    await canceling;
    await engine.runtime.settle();
    const { status } = await engine.tasks.get(first);
    outcomes.add(status);
    const expected = status === 'CANCELED' ? second : first;
    expect(
      agent.assigned.map(({ ref }) => ref.taskId),
      `${microtasks} microtasks`,
    ).toEqual([expected]);
    await agent.end(agent.latest.ref, 'OK');
    if (expected === first) await agent.end(agent.latest.ref, 'OK');
    await agent.disconnect();
  }
  expect(outcomes).toContain('CANCELED');
});

it('a cancel by force during the claim reaches the agent of the task', async () => {
  let handedOut = 0;
  for (let microtasks = 0; microtasks < 30; microtasks++) {
    const id = await create();
    const joining = join();
    for (let at = 0; at < microtasks; at++) await Promise.resolve();
    await engine.tasks.cancel(id, true, ANYBODY);
    const agent = await joining;
    await engine.runtime.settle();
    expect(await engine.tasks.get(id)).toMatchObject({ status: 'CANCELED' });
    const refs = agent.assigned.map(({ ref }) => ref);
    expect(canceled(agent), `${microtasks} microtasks`).toEqual(refs.map((ref) => ({ type: 'cancel', ref })));
    for (const ref of refs) expect(await agent.end(ref, 'CANCELED')).toBe(false);
    handedOut += refs.length;
    await agent.disconnect();
  }
  expect(handedOut).toBeGreaterThan(0);
});

describe('delete', () => {
  it('removes an ended task with all its data', async () => {
    const id = await create();
    await engine.tasks.cancel(id, false, ANYBODY);
    await engine.tasks.remove(id, ANYBODY);
    await expect(engine.tasks.get(id)).rejects.toMatchObject({ code: 'TASK_NOT_FOUND' });
    await expect(engine.tasks.remove(id, ANYBODY)).rejects.toMatchObject({ code: 'TASK_NOT_FOUND' });
  });

  it('of a task that has not ended is refused', async () => {
    const id = await create();
    const refusal = (status: string) => ({
      code: 'TASK_NOT_DELETABLE',
      message: `task ${id} is ${status}, only one that is FINISHED, FAILED, CANCELED can be deleted`,
    });
    await expect(engine.tasks.remove(id, ANYBODY)).rejects.toMatchObject(refusal('WAITING'));
    await join();
    await expect(engine.tasks.remove(id, ANYBODY)).rejects.toMatchObject(refusal('RUNNING'));
  });

  it('makes a later report one of an unknown task', async () => {
    const agent = await join();
    const id = await create();
    await engine.runtime.settle();
    await engine.tasks.cancel(id, true, ANYBODY);
    await engine.tasks.remove(id, ANYBODY);
    expect(await agent.end(agent.latest.ref, 'CANCELED')).toBe(false);
    expect(engine.instances.find('sim-1')).toMatchObject({ working: false });
  });
});
