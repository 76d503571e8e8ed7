/** Jobs that a workload manager has canceled, and has again: it was killed before it had kept the cancel. */
import { ANYBODY } from '@workbench-hub/hub/core/access';
import { expect, it } from 'vitest';
import { create, engine, engineForEachTest, restart } from '../support/engine/engine-for-each-test.js';
import { MINUTE_MS, manager, pass, startWith } from '../support/engine/engine-with-hosts.js';

engineForEachTest();

/** Has a job handed in, and canceled while it waits; gives its name. */
async function canceledJob(): Promise<string> {
  await startWith();
  const id = await create();
  await pass();
  const name = manager.live[0] as string;
  await engine.tasks.cancel(id, false, ANYBODY);
  await pass(2 * MINUTE_MS);
  expect(await engine.store.allocations.find(name)).toMatchObject({ state: 'ENDED', cause: 'NOT_NEEDED' });
  expect(manager.canceled).toEqual([name]);
  return name;
}

it('a job that waits again after it was canceled is canceled again', async () => {
  const name = await canceledJob();
  manager.bringBack(name);
  await pass(11_000);
  expect(manager.canceled).toEqual([name, name]);
  expect(manager.live).toEqual([]);
  expect(await engine.store.allocations.open()).toEqual([]);
});

it('a job that waits again after its hub was restarted is canceled again', async () => {
  const name = await canceledJob();
  await restart();
  manager.bringBack(name);
  await pass(11_000);
  expect(manager.live).toEqual([]);
});

it('a job that waits again after its workload manager was away for an hour is canceled again', async () => {
  const name = await canceledJob();
  manager.isAway = true;
  await pass(60 * MINUTE_MS);
  manager.isAway = false;
  manager.bringBack(name);
  await pass(11_000);
  expect(manager.live).toEqual([]);
});

it('a job that goes on although it is canceled again is canceled every 20 seconds, for ten minutes', async () => {
  const name = await canceledJob();
  manager.ignoresCancels = true;
  manager.bringBack(name);
  await pass(30 * MINUTE_MS);
  const { canceled } = manager;
  expect(canceled.length).toBeGreaterThan(20);
  expect(canceled.length).toBeLessThan(32);
});

it('a workload manager is not asked any more ten minutes after the end of the last job', async () => {
  await canceledJob();
  await pass(10 * MINUTE_MS);
  const { questions } = manager;
  await pass(60 * MINUTE_MS);
  expect(manager.questions).toBe(questions);
});
