/** Hosts whose jobs, workload managers or configurations are not as they should be, while tasks wait for them. */
import { ANYBODY } from '@workbench-hub/hub/core/access';
import { expect, it } from 'vitest';
import {
  create,
  engine,
  engineForEachTest,
  join,
  restart,
  startAnew,
} from '../support/engine/engine-for-each-test.js';
import { joinAs, MINUTE_MS, manager, pass, startWith } from '../support/engine/engine-with-hosts.js';
import { ManagerInMemory, recipeWith } from '../support/engine/manager-in-memory.js';

engineForEachTest();

const HOUR_MS = 60 * MINUTE_MS;
const only = () => manager.live[0] as string;

/** Has a host come for the task that waits, and begin it. */
async function hostThatBegins() {
  for (let look = 0; look < 20 && manager.live.length === 0; look++) await pass(1000);
  const name = only();
  manager.run(name, HOUR_MS);
  await pass(3000);
  const agent = await joinAs(name);
  await pass(2000);
  expect(agent.assigned).toHaveLength(1);
  return { name, agent };
}

it.each([
  ['OUT_OF_MEMORY', 'FAILED', 13],
  ['PREEMPTED', 'WAITING', 15],
])('a task on whose hosts the job ended as %s again and again is %s', async (end, status, ends) => {
  await startWith({}, { maxLosses: 3 });
  const id = await create();
  let count = 0;
  for (; count < 15 && (await engine.tasks.get(id)).status === 'WAITING'; count++) {
    const { name, agent } = await hostThatBegins();
    await agent.disconnect();
    manager.end(name, end);
    await pass(4000);
  }
  expect(count).toBe(ends);
  expect(await engine.tasks.get(id)).toMatchObject({ status });
});

it('short tasks have a host come when the instances that fit them run long ones', async () => {
  await startWith();
  const agent = await join({ instances: [{ id: 'sim-1', labels: ['gears'] }] });
  for (let at = 0; at < 20; at++) {
    await create();
    await engine.runtime.advance(1000);
    await agent.end(agent.latest.ref, 'OK');
  }
  await create({ classifiers: [{ type: 'LABLES', value: 'gears' }] });
  await pass(1000);
  for (let at = 0; at < 40; at++) await create();
  await pass(MINUTE_MS / 2);
  expect(manager.launches).toEqual([]);
  await pass(MINUTE_MS);
  expect(manager.launches).toHaveLength(1);
});

it('a job that was handed in with an earlier configuration does not say what the recipe brings', async () => {
  await startWith({
    instances: [{ instanceClass: { version: '9.2', labels: [], runs: undefined }, count: 1, ids: ['sim'] }],
  });
  await create({ classifiers: [{ type: 'VERSION', value: '9.2' }] });
  await pass();
  const name = only();
  manager.run(name, HOUR_MS);
  const agent = await joinAs(name, { version: '9.1.0' });
  await pass(30 * MINUTE_MS);
  expect(agent.assigned).toEqual([]);
  await agent.disconnect();
  manager.end(name, null);
  await pass(MINUTE_MS);
  expect(manager.launches).toHaveLength(2);
});

it('while a workload manager does not answer, the next recipe that fits brings the host', async () => {
  const [first, second] = [new ManagerInMemory(), new ManagerInMemory()];
  await startAnew({ hosts: [recipeWith(first), recipeWith(second, { name: 'belts', managerKey: 'other' })] });
  first.clock = second.clock = engine.runtime.clock;
  await pass(MINUTE_MS);
  first.isAway = true;
  await create();
  await pass(5 * MINUTE_MS);
  expect(first.launches).toEqual([]);
  expect(second.launches).toHaveLength(1);

  first.isAway = false;
  await pass(5 * MINUTE_MS);
  expect([...first.live, ...second.live]).toHaveLength(1);
});

it('an allocation drains before its end also where the workload manager tells no time that is left', async () => {
  await startWith({ drainBeforeMs: 5 * MINUTE_MS });
  await create();
  await pass();
  manager.run(only(), null);
  await pass();
  const agent = await joinAs(only());
  const beganAtMs = engine.runtime.clock.nowMs();
  const minutes = () => (engine.runtime.clock.nowMs() - beganAtMs) / MINUTE_MS;
  let latest = 0;
  for (let at = 0; at < 58 && agent.assigned.length === at + 1; at++) {
    latest = minutes();
    await agent.end(agent.latest.ref, 'OK');
    await create();
    await pass(MINUTE_MS);
  }
  expect(latest).toBeGreaterThan(53);
  expect(latest).toBeLessThan(56);
});

it('the ends of hosts are kept, and their rows closed, when all recipes are removed', async () => {
  const known = new ManagerInMemory();
  const setup: { hosts: ReturnType<typeof recipeWith>[] } = { hosts: [recipeWith(known)] };
  await startAnew(setup);
  known.clock = engine.runtime.clock;
  await pass(MINUTE_MS);
  await create();
  await pass();
  const name = known.live[0] as string;
  known.run(name, 20 * MINUTE_MS);
  const agent = await joinAs(name);
  await pass();
  await agent.end(agent.latest.ref, 'OK');
  const task = await engine.tasks.create({
    ...{ name: null, creator: null, classifiers: [], timeLimitS: 3000 },
    job: { type: 'SIMULATE_WORK', durationS: 1 },
  });
  setup.hosts = [];
  await restart();
  const again = await joinAs(name);
  await pass(2000);
  expect(await engine.tasks.get(task.id)).toMatchObject({ status: 'WAITING' });

  await engine.tasks.cancel(task.id, false, ANYBODY);
  await again.disconnect();
  await pass(22 * MINUTE_MS);
  expect(await engine.store.allocations.open()).toEqual([]);
  expect(await engine.store.allocations.find(name)).toMatchObject({ state: 'ENDED', cause: 'TIME' });
});
