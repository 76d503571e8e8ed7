/** Hosts of the recipes of joined hubs, wanted by the hub that they have joined (decision 0099). */
import { createHash } from 'node:crypto';
import type { Classifier } from '@workbench-hub/shared/domain/classifier';
import type { LentRecipe, WantedInstances } from '@workbench-hub/shared/domain/lent-recipe';
import { describe, expect, it } from 'vitest';
import { create, engine, engineForEachTest, join } from '../support/engine/engine-for-each-test.js';
import { MINUTE_MS, manager, pass, startWith } from '../support/engine/engine-with-hosts.js';
import type { SocketlessAgent } from '../support/engine/running-engine.js';

engineForEachTest();

const GEARS: Classifier[] = [{ type: 'LABLES', value: 'gears' }];
const NEEDS_GEARS = { version: null, labels: ['gears'] };

const recipeWith = (fields: Partial<LentRecipe> = {}): LentRecipe => ({
  name: 'gears',
  instances: [{ version: '9.1', labels: ['gears'], count: 1 }],
  usableMs: 60 * MINUTE_MS,
  ...{ free: 2, coming: 0, joined: 0, comingForMs: null, expectedInMs: null },
  ...{ obstacle: null, nextTryInMs: null },
  ...fields,
});

const SECOND_OF_WORK = {
  ...{ name: null, creator: null, classifiers: GEARS },
  job: { type: 'SIMULATE_WORK', durationS: 1 },
} as const;

const hubOf = (id: string) => ({
  id: `0190b5a0-0000-7000-8000-${createHash('sha256').update(id).digest('hex').slice(0, 12)}`,
  baseUrl: null,
  below: [],
});

interface Site {
  readonly agent: SocketlessAgent;
  /** What was wanted of it, by request. */
  readonly wanted: (readonly WantedInstances[])[];
  /** Recipes that it answers with; null for no answer. */
  recipes: readonly LentRecipe[] | null;
}

/** A hub that joins, whose recipes the test chooses. */
async function joinSite(id = 'berlin', recipes: readonly LentRecipe[] = [recipeWith()]): Promise<Site> {
  const wanted: Site['wanted'] = [];
  const site: { recipes: Site['recipes'] } = { recipes };
  const agent = await join({
    id,
    instances: [],
    hub: hubOf(id),
    answers: ['bringHosts'],
    onRequest: (request) => {
      if (request.kind !== 'bringHosts') return undefined;
      wanted.push(request.wanted);
      return site.recipes === null ? undefined : { recipes: site.recipes };
    },
  });
  return Object.assign(site, { agent, wanted });
}

describe('a hub that others have joined', () => {
  it('asks for their recipes when they join, and every half minute', async () => {
    const { wanted } = await joinSite();
    await pass(1);
    expect(wanted).toEqual([[]]);
    await pass(MINUTE_MS);
    expect(wanted).toEqual([[], [], []]);
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
    const site = await joinSite('berlin', [recipeWith({ usableMs: 30 * MINUTE_MS })]);
    await create({ classifiers: [{ type: 'LABLES', value: 'belts' }] });
    await engine.tasks.create({ ...SECOND_OF_WORK, timeLimitS: 31 * 60 });
    await pass(MINUTE_MS);
    expect(site.wanted.flat()).toEqual([]);
    await engine.tasks.create({ ...SECOND_OF_WORK, timeLimitS: 30 * 60 });
    await pass();
    expect(site.wanted.at(-1)).toMatchObject([{ count: 1 }]);
  });

  it('wants of each hub what those before it cannot bring', async () => {
    const first = await joinSite('berlin', [recipeWith({ free: 1 })]);
    const second = await joinSite('leeds', [recipeWith({ name: 'tools', free: 5 })]);
    for (let at = 0; at < 3; at++) await create({ classifiers: GEARS });
    await pass();
    expect(first.wanted.at(-1)).toEqual([{ recipe: 'gears', requirement: NEEDS_GEARS, count: 1 }]);
    expect(second.wanted.at(-1)).toEqual([{ recipe: 'tools', requirement: NEEDS_GEARS, count: 2 }]);
  });

  it('brings its own hosts first', async () => {
    await startWith({ limits: { allocations: 1, queued: 1, hostHoursPerDay: null } });
    const site = await joinSite('berlin', [
      recipeWith({ instances: [{ version: '9.1.0', labels: [], count: 1 }] }),
    ]);
    await create();
    await pass();
    expect(manager.launches).toHaveLength(1);
    expect(site.wanted.flat()).toEqual([]);
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
    const lent = recipeWith({ coming: 1, comingForMs: 60_000, expectedInMs: 30_000, obstacle: 'HOST_HOURS' });
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
    await joinSite('berlin', [recipeWith({ usableMs: 30 * MINUTE_MS })]);
    const task = await engine.tasks.create({ ...SECOND_OF_WORK, timeLimitS: 3600 });
    await pass();
    const { outlooks } = await engine.explanations.ofTask(await engine.tasks.get(task.id));
    expect(outlooks).toMatchObject([{ recipe: 'berlin:gears', obstacle: 'TIME' }]);
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
    site.recipes = [recipeWith()];
    await pass(MINUTE_MS);
    expect(await recipes()).toHaveLength(1);
    await site.agent.disconnect();
    expect(await recipes()).toEqual([]);
  });

  it('asks no agent, and no hub of an earlier version', async () => {
    const agent = await join({ answers: ['bringHosts'] });
    const earlier = await join({ ...{ id: 'leeds', instances: [] }, hub: hubOf('leeds') });
    await create({ classifiers: GEARS });
    await pass(MINUTE_MS);
    for (const { heard } of [agent, earlier])
      expect(heard.filter(({ type }) => type === 'request')).toEqual([]);
    const told = engine.log.filter(({ msg }) => msg === 'a joined hub cannot be asked for hosts');
    expect(told).toMatchObject([{ agentId: 'leeds', reason: expect.stringContaining('update it') }]);
  });
});
