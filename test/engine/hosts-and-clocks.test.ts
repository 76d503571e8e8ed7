/** Hosts whose hub has a clock that is set. */
import { expect, it } from 'vitest';
import {
  create,
  engine,
  engineForEachTest,
  join,
  startAnew,
} from '../support/engine/engine-for-each-test.js';
import { joinAs, MINUTE_MS, manager, pass, startWith } from '../support/engine/engine-with-hosts.js';
import { ManagerInMemory, recipeWith } from '../support/engine/manager-in-memory.js';

engineForEachTest();

const HOUR_MS = 60 * MINUTE_MS;
const SIMULATOR = { version: '9.1.0', labels: [], runs: undefined };

/** Has a job start for the task that waits; the workload manager tells no time that is left. */
async function hostThatStarts(): Promise<string> {
  await pass();
  const [name] = manager.live as [string];
  manager.run(name);
  await pass();
  return name;
}

it('a host whose agent does not join is given back in time, though the clock is set back', async () => {
  await startWith({ joinWithinMs: 5 * MINUTE_MS });
  await create();
  const name = await hostThatStarts();
  await pass(MINUTE_MS);
  engine.runtime.setClock(-3 * HOUR_MS);
  await pass(3 * MINUTE_MS);
  expect(await engine.store.allocations.find(name)).toMatchObject({ state: 'STARTED' });
  await pass(MINUTE_MS);
  expect(await engine.store.allocations.find(name)).toMatchObject({ cause: 'NOT_JOINED' });
});

it.each([
  ['set ahead', 3 * HOUR_MS],
  ['set back', -3 * HOUR_MS],
])('a host drains before its end, no earlier and no later when the clock is %s', async (_, byMs) => {
  await startWith();
  await create();
  const name = await hostThatStarts();
  await joinAs(name);
  await pass();
  engine.runtime.setClock(byMs);
  await pass(53 * MINUTE_MS);
  expect(await engine.store.allocations.find(name)).toMatchObject({ state: 'JOINED' });
  await pass(2 * MINUTE_MS);
  expect(await engine.store.allocations.find(name)).toMatchObject({ state: 'DRAINING', cause: 'TIME' });
});

it('an instance that has never been up does not keep a host from coming, though the clock is set back', async () => {
  await startWith({ instances: [{ instanceClass: SIMULATOR, count: 2, ids: ['sim-1', 'sim-2'] }] });
  await create();
  const name = await hostThatStarts();
  const second = { id: `${name}-sim-2`, status: 'STARTING', upForMs: null } as const;
  await join({ id: name, instances: [{ id: `${name}-sim` }, second] });
  await pass();
  engine.runtime.setClock(-3 * HOUR_MS);
  await create();
  await pass(MINUTE_MS);
  expect(manager.launches).toHaveLength(1);
  await pass(2 * MINUTE_MS);
  expect(manager.launches).toHaveLength(2);
});

it('a job that is queued for ever lets another recipe bring a host, though the clock is set back', async () => {
  const other = new ManagerInMemory();
  await startWith();
  await startAnew({
    hosts: [
      recipeWith(manager),
      recipeWith(other, { name: 'belts', managerKey: 'other', idleMs: 60 * MINUTE_MS }),
    ],
  });
  await pass(MINUTE_MS);
  await create();
  await pass();
  engine.runtime.setClock(-3 * HOUR_MS);
  await pass(9 * MINUTE_MS);
  expect([manager.live.length, other.live.length]).toEqual([1, 0]);
  await pass(2 * MINUTE_MS);
  expect([manager.live.length, other.live.length]).toEqual([1, 1]);
});
