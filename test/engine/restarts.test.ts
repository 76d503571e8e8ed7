/** A hub that ends and starts anew on the same files. */
import { describe, expect, it } from 'vitest';
import {
  comeBack,
  create,
  engine,
  engineForEachTest,
  join,
  restart,
} from '../support/engine-for-each-test.js';
import { LEASE_MS } from '../support/running-engine.js';

engineForEachTest();

describe('after a restart of the hub', () => {
  it('what waited waits, in order, and is given out', async () => {
    const ids = [await create(), await create(), await create()];
    await restart();
    const instances = ['1', '2', '3'].map((id) => ({ id }));
    const agent = await join({ instances });
    expect(agent.assigned.map(({ ref }) => ref.taskId)).toEqual(ids);
  });

  it('what ran goes on when its agent comes back, and its result counts', async () => {
    const agent = await join();
    const id = await create({ name: 'a' });
    const { ref } = agent.latest;
    await restart();
    expect(await engine.tasks.get(id)).toMatchObject({ status: 'RUNNING', attempt: 1 });
    const again = await comeBack(agent, { running: [ref] });
    expect(again.assigned).toEqual([]);
    expect(await again.end(ref, 'OK')).toBe(true);
    expect(await engine.tasks.get(id)).toMatchObject({ status: 'FINISHED', name: 'a', losses: 0 });
  });

  it('the lease of an agent that does not come back begins with the start', async () => {
    await join();
    const id = await create();
    await engine.runtime.advance(LEASE_MS - 1);
    await restart();
    await engine.runtime.advance(LEASE_MS - 1);
    expect(await engine.tasks.get(id)).toMatchObject({ status: 'RUNNING' });
    await engine.runtime.advance(1);
    expect(await engine.tasks.get(id)).toMatchObject({ status: 'WAITING', losses: 1 });
  });

  it('agents and instances are remembered, as away', async () => {
    await join({ id: 'host-a', instances: [{ labels: ['gears'] }] });
    await restart();
    expect(engine.instances.agents()).toMatchObject([
      { id: 'host-a', version: '0.1.0', revision: 'abc1234', status: 'DOWN' },
    ]);
    expect(engine.instances.list()).toMatchObject([
      {
        profile: { id: 'sim-1', version: '9.1.0', revision: '4711', labels: ['gears'] },
        agentId: 'host-a',
        status: 'UNKNOWN',
        startedAtMs: null,
        working: false,
      },
    ]);
  });

  it('crashes and losses are remembered', async () => {
    const agent = await join();
    const id = await create();
    await agent.end(agent.latest.ref, 'INSTANCE_LOST');
    await agent.end(agent.latest.ref, 'INSTANCE_LOST');
    await restart();
    const again = await comeBack(agent);
    // The third attempt had begun before the restart and is lost, which counts apart.
    expect(again.latest.ref).toMatchObject({ taskId: id, attempt: 4 });
    expect(await again.end(again.latest.ref, 'INSTANCE_LOST')).toBe(true);
    expect(await engine.tasks.get(id)).toMatchObject({ status: 'FAILED', losses: 1 });
  });
});
