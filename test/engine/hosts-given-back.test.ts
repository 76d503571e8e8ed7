/** Hosts that are given back while the hub does not know of their jobs, or while these end. */
import { pause } from '@workbench-hub/shared/runtime/pause';
import { describe, expect, it } from 'vitest';
import { create, engine, engineForEachTest, restart } from '../support/engine/engine-for-each-test.js';
import { joinAs, MINUTE_MS, manager, pass, startWith } from '../support/engine/engine-with-hosts.js';

engineForEachTest();

const statesNow = async () => (await engine.store.allocations.open()).map(({ state }) => state);

describe('a host that is given back by a hub that was killed after its submit', () => {
  it('is asked again to go while the workload manager still shows its job', async () => {
    await startWith();
    manager.losesAnswers = true;
    await create();
    await engine.runtime.advance(2000);
    expect(manager.live).toHaveLength(1);
    manager.isAway = true;
    await restart();
    await engine.recipeViews.drain('gears', 'anna');
    await engine.recipeViews.pause('gears', 'anna');
    await pass();
    expect(await statesNow()).toEqual(['DRAINING']);
    manager.isAway = false;
    manager.ignoresCancels = true;
    await pass(MINUTE_MS);
    expect(manager.canceled.length).toBeGreaterThan(1);
    expect(await statesNow()).toEqual(['DRAINING']);
    manager.ignoresCancels = false;
    await pass(MINUTE_MS);
    expect([manager.live, await statesNow()]).toEqual([[], []]);
  });
});

/** Has a host come for a task, and run it; resolves with its name. */
async function idleHost(): Promise<string> {
  await startWith();
  await create();
  await pass();
  const [name] = manager.live as [string];
  manager.run(name);
  const agent = await joinAs(name);
  await pass();
  await agent.end(agent.latest.ref, 'OK');
  return name;
}

it('a host is not given back as idle while the inputs of a loan are on their way to it', async () => {
  const name = await idleHost();
  const begun = engine.instances.awaitLoan(`${name}-sim`);
  await pass(10 * MINUTE_MS);
  expect(await statesNow()).toEqual(['JOINED']);
  begun();
  await pass(MINUTE_MS);
  expect(manager.canceled).toEqual([name]);
});

describe('a host that a hub was about to give back when it was killed', () => {
  /** The hub has drained the agent, and is killed before it takes note of that. */
  const killBetween = async (name: string): Promise<void> => {
    await engine.drains.drain(name, 'recipe gears');
    await restart();
    await pass(MINUTE_MS);
  };

  it('is given back while it is queued, and counted on by no task', async () => {
    await startWith();
    await create();
    await pass();
    const [name] = manager.live as [string];
    await killBetween(name);
    expect(await engine.store.allocations.find(name)).toMatchObject({ state: 'ENDED', cause: 'NOT_NEEDED' });
    expect(await statesNow()).toEqual(['QUEUED']);
    expect(manager.live).not.toContain(name);
  });

  it('is given back as idle when it has joined', async () => {
    const name = await idleHost();
    await killBetween(name);
    expect(await engine.store.allocations.find(name)).toMatchObject({ state: 'ENDED', cause: 'IDLE' });
  });
});

describe('nothing stays drained when a job ends', () => {
  /** Has a job start for a task. */
  const start = async (): Promise<string> => {
    await startWith();
    await create();
    await pass();
    const [name] = manager.live as [string];
    manager.run(name);
    await pass();
    return name;
  };
  const drained = () => [...engine.instances.drains].map(({ agentId }) => agentId);
  /** Has the next drain of an agent be taken note of late, after its job has ended. */
  const endDuringDrain = (name: string) => {
    const { agentDrains } = engine.accounts;
    const { drain } = agentDrains;
    agentDrains.drain = async (row) => {
      agentDrains.drain = drain;
      const isNew = await drain(row);
      manager.end(name, 'FAILED');
      await pause(engine.runtime.timers, 10_000);
      return isNew;
    };
  };

  it('while the output of its agent is read, which has not joined', async () => {
    const name = await start();
    let reads = 0;
    manager.beforeOutput = async () => {
      if (++reads > 1) return;
      manager.end(name, 'FAILED');
      await pause(engine.runtime.timers, 20_000);
    };
    await pass(3 * MINUTE_MS);
    expect(reads).toBeGreaterThan(1);
    expect(await engine.store.allocations.find(name)).toMatchObject({ state: 'ENDED' });
    expect(drained()).toEqual([]);
  });

  it('while its agent is drained', async () => {
    const name = await start();
    endDuringDrain(name);
    await pass(3 * MINUTE_MS);
    expect(await engine.store.allocations.find(name)).toMatchObject({ state: 'ENDED' });
    expect(drained()).toEqual([]);
  });

  it('while its agent is drained again, which somebody has let go on', async () => {
    const name = await start();
    manager.ignoresCancels = true;
    await engine.recipeViews.drain('gears', 'anna');
    await engine.recipeViews.pause('gears', 'anna');
    await pass();
    expect([await statesNow(), drained()]).toEqual([['DRAINING'], [name]]);
    endDuringDrain(name);
    await engine.drains.undrain(name);
    await pass(MINUTE_MS);
    expect(await engine.store.allocations.find(name)).toMatchObject({ state: 'ENDED' });
    expect(drained()).toEqual([]);
  });

  it('and the hub is killed before it takes note of that', async () => {
    const name = await start();
    manager.end(name, 'FAILED');
    await pass();
    expect(await statesNow()).toEqual([]);
    await engine.drains.drain(name, 'recipe gears');
    await engine.drains.drain('sim-host', 'anna');
    await restart();
    await pass();
    expect(drained()).toEqual(['sim-host']);
  });
});
