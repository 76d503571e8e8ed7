/** Hosts that a hub brings for the tasks of its upstream (decision 0099). */
import type { HostRecipe } from '@workbench-hub/hub/core/hosts/host-recipe';
import type { LendingRule } from '@workbench-hub/hub/engine/lending/lending-settings';
import type { LentRecipe, WantedInstances } from '@workbench-hub/shared/domain/lent-recipe';
import type { Hub, HubConnection, HubListener } from '@workbench-hub/shared/joining/ports/hub';
import { describe, expect, it } from 'vitest';
import { instanceReportOf } from '../support/agents/fake-agent.js';
import { create, engine, engineForEachTest, startAnew } from '../support/engine/engine-for-each-test.js';
import { joinAs, MINUTE_MS, pass } from '../support/engine/engine-with-hosts.js';
import { joinSite, lentRecipeWith } from '../support/engine/joined-site.js';
import { ManagerInMemory, recipeWith } from '../support/engine/manager-in-memory.js';

engineForEachTest();

const ANY: LendingRule = {
  ...{ labels: [], instances: [], max: null, takeBackMs: null, isAlways: false, hours: [] },
  hasHosts: true,
};
const SETTINGS = { name: 'hq', agentId: 'berlin', prefix: 'berlin:' };
const ONE: WantedInstances = { recipe: 'gears', requirement: { version: null, labels: [] }, count: 1 };

let manager: ManagerInMemory;
let listener: HubListener | undefined;

/** An upstream that joins at once; the test sends its requests. */
const upstream: Hub = {
  addresses: ['ws://hq'],
  nodeId: 'site',
  join: (_, joining, signal) =>
    new Promise((resolve) => {
      listener = joining;
      const ended = new AbortController();
      const end = () => {
        ended.abort();
        resolve('closed');
      };
      signal.addEventListener('abort', end);
      const connection: Partial<HubConnection> = {
        ...{ ended: ended.signal, inlineBlobBytes: 0, isOutputStorageOn: false },
        ...{ isCongested: () => false, sendInstance: () => undefined, close: async () => end() },
      };
      joining.introduce();
      joining.onJoined(connection as HubConnection);
    }),
};

async function start(lend: Partial<LendingRule> = {}, fields: Partial<HostRecipe> = {}): Promise<void> {
  manager = new ManagerInMemory();
  const settings = { ...SETTINGS, lend: { ...ANY, ...lend } };
  const limits = { allocations: 4, queued: 4, hostHoursPerDay: null };
  await startAnew({
    hosts: [recipeWith(manager, { limits, ...fields })],
    upstreams: [{ ...settings, hub: upstream }],
  });
  manager.clock = engine.runtime.clock;
  await pass(MINUTE_MS);
}

/** The recipes that the hub answers. */
async function ask(...wanted: WantedInstances[]): Promise<readonly LentRecipe[]> {
  let recipes: readonly LentRecipe[] | undefined;
  const reply = Promise.resolve(listener?.onRequest({ kind: 'bringHosts', wanted }));
  void reply.then((answered) => {
    expect(answered).toMatchObject({ error: null });
    recipes = answered?.recipes ?? [];
  });
  await engine.runtime.settle();
  return recipes ?? expect.unreachable('there is no answer');
}

/** Asks each second, as an upstream does whose tasks wait. */
async function askFor(timeMs: number, ...wanted: WantedInstances[]): Promise<void> {
  for (let leftMs = timeMs; leftMs > 0; leftMs -= 1000) {
    await ask(...wanted);
    await pass(1000);
  }
}

