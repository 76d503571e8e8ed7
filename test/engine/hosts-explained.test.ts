/** Explanations of tasks that wait for hosts of a workload manager. */
import { ANYBODY } from '@workbench-hub/hub/core/access';
import { describe, expect, it } from 'vitest';
import { create, engine, engineForEachTest } from '../support/engine/engine-for-each-test.js';
import { joinAs, MINUTE_MS, manager, pass, startWith } from '../support/engine/engine-with-hosts.js';

const REQUEST = {
  name: null,
  creator: null,
  classifiers: [],
  job: { type: 'SIMULATE_WORK', durationS: 1 },
} as const;

engineForEachTest();

async function explained(id: string) {
  const task = await engine.tasks.get(id);
  const reason = engine.explanations.reasonOf(task);
  const explanation = await engine.explanations.ofTask(task);
  expect(explanation.verdict).toBe(reason.verdict);
  return explanation;
}

async function outlookOf(id: string) {
  const { outlooks } = await explained(id);
  return outlooks[0];
}

/** Brings a host for a task of its own, which is canceled, and has its agent join. */
async function joined(remainingMs: number) {
  const id = await create();
  await pass();
  const name = manager.live.at(-1) as string;
  manager.run(name, remainingMs);
  await pass();
  const agent = await joinAs(name);
  await pass();
  await agent.end(agent.latest.ref, 'OK');
  return { id, name, agent };
}

/** Brings hosts one after another, each of which goes again. */
async function bringsHosts(count: number): Promise<void> {
  for (let brought = 0; brought < count; brought++) {
    const { agent } = await joined(3_600_000);
    await pass(20_000);
    await agent.disconnect();
    await pass(MINUTE_MS);
  }
}

