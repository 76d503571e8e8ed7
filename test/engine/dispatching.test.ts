/** From the queue to an instance, through the real engine and the real store. */
import type { Classifier } from '@workbench-hub/shared/domain/classifier';
import { describe, expect, it, vi } from 'vitest';
import {
  create,
  engine,
  engineForEachTest,
  join,
  startAnew,
} from '../support/engine/engine-for-each-test.js';

engineForEachTest();

const createWith = (...classifiers: Classifier[]) => create({ classifiers });

const priority = (value: string): Classifier => ({ type: 'PRIORITY', value });
const labels = (value: string): Classifier => ({ type: 'LABLES', value });
const version = (value: string): Classifier => ({ type: 'VERSION', value });

const statusOf = async (id: string) => (await engine.tasks.get(id)).status;

const tenInstances = (prefix: string, own: string[]) =>
  Array.from({ length: 10 }, (_, at) => ({ id: `${prefix}-${at}`, labels: own }));

async function endAllThatRun(agent: Awaited<ReturnType<typeof join>>): Promise<void> {
  for (const { ref } of agent.assigned) {
    if ((await statusOf(ref.taskId)) === 'RUNNING') await agent.end(ref, 'OK');
  }
}

describe('dispatching', () => {
  it('assigns a waiting task to a new instance, with all that it needs to run', async () => {
    const task = await engine.tasks.create({
      name: 'run 7',
      creator: null,
      classifiers: [],
      timeLimitS: 60,
      job: { type: 'SIMULATE_WORK', durationS: 5 },
    });
    expect(await statusOf(task.id)).toBe('WAITING');
    await engine.runtime.advance(1500);

    const agent = await join();
    expect(agent.latest).toEqual({
      type: 'assign',
      ref: { taskId: task.id, attempt: 1, instanceId: 'sim-1' },
      timeLimitMs: 60_000,
      job: { type: 'SIMULATE_WORK', durationS: 5 },
      proof: expect.stringMatching(/^[\w-]{43}$/),
    });
    expect(await engine.tasks.get(task.id)).toMatchObject({
      status: 'RUNNING',
      attempt: 1,
      startedAtMs: task.requestedAtMs + 1500,
      endedAtMs: null,
      instance: { id: 'sim-1', version: '9.1.0', revision: '4711', agentId: 'agent-1' },
    });
    expect(engine.instances.find('sim-1')).toMatchObject({ working: true, status: 'UP' });
  });

  it('assigns a new task to an idle instance', async () => {
    const agent = await join();
    const id = await create();
    expect(agent.latest.ref.taskId).toBe(id);
  });

  it('assigns one task at a time to an instance, by priority, then by time of the request', async () => {
    const normal = await create();
    const low = await createWith(priority('low'));
    const later = await create();
    const highest = await createWith(priority('HIGHEST'));
    const agent = await join();

    const order: string[] = [];
    for (let at = 0; at < 4; at++) {
      expect(agent.assigned).toHaveLength(at + 1);
      order.push(agent.latest.ref.taskId);
      expect(await agent.end(agent.latest.ref, 'OK')).toBe(true);
    }
    expect(order).toEqual([highest, normal, later, low]);
    expect(agent.assigned).toHaveLength(4);
  });

  it('lets tasks overtake one that no instance fits', async () => {
    const agent = await join({
      instances: [{ version: '9.1.0', labels: ['linux'] }],
    });
    const old = await createWith(version('8.*'));
    const gpu = await createWith(labels('gpu'));
    const fitting = await createWith(version('9.?.0'), labels('LINUX'));
    expect(agent.assigned.map(({ ref }) => ref.taskId)).toEqual([fitting]);

    const other = await join({
      id: 'agent-2',
      instances: [
        { id: 'sim-8', version: '8.4' },
        { id: 'sim-gpu', labels: ['GPU'] },
      ],
    });
    expect(other.assigned.map(({ ref }) => [ref.taskId, ref.instanceId])).toEqual([
      [old, 'sim-8'],
      [gpu, 'sim-gpu'],
    ]);
  });

  it('gives tasks without a version the configured default version', async () => {
    await startAnew({ defaultVersion: '8.*' });
    const agent = await join({
      instances: [{ version: '9.1.0' }, { id: 'sim-8', version: '8.1' }],
    });
    await create();
    await create();
    const any = await createWith(version('*'));
    expect(agent.assigned.map(({ ref }) => ref.instanceId)).toEqual(['sim-8', 'sim-1']);
    expect(agent.latest.ref.taskId).toBe(any);
  });

  it('assigns nothing to an instance until it is up', async () => {
    const agent = await join({ instances: [{ status: 'STARTING', upForMs: null }] });
    const id = await create();
    expect(agent.assigned).toEqual([]);
    await agent.say({
      type: 'instance',
      instance: { id: 'sim-1', version: '9.1.0', revision: '4711', labels: [], status: 'UP', upForMs: 0 },
    });
    expect(agent.latest.ref.taskId).toBe(id);
  });

  it('assigns nothing to an instance that returned a task, for a cooldown of a second', async () => {
    const agent = await join();
    const id = await create();
    expect(await agent.end(agent.latest.ref, 'RETURNED')).toBe(true);
    expect(await statusOf(id)).toBe('WAITING');
    await engine.runtime.advance(999);
    expect(agent.assigned).toHaveLength(1);
    await engine.runtime.advance(1);
    expect(agent.latest.ref).toEqual({ taskId: id, attempt: 2, instanceId: 'sim-1' });
    expect(await engine.tasks.get(id)).toMatchObject({ crashes: 0, losses: 0 });
  });

  it('assigns a returned task to another instance at once', async () => {
    const agent = await join({ instances: [{}, { id: 'sim-2', labels: ['spare'] }] });
    const id = await create();
    expect(agent.latest.ref.instanceId).toBe('sim-1');
    await agent.end(agent.latest.ref, 'RETURNED');
    expect(agent.latest.ref).toEqual({ taskId: id, attempt: 2, instanceId: 'sim-2' });
  });

  it('assigns a task to another agent when its own disconnects during the claim', async () => {
    const { claim } = engine.store.queue;
    let answer!: () => void;
    vi.spyOn(engine.store.queue, 'claim').mockImplementationOnce(async (claims) => {
      const claimed = await claim(claims);
      await new Promise<void>((resolve) => {
        answer = resolve;
      });
      return claimed;
    });
    const agent = await join();
    const id = await create();
    await agent.disconnect();
    answer();
    await engine.runtime.settle();
    expect(agent.assigned).toEqual([]);
    const other = await join({ id: 'agent-2', instances: [{ id: 'sim-2' }] });
    expect(other.latest.ref).toEqual({ taskId: id, attempt: 2, instanceId: 'sim-2' });
  });

  it('fills many instances of many agents from a long queue, each task once', async () => {
    const ids: string[] = [];
    for (let pair = 0; pair < 20; pair++) ids.push(await createWith(), await createWith(labels('b')));
    const a = await join({ id: 'a', instances: tenInstances('a', []) });
    const b = await join({ id: 'b', instances: tenInstances('b', ['b']) });
    const given = [...a.assigned, ...b.assigned].map(({ ref }) => ref.taskId);
    expect(given).toHaveLength(20);
    expect(new Set(given).size).toBe(20);
    expect(a.assigned.map(({ ref }) => ref.taskId)).toEqual(ids.filter((_, at) => at % 2 === 0).slice(0, 10));
    expect(b.assigned.map(({ ref }) => ref.taskId).sort()).toEqual(
      [...ids].slice(0, 20).filter((_, at) => at % 2),
    );

    while (a.assigned.length + b.assigned.length < 40) {
      for (const agent of [a, b]) await endAllThatRun(agent);
    }
    for (const agent of [a, b]) for (const { ref } of agent.assigned) await agent.end(ref, 'OK');
    expect(new Set([...a.assigned, ...b.assigned].map(({ ref }) => ref.taskId))).toEqual(new Set(ids));
    for (const id of ids) expect(await statusOf(id)).toBe('FINISHED');
  });
});