describe('a hub with recipes and an upstream', () => {
  it('tells what its recipes can bring, and brings nothing that is not wanted', async () => {
    await start();
    expect(await ask()).toMatchObject([
      {
        name: 'gears',
        instances: [{ version: '9.1.0', labels: [], count: 1 }],
        ...{ free: 4, coming: 0, joined: 0, obstacle: null },
      },
    ]);
    await pass(MINUTE_MS);
    expect(manager.launches).toEqual([]);
  });

  it('brings a host that the upstream wants, says for whom, and gives it back when it is not wanted any more', async () => {
    await start();
    await askFor(5000, ONE);
    expect(manager.launches).toHaveLength(1);
    const [allocation] = await engine.store.allocations.open();
    expect(allocation).toMatchObject({ reason: 'hq wants 1 of any version', state: 'QUEUED' });
    expect(await ask(ONE)).toMatchObject([{ coming: 1, free: 4 }]);
    await pass(9000);
    expect(manager.canceled).toEqual([]);
    await pass(20_000);
    expect(manager.canceled).toEqual([allocation?.id]);
  });

  it('brings hosts for its own tasks first, and tells of the others only', async () => {
    await start({}, { limits: { allocations: 2, queued: 2, hostHoursPerDay: null } });
    await create();
    await askFor(5000, { ...ONE, count: 5 });
    expect(manager.launches).toHaveLength(2);
    expect((await engine.store.allocations.open()).map(({ reason }) => reason).sort()).toEqual([
      '1 task waits for any version',
      'hq wants 1 of any version',
    ]);
    expect(await ask()).toMatchObject([{ free: 1, coming: 1 }]);
    await create();
    await askFor(3000, { ...ONE, count: 5 });
    expect(await ask()).toMatchObject([{ free: 0, coming: 0, obstacle: 'MAX_ALLOCATIONS' }]);
  });

  it('counts a host that has come for the upstream, and asks for no second one', async () => {
    await start();
    await askFor(5000, ONE);
    const [name] = manager.live as [string];
    manager.run(name, null);
    await joinAs(name);
    await askFor(2000, ONE);
    await askFor(20_000);
    expect(manager.launches).toHaveLength(1);
    expect(await ask()).toMatchObject([{ coming: 0, joined: 1, free: 3 }]);
  });

  it('brings no second host for a wish that is not repeated, and keeps what is coming for a while', async () => {
    await start();
    await askFor(5000, ONE);
    const [name] = manager.live as [string];
    manager.run(name, null);
    const agent = await joinAs(name);
    await agent.say({
      type: 'instance',
      instance: { ...instanceReportOf({ id: `${name}-sim` }), status: 'DOWN' },
    });
    await pass(20_000);
    expect(manager.launches).toHaveLength(1);
  });

  it('brings hosts of two recipes for one requirement', async () => {
    await start();
    const belts = { ...ONE, recipe: 'belts', count: 2 };
    const hosts = [recipeWith(manager), recipeWith(manager, { name: 'belts' })];
    await startAnew({ hosts, upstreams: [{ ...SETTINGS, lend: ANY, hub: upstream }] });
    await pass(MINUTE_MS);
    await askFor(10_000, { ...ONE, count: 2 }, belts);
    expect(manager.launches.map(({ name }) => name.slice(0, 5)).sort()).toEqual([
      ...['belts', 'belts', 'gears', 'gears'],
    ]);
  });

  it('brings no more hosts than the bounds of one user permit, and tells that', async () => {
    const perUser = { allocations: 1, hostHoursPerDay: null };
    const limits = { allocations: 4, queued: 4, hostHoursPerDay: null, perUser };
    await start({}, { limits });
    await askFor(5000, { ...ONE, count: 3 });
    expect(manager.launches).toHaveLength(1);
    expect(await ask({ ...ONE, count: 3 })).toMatchObject([
      { free: 1, coming: 1, obstacle: 'MAX_ALLOCATIONS' },
    ]);
  });

  it('tells no more hosts than are coming while its workload manager does not answer', async () => {
    await start();
    await askFor(5000, ONE);
    manager.isAway = true;
    await askFor(10_000, ONE);
    expect(await ask(ONE)).toMatchObject([{ free: 1, coming: 1, obstacle: 'UNREACHABLE' }]);
  });

  it('brings no more hosts than may be lent, whatever is wanted', async () => {
    await start({ max: 1 });
    await askFor(5000, { ...ONE, count: 4 });
    expect(manager.launches).toHaveLength(1);
  });

  it('counts a host that it lends for good, and asks for no second one', async () => {
    await start({ isAlways: true });
    await askFor(5000, ONE);
    const [name] = manager.live as [string];
    manager.run(name, null);
    await joinAs(name);
    await askFor(2500, ONE);
    await askFor(20_000);
    expect(manager.launches).toHaveLength(1);
  });

  it('lends no host of a recipe beyond what its rule permits', async () => {
    await start({ hasHosts: false });
    expect(await ask(ONE)).toEqual([]);
    await start({ labels: ['belts'] });
    expect(await ask(ONE)).toEqual([]);
    await start({ instances: ['belts-*'] });
    expect(await ask(ONE)).toEqual([]);
    await askFor(5000, ONE);
    expect(manager.launches).toEqual([]);
    await start({ instances: ['gears-*-sim'], max: 1 });
    expect(await ask(ONE)).toMatchObject([{ free: 1 }]);
  });

  it('lends none while it prepares for a shutdown', async () => {
    await start();
    await engine.shutdown.change(true);
    expect(await ask(ONE)).toEqual([]);
    await askFor(5000, ONE);
    expect(manager.launches).toEqual([]);
  });

  it('brings no hosts for its own tasks whose instances it lends for good', async () => {
    await start({ isAlways: true });
    await create();
    await pass(MINUTE_MS);
    expect(manager.launches).toEqual([]);
    await askFor(5000, ONE);
    expect(manager.launches).toHaveLength(1);
  });

  it('tells of the recipes of hubs below, and wants of them what is wanted of it', async () => {
    await start();
    const site = await joinSite('leeds', [lentRecipeWith({ free: 3, coming: 1, comingForMs: 1000 })]);
    await pass();
    expect(await ask()).toMatchObject([
      { name: 'gears', free: 4 },
      { name: 'leeds:gears', free: 3, coming: 1, instances: [{ labels: ['gears'] }] },
    ]);
    await askFor(10_000, { ...ONE, recipe: 'leeds:gears', count: 2 });
    expect(site.wanted.at(-1)).toEqual([{ recipe: 'gears', requirement: ONE.requirement, count: 2 }]);
    expect(manager.launches).toEqual([]);
    await pass(15_000);
    expect(site.wanted.at(-1)).toEqual([]);
  });
});
