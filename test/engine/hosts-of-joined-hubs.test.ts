/** Hosts of the recipes of joined hubs, wanted by the hub that they have joined (decision 0099). */
import type { Classifier } from '@workbench-hub/shared/domain/classifier';
import { describe, expect, it } from 'vitest';
import { create, engine, engineForEachTest, join } from '../support/engine/engine-for-each-test.js';
import { MINUTE_MS, manager, pass, startWith } from '../support/engine/engine-with-hosts.js';
import { hubOf, joinSite, lentRecipeWith, wishesOf } from '../support/engine/joined-site.js';

engineForEachTest();

const GEARS: Classifier[] = [{ type: 'LABLES', value: 'gears' }];
const NEEDS_GEARS = { version: null, labels: ['gears'] };

const SECOND_OF_WORK = {
  ...{ name: null, creator: null, classifiers: GEARS },
  job: { type: 'SIMULATE_WORK', durationS: 1 },
} as const;

describe('a hub that others have joined', () => {
  it('asks for their recipes when they join, and every half minute', async () => {
    const { wanted } = await joinSite();
    await pass(1);
    expect(wanted).toEqual([null]);
    await pass(MINUTE_MS);
    expect(wanted.slice(0, 3)).toEqual([null, [], []]);
  });

  it('wants the instances that its tasks need, as far as the recipes can bring them, again and again', async () => {
    const site = await joinSite();
    for (let at = 0; at < 3; at++) await create({ classifiers: GEARS });
    await pass();
    expect(site.wanted.at(-1)).toEqual([{ recipe: 'gears', requirement: NEEDS_GEARS, count: 2 }]);
    const before = site.wanted.length;
    await pass(10_000);
    expect(site.wanted.length - before).toBeGreaterThanOrEqual(9);
    expect(site.wanted.length - before).toBeLessThanOrEqual(11);
  });

  it('wants nothing of a recipe that does not fit its tasks, or has too little time for them', async () => {
    const site = await joinSite('berlin', [lentRecipeWith({ usableMs: 30 * MINUTE_MS })]);
    await create({ classifiers: [{ type: 'LABLES', value: 'belts' }] });
    await engine.tasks.create({ ...SECOND_OF_WORK, timeLimitS: 31 * 60 });
    await pass(MINUTE_MS);
    expect(wishesOf(site)).toEqual([]);
    await engine.tasks.create({ ...SECOND_OF_WORK, timeLimitS: 30 * 60 });
    await pass();
    expect(site.wanted.at(-1)).toMatchObject([{ count: 1 }]);
  });

  it('wants of each hub what those before it cannot bring', async () => {
    const first = await joinSite('berlin', [lentRecipeWith({ free: 1 })]);
    const second = await joinSite('leeds', [lentRecipeWith({ name: 'tools', free: 5 })]);
    for (let at = 0; at < 3; at++) await create({ classifiers: GEARS });
    await pass();
    expect(first.wanted.at(-1)).toEqual([{ recipe: 'gears', requirement: NEEDS_GEARS, count: 1 }]);
    expect(second.wanted.at(-1)).toEqual([{ recipe: 'tools', requirement: NEEDS_GEARS, count: 2 }]);
  });

  it('brings its own hosts first', async () => {
    await startWith({ limits: { allocations: 1, queued: 1, hostHoursPerDay: null } });
    const site = await joinSite('berlin', [
      lentRecipeWith({ instances: [{ version: '9.1.0', labels: [], count: 1 }] }),
    ]);
    await create();
    await pass();
    expect(manager.launches).toHaveLength(1);
    expect(wishesOf(site)).toEqual([]);
    await create();
    await pass();
    expect(manager.launches).toHaveLength(1);
    expect(site.wanted.at(-1)).toMatchObject([{ recipe: 'gears', count: 1 }]);
  });

  it('wants nothing more when an instance has come for its task, and says so at once', async () => {
    const site = await joinSite();
    await create({ classifiers: GEARS });
    await pass();
    expect(site.wanted.at(-1)).toHaveLength(1);
    await join({ id: 'host', instances: [{ id: 'gear', labels: ['gears'] }] });
    const before = site.wanted.length;
    await pass(2000);
    expect(site.wanted.slice(before).at(-1)).toEqual([]);
    const after = site.wanted.length;
    await pass(20_000);
    expect(site.wanted.length - after).toBeLessThanOrEqual(1);
  });

  it('says in the explanation of a task which hub brings a host, since when, and what keeps it from more', async () => {
    const lent = lentRecipeWith({
      coming: 1,
      comingForMs: 60_000,
      expectedInMs: 30_000,
      obstacle: 'HOST_HOURS',
    });
    await joinSite('berlin', [lent]);
    const id = await create({ classifiers: GEARS });
    await pass();
    const task = await engine.tasks.get(id);
    expect(engine.explanations.reasonOf(task)).toMatchObject({
      verdict: 'COMING',
      facts: { recipes: ['berlin:gears'] },
    });
    const { verdict, outlooks, message } = await engine.explanations.ofTask(task);
    expect({ verdict, outlooks }).toMatchObject({
      verdict: 'COMING',
      outlooks: [{ recipe: 'berlin:gears', coming: 1, joined: 0, obstacle: 'HOST_HOURS' }],
    });
    expect(message).toContain(
      '1 host of recipe "berlin:gears" is coming, asked for 60 s ago, expected in 30 s',
    );
    expect(message).toContain('its host-hours of the day are used up');
  });

  it('calls a recipe too short for a task by the time that its hub tells', async () => {
    await joinSite('berlin', [lentRecipeWith({ usableMs: 30 * MINUTE_MS })]);
    const task = await engine.tasks.create({ ...SECOND_OF_WORK, timeLimitS: 3600 });
    await pass();
    const { outlooks } = await engine.explanations.ofTask(await engine.tasks.get(task.id));
    expect(outlooks).toMatchObject([{ recipe: 'berlin:gears', obstacle: 'TIME' }]);
  });

  it('places no task on a host of a site that ends too early for it, and says so', async () => {
    const lent = (id: string, host: string, leftMs: number) => ({
      ...{ id, labels: ['gears'], lent: 'OFFERED' as const },
      host: { id: host, leftMs },
    });
    const site = await joinSite();
    await site.agent.disconnect();
    const again = await join({
      ...{ id: 'berlin', nodeId: site.agent.nodeId, hub: hubOf('berlin') },
      instances: [lent('short', 'gears-1', 10 * MINUTE_MS), lent('long', 'gears-2', 30 * MINUTE_MS)],
    });
    const longTask = { ...SECOND_OF_WORK, timeLimitS: 20 * 60 };
    const [first, second] = [await engine.tasks.create(longTask), await engine.tasks.create(longTask)];
    await pass();
    expect(again.assigned.map(({ ref }) => [ref.taskId, ref.instanceId])).toEqual([[first.id, 'long']]);
    const { verdict, message } = await engine.explanations.ofTask(await engine.tasks.get(second.id));
    expect(verdict).toBe('BUSY');
    expect(message).toContain('1 fitting instance is busy');

    const short = await engine.tasks.create({ ...SECOND_OF_WORK, timeLimitS: 9 * 60 });
    await pass();
    expect(again.latest.ref).toMatchObject({ taskId: short.id, instanceId: 'short' });
  });

  it('counts on an answer for a minute, and on none of a hub that has left', async () => {
    const site = await joinSite();
    const id = await create({ classifiers: GEARS });
    await pass();
    const recipes = async () => (await engine.explanations.ofTask(await engine.tasks.get(id))).outlooks;
    site.recipes = null;
    await pass(MINUTE_MS / 2);
    expect(await recipes()).toHaveLength(1);
    await pass(MINUTE_MS);
    expect(await recipes()).toEqual([]);
    site.recipes = [lentRecipeWith()];
    await pass(MINUTE_MS);
    expect(await recipes()).toHaveLength(1);
    await site.agent.disconnect();
    await pass(MINUTE_MS / 2);
    expect(await recipes()).toEqual([]);
  });

  it('goes on to count on a hub that joins again, asks it at once, and wants nothing of others meanwhile', async () => {
    const berlin = await joinSite('berlin', [lentRecipeWith({ free: 5 })]);
    const leeds = await joinSite('leeds', [lentRecipeWith({ free: 5 })]);
    for (let at = 0; at < 3; at++) await create({ classifiers: GEARS });
    await pass();
    await berlin.agent.disconnect();
    await pass(10_000);
    const again = await joinSite('berlin', [lentRecipeWith({ free: 5 })], berlin.agent.nodeId);
    await pass(1);
    expect(again.wanted).toEqual([[{ recipe: 'gears', requirement: NEEDS_GEARS, count: 3 }]]);
    expect(wishesOf(leeds)).toEqual([]);
    await again.agent.disconnect();
    await pass(MINUTE_MS);
    expect(leeds.wanted.at(-1)).toMatchObject([{ count: 3 }]);
  });

  it('wants more of a later hub only when that lasts', async () => {
    const berlin = await joinSite('berlin', [lentRecipeWith({ free: 1 })]);
    const leeds = await joinSite('leeds', [lentRecipeWith({ free: 5 })]);
    await create({ classifiers: GEARS });
    await pass();
    berlin.recipes = [lentRecipeWith({ free: 0 })];
    await pass(2000);
    berlin.recipes = [lentRecipeWith({ free: 1 })];
    await pass(10_000);
    expect(wishesOf(leeds)).toEqual([]);
    berlin.recipes = [lentRecipeWith({ free: 0 })];
    await pass(10_000);
    expect(leeds.wanted.at(-1)).toMatchObject([{ count: 1 }]);
  });

  it('asks a hub that lends nothing for a moment again soon', async () => {
    const site = await joinSite();
    await create({ classifiers: GEARS });
    await pass();
    site.recipes = [];
    await pass(2000);
    site.recipes = [lentRecipeWith()];
    await pass(7000);
    expect(site.wanted.at(-1)).toHaveLength(1);
  });

  it('asks no agent, and no hub of an earlier version', async () => {
    const agent = await join({ answers: ['bringHosts'] });
    const { bringsHosts: _, ...hub } = hubOf('leeds');
    const earlier = await join({ ...{ id: 'leeds', instances: [], hub }, answers: ['bringHosts'] });
    await create({ classifiers: GEARS });
    await pass(MINUTE_MS);
    for (const { heard } of [agent, earlier])
      expect(heard.filter(({ type }) => type === 'request')).toEqual([]);
  });
});
