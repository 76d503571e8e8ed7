/** Hosts whose jobs, workload managers or configurations are not as they should be, while tasks wait for them. */
import { ANYBODY } from '@workbench-hub/hub/core/access';
import { pause } from '@workbench-hub/shared/runtime/pause';
import { expect, it } from 'vitest';
import {
  create,
  engine,
  engineForEachTest,
  join,
  restart,
  startAnew,
} from '../support/engine/engine-for-each-test.js';
import {
  joinAs,
  MINUTE_MS,
  manager,
  pass,
  passUntil,
  startWith,
} from '../support/engine/engine-with-hosts.js';
import { ManagerInMemory, recipeWith } from '../support/engine/manager-in-memory.js';

engineForEachTest();

const HOUR_MS = 60 * MINUTE_MS;
const only = (asked = manager) => asked.live[0] as string;

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
  ['forgotten', 'FAILED', 13],
])('a task on whose hosts the job is %s again and again is %s', async (end, status, ends) => {
  await startWith({}, { maxLosses: 3 });
  manager.printed = 'preempted';
  const id = await create();
  let count = 0;
  for (; count < 15 && (await engine.tasks.get(id)).status === 'WAITING'; count++) {
    const { name, agent } = await hostThatBegins();
    await agent.disconnect();
    if (end === 'forgotten') manager.forget(name);
    else manager.end(name, end);
    await pass(end === 'forgotten' ? MINUTE_MS : 4000);
  }
  expect(count).toBe(ends);
  expect(await engine.tasks.get(id)).toMatchObject({ status });
});

it('a job that the workload manager cannot end counts no hours after the end of its time', async () => {
  await startWith({ manager: 'grid-engine', idleMs: 10_000 });
  await create();
  const { name, agent } = await hostThatBegins();
  await agent.end(agent.latest.ref, 'OK');
  manager.ignoresCancels = true;
  await pass(MINUTE_MS);
  expect(manager.canceled).toContain(name);
  await agent.disconnect();
  await pass(HOUR_MS);
  expect(await engine.store.allocations.find(name)).toMatchObject({ state: 'DRAINING', cause: 'IDLE' });
  await pass(10 * MINUTE_MS);
  const over = await engine.store.allocations.find(name);
  expect(over).toMatchObject({
    ...{ state: 'ENDED', cause: 'IDLE' },
    message:
      'the workload manager still has job 1, which was canceled and whose time is over: remove it by qdel -f 1',
  });
  const ranMs = (over?.endedAtMs ?? 0) - (over?.startedAtMs ?? 0);
  expect(ranMs).toBeGreaterThan(HOUR_MS);
  expect(ranMs).toBeLessThan(HOUR_MS + 6 * MINUTE_MS);
  const { canceled } = manager;
  const count = canceled.length;
  await pass(10 * MINUTE_MS);
  expect(canceled).toHaveLength(count);
});

it('the files of a host that cannot be removed at its end are removed as soon as they can be', async () => {
  await startWith();
  await create();
  const { name, agent } = await hostThatBegins();
  manager.failsRemovals = true;
  await agent.end(agent.latest.ref, 'OK');
  await pass(2 * MINUTE_MS);
  await agent.disconnect();
  await pass(MINUTE_MS / 2);
  expect(await engine.store.allocations.find(name)).toMatchObject({ state: 'ENDED' });
  const failed = manager.failedRemovals;
  expect(failed).toBeGreaterThan(0);
  await pass(30 * MINUTE_MS);
  expect(manager.failedRemovals).toBe(failed + 30);
  manager.failsRemovals = false;
  await pass(MINUTE_MS);
  expect(manager.removed).toEqual([name]);
  await pass(2 * MINUTE_MS);
  expect(manager.removed).toEqual([name]);
});