describe('the explanation of a task that waits', () => {
  it('names the recipe that brings a host, since when, and when it is expected', async () => {
    await startWith();
    const id = await create();
    await pass();
    expect(await explained(id)).toMatchObject({
      verdict: 'COMING',
      outlooks: [{ recipe: 'gears', coming: 1, expectedMs: null, obstacle: null }],
      recipes: ['gears'],
    });
    await pass(2 * MINUTE_MS);
    expect((await explained(id)).message).toMatch(
      /^No instance that takes tasks fits; the recipe "gears" can bring hosts that do. 1 host of recipe "gears" is coming, asked for 2 min ago.$/,
    );
  });

  it('expects a host after the median time of earlier ones, and no time when it is overdue', async () => {
    await startWith({ idleMs: 1000 });
    await bringsHosts(3);
    const id = await create();
    await pass();
    const { sinceMs, expectedMs } = (await outlookOf(id)) ?? {};
    expect(Number(expectedMs) - Number(sinceMs)).toBeGreaterThan(4000);
    expect(Number(expectedMs) - Number(sinceMs)).toBeLessThan(20_000);
    expect((await explained(id)).message).toMatch(/, expected in \d+ s\.$/);
    await pass(MINUTE_MS);
    expect(await outlookOf(id)).toMatchObject({ coming: 1, expectedMs: null });
    expect((await explained(id)).message).toMatch(/ is coming, asked for \d+ s ago\.$/);
  });

  it('says that no instance fits when no recipe does', async () => {
    await startWith();
    const id = await create({ classifiers: [{ type: 'LABLES', value: 'belts' }] });
    await pass();
    expect(await explained(id)).toMatchObject({ verdict: 'NEVER', outlooks: [], recipes: [] });
  });

  it('says that hosts have too little time, also those that are there', async () => {
    await startWith();
    const { name } = await joined(20 * MINUTE_MS);
    const { id: tooLong } = await engine.tasks.create({ ...REQUEST, timeLimitS: 3301 });
    const explanation = await explained(tooLong);
    expect(explanation).toMatchObject({
      verdict: 'NONE_UP',
      fitting: { idle: 0, ending: 1 },
      outlooks: [{ recipe: 'gears', obstacle: 'TIME' }],
      recipes: [],
    });
    expect(explanation.message).toBe(
      '1 instance fits, but none takes tasks: 0 down, 0 unreachable, 1 on hosts with too little time for it. ' +
        'No more hosts of recipe "gears" come: they have too little time for it.',
    );
    await engine.tasks.cancel(tooLong, false, ANYBODY);
    const { id: long } = await engine.tasks.create({ ...REQUEST, timeLimitS: 1500 });
    await pass();
    expect(await explained(long)).toMatchObject({
      verdict: 'COMING',
      fitting: { ending: 1 },
      outlooks: [{ coming: 1, obstacle: null }],
    });
    expect(manager.live.filter((each) => each !== name)).toHaveLength(1);
  });

  it('does not hold the end of a host against it that is late enough', async () => {
    await startWith({ limits: { allocations: 1, queued: 1, hostHoursPerDay: null } });
    await create();
    await pass();
    const [name] = manager.live as [string];
    manager.run(name, 3_600_000);
    await pass();
    await joinAs(name);
    await pass();
    const id = await create();
    expect(await explained(id)).toMatchObject({
      verdict: 'BUSY',
      fitting: { busy: 1, ending: 0 },
      outlooks: [{ joined: 1, coming: 0, obstacle: 'MAX_ALLOCATIONS' }],
    });
  });

  it('says why a recipe brings no more hosts', async () => {
    await startWith({ limits: { allocations: 1, queued: 1, hostHoursPerDay: null } });
    await engine.recipeViews.pause('gears', 'anna');
    const id = await create();
    expect(await outlookOf(id)).toMatchObject({ coming: 0, obstacle: 'PAUSED' });
    expect((await explained(id)).message).toBe(
      'No instance that takes tasks fits; the recipe "gears" can bring hosts that do. No hosts of recipe "gears" come: it is paused.',
    );
    manager.refusal = 'invalid account';
    await engine.recipeViews.resume('gears');
    await pass();
    const refused = await outlookOf(id);
    expect(refused).toMatchObject({ coming: 0, obstacle: 'FAILED_STARTS' });
    expect(refused?.nextTryAtMs).toBeGreaterThan(engine.runtime.clock.nowMs());
    manager.refusal = null;
    await pass(MINUTE_MS);
    expect(await outlookOf(id)).toMatchObject({ coming: 1, obstacle: 'MAX_ALLOCATIONS', nextTryAtMs: null });
    expect((await explained(id)).message).toMatch(
      / 1 host of recipe "gears" is coming, asked for \d+ s ago; no more come: it has all that it may have at a time\.$/,
    );
  });

  it('says that the workload manager does not answer while a host is on its way, and expects none then', async () => {
    await startWith({ idleMs: 1000 });
    await bringsHosts(3);
    const id = await create();
    await pass();
    expect(Number((await outlookOf(id))?.expectedMs)).toBeGreaterThan(0);
    manager.isAway = true;
    await pass(2 * MINUTE_MS);
    expect(await outlookOf(id)).toMatchObject({ coming: 1, expectedMs: null, obstacle: 'UNREACHABLE' });
    expect((await explained(id)).message).toMatch(
      / 1 host of recipe "gears" is coming, asked for 2 min ago, but its workload manager does not answer\.$/,
    );
    await engine.recipeViews.pause('gears', 'anna');
    expect(await outlookOf(id)).toMatchObject({ expectedMs: null, obstacle: 'PAUSED' });
  });

  it('says that the host-hours of the day are used up', async () => {
    await startWith({ limits: { allocations: 9, queued: 9, hostHoursPerDay: 1.5 } });
    const [first] = [await create(), await create()];
    await pass();
    expect(manager.live).toHaveLength(1);
    expect(await outlookOf(first)).toMatchObject({ coming: 1, obstacle: 'HOST_HOURS' });
  });
});