it('a host whose job ends early or vanishes leaves the end of its output', async () => {
  await startWith();
  await create();
  manager.printed = 'all was preempted by the kernel';
  const first = await hostThatBegins();
  await first.agent.disconnect();
  manager.end(first.name, 'OUT_OF_MEMORY');
  await pass(4000);
  expect(await engine.store.allocations.find(first.name)).toMatchObject({
    ...{ state: 'ENDED', cause: 'ENDED_EARLY' },
    message: 'OUT_OF_MEMORY; its output ends with: all was preempted by the kernel',
  });
  await pass(MINUTE_MS);
  const second = await hostThatBegins();
  await second.agent.disconnect();
  manager.forget(second.name);
  await pass(2 * MINUTE_MS);
  expect(await engine.store.allocations.find(second.name)).toMatchObject({
    ...{ state: 'LOST', cause: 'GONE' },
    message: expect.stringMatching(/any more; its output ends with: all was preempted/),
  });
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

it('an allocation that never ran is over when its recipe is removed and no agent comes for an hour', async () => {
  const known = new ManagerInMemory();
  const setup: { hosts: ReturnType<typeof recipeWith>[] } = { hosts: [recipeWith(known)] };
  await startAnew(setup);
  known.clock = engine.runtime.clock;
  await pass(MINUTE_MS);
  await create();
  await pass();
  const name = known.live[0] as string;
  setup.hosts = [];
  await restart();
  await pass(50 * MINUTE_MS);
  const late = await joinAs(name);
  await pass(HOUR_MS);
  expect(await engine.store.allocations.open()).toHaveLength(1);
  await late.disconnect();
  await pass(55 * MINUTE_MS);
  expect(await engine.store.allocations.open()).toHaveLength(1);
  await pass(10 * MINUTE_MS);
  expect(await engine.store.allocations.find(name)).toMatchObject({ state: 'ENDED', cause: 'GONE' });
});

it('a job is handed in once, although the store does not take that it was', async () => {
  await startWith();
  const { allocations } = engine.store;
  const change = allocations.change.bind(allocations);
  let isFull = true;
  allocations.change = (...given) =>
    isFull ? Promise.reject(new Error('database or disk is full')) : change(...given);
  await create();
  await pass(2 * MINUTE_MS);
  expect(manager.submits).toBe(1);
  isFull = false;
  await pass();
  expect((await engine.store.allocations.open()).map(({ state }) => state)).toEqual(['QUEUED']);
  expect(manager.submits).toBe(1);
});

it('jobs that are handed in together are handed in once each, although the store does not take one of them', async () => {
  await startWith();
  manager.beforeSubmit = () => pause(engine.runtime.timers, manager.submits * 1000);
  const { allocations } = engine.store;
  const change = allocations.change.bind(allocations);
  let failures = 1;
  allocations.change = (...given) =>
    failures-- > 0 ? Promise.reject(new Error('a write has failed')) : change(...given);
  for (let count = 0; count < 4; count++) await create();
  await pass(2 * MINUTE_MS);
  expect(failures).toBeLessThan(0);
  expect(manager.submits).toBe(manager.live.length);
  expect(new Set(manager.live).size).toBe(manager.live.length);
});

it('a host whose agent could not join, since the hub was away, has its whole time again', async () => {
  await startWith({ joinWithinMs: 5 * MINUTE_MS });
  await create();
  await pass();
  const name = only();
  manager.run(name, 2 * HOUR_MS);
  await pass(MINUTE_MS);
  engine.runtime.setClock(HOUR_MS);
  await pass(MINUTE_MS);
  expect(await engine.store.allocations.find(name)).toMatchObject({ state: 'STARTED' });
  await pass(4 * MINUTE_MS);
  expect(await engine.store.allocations.find(name)).toMatchObject({ cause: 'NOT_JOINED' });
});

it('hosts whose agents do not join are given back together, though their output is slow to read', async () => {
  await startWith();
  manager.beforeOutput = () => pause(engine.runtime.timers, 20_000);
  for (let count = 0; count < 8; count++) await create();
  await passUntil(() => manager.live.length === 8, MINUTE_MS);
  const names = manager.live;
  for (const name of names) manager.run(name, HOUR_MS);
  await pass(2 * MINUTE_MS);
  await passUntil(() => manager.canceled.length === 8, MINUTE_MS);
  expect([...manager.canceled].sort()).toEqual([...names].sort());
});

it('a host that starts is followed while the output of others that have ended is slow to read', async () => {
  await startWith();
  manager.beforeOutput = () => pause(engine.runtime.timers, 20_000);
  for (let count = 0; count < 8; count++) await create();
  await passUntil(() => manager.live.length === 8, MINUTE_MS);
  await pass();
  const [last, ...others] = manager.live.toReversed() as [string, ...string[]];
  for (const name of others) manager.end(name, 'FAILED');
  manager.run(last, HOUR_MS);
  await pass(10_000);
  expect(await engine.store.allocations.find(last)).toMatchObject({ state: 'STARTED' });
  const ended = async () =>
    (await Promise.all(others.map((name) => engine.store.allocations.find(name)))).every(
      (each) => each?.state === 'ENDED',
    );
  await passUntil(ended, 2 * MINUTE_MS);
  expect(await ended()).toBe(true);
});

/** Two recipes, of which the second brings hosts with labels of belts as well. */
async function startWithTwo(managerKey: string) {
  const [first, second] = [new ManagerInMemory(), new ManagerInMemory()];
  const instanceClass = { version: '9.1.0', labels: ['belts'], runs: undefined };
  const belts = recipeWith(second, {
    ...{ name: 'belts', managerKey, idleMs: 5 * MINUTE_MS },
    instances: [{ instanceClass, count: 1, ids: ['sim'] }],
  });
  await startAnew({ hosts: [recipeWith(first), belts] });
  first.clock = second.clock = engine.runtime.clock;
  await pass(MINUTE_MS);
  return { first, second };
}

/** A host that the manager has been asked for starts, and its agent joins. */
async function startOn(asked: ManagerInMemory, instance: object = {}) {
  const name = asked.live.at(-1) as string;
  asked.run(name, HOUR_MS);
  await pass(3000);
  const agent = await joinAs(name, instance);
  await pass(2000);
  return { name, agent };
}

const BELTS = { classifiers: [{ type: 'LABLES', value: 'belts' } as const] };

it('a job that is queued for ever lets another recipe bring a host for its tasks, one at a time', async () => {
  const { first, second } = await startWithTwo('other');
  const asked = () => [first, second].map(({ live }) => live.length);
  for (let at = 0; at < 3; at++) await create();
  await pass(9 * MINUTE_MS);
  expect(asked()).toEqual([3, 0]);
  await pass(20 * MINUTE_MS);
  expect(asked()).toEqual([3, 1]);

  const { agent } = await startOn(second, { labels: ['belts'] });
  expect(agent.assigned).toHaveLength(1);
  await pass(MINUTE_MS);
  expect(asked()).toEqual([2, 2]);
});

it('a job that is queued for ever does not take idle hosts from another recipe of its workload manager', async () => {
  const { first, second } = await startWithTwo('slurm');
  await create(BELTS);
  await pass();
  const { agent } = await startOn(second, { labels: ['belts'] });
  // The other recipe is asked for a host by a task for which no host of this one has the time.
  await create({ timeLimitS: 3200 });
  await pass(11 * MINUTE_MS);
  expect(first.live).toHaveLength(1);
  await agent.end(agent.latest.ref, 'OK');
  await pass(4 * MINUTE_MS);
  expect(second.canceled).toEqual([]);
  await pass(2 * MINUTE_MS);
  expect(second.canceled).toHaveLength(1);
});

it('a submit that is never answered is tried later and later, and is a fault although the list is answered', async () => {
  await startWith();
  manager.failsSubmits = true;
  await create();
  const states = new Set<string | undefined>();
  for (let at = 0; at < 30 * 30; at++) {
    await pass(2000);
    const [view] = await engine.recipeViews.all();
    if (at > 5) states.add(`${view?.state}: ${view?.message}`);
  }
  expect([...states]).toEqual(['UNREACHABLE: it takes no job']);
  expect(manager.submits).toBeLessThan(12);

  manager.failsSubmits = false;
  await pass(5 * MINUTE_MS);
  expect(manager.live).toHaveLength(1);
  expect(await engine.recipeViews.all()).toMatchObject([{ state: 'READY' }]);
});

it('an allocation keeps its end when the wall time of its recipe is changed', async () => {
  const asked = new ManagerInMemory();
  const setup = { hosts: [recipeWith(asked)] };
  await startAnew(setup);
  await pass(MINUTE_MS);
  await create();
  await pass();
  asked.run(only(asked), null);
  await pass();
  const [begun] = await engine.store.allocations.open();
  setup.hosts = [recipeWith(asked, { wallTimeMs: 10 * HOUR_MS })];
  await restart();
  await pass(MINUTE_MS);
  const [known] = await engine.store.allocations.open();
  expect(known?.endsAtMs).toBe(begun?.endsAtMs);
  expect(known?.endsAtMs).toBe((begun?.startedAtMs ?? 0) + HOUR_MS);
});

it('a host comes for a task behind those of very many requirements that no recipe has the time for', async () => {
  const labels = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];
  await startWith({
    instances: [{ instanceClass: { version: '9.1.0', labels, runs: undefined }, count: 1, ids: ['sim'] }],
  });
  for (let bits = 0; bits < 255; bits++) {
    const some = labels.filter((_, at) => (bits & (1 << at)) !== 0);
    const classifiers = some.map((value) => ({ type: 'LABLES', value }) as const);
    await create({ classifiers, timeLimitS: 36_000 });
  }
  await pass();
  expect(manager.launches).toEqual([]);
  await create({ classifiers: labels.map((value) => ({ type: 'LABLES', value }) as const) });
  await pass();
  expect(manager.launches).toHaveLength(1);
});

it('an allocation that is queued tells why it waits now', async () => {
  await startWith();
  await create();
  await pass();
  const name = only();
  const message = async () => (await engine.store.allocations.find(name))?.message;
  expect(await message()).toBe('Priority');
  manager.waitFor(name, 'Resources');
  await pass(20_000);
  expect(await message()).toBe('Priority');
  await pass(20_000);
  expect(await message()).toBe('Resources');
});

it('hosts that run are followed while very many others are handed in slowly', async () => {
  await startWith({ limits: { allocations: 100, queued: 100, hostHoursPerDay: null } });
  manager.beforeSubmit = () => pause(engine.runtime.timers, 5000);
  for (let count = 0; count < 100; count++) await create();
  await pass(10_000);
  const name = only();
  manager.run(name, HOUR_MS);
  const state = async () => (await engine.store.allocations.find(name))?.state;
  await passUntil(async () => (await state()) === 'STARTED', MINUTE_MS);
  expect(await state()).toBe('STARTED');
  expect(manager.submits).toBeLessThan(80);
  await joinAs(name);
  await passUntil(() => manager.live.length === 100, 10 * MINUTE_MS);
  expect(new Set(manager.live).size).toBe(100);
});
