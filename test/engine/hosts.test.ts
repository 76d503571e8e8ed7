/** Hosts that a workload manager brings: the pitfalls that users of other systems report, each as a test. */

import { ANYBODY } from '@workbench-hub/hub/core/access';
import { allocationWith } from '@workbench-hub/hub/core/hosts/fixtures/allocation';
import { latestMonths } from '@workbench-hub/hub/core/hosts/months';
import { pause } from '@workbench-hub/shared/runtime/pause';
import { describe, expect, it, vi } from 'vitest';
import { instanceReportOf } from '../support/agents/fake-agent.js';
import {
  create,
  engine,
  engineForEachTest,
  join,
  restart,
  startAnew,
} from '../support/engine/engine-for-each-test.js';
import { joinAs, MINUTE_MS, manager, pass, SOON_MS, startWith } from '../support/engine/engine-with-hosts.js';
import { recipeWith } from '../support/engine/manager-in-memory.js';
import type { AgentSetup, SocketlessAgent } from '../support/engine/running-engine.js';

/** Real time within which the store writes, also on a busy machine. */
const WRITES_MS = 60_000;

engineForEachTest();

/** Lets time pass until the assertion holds: a look that writes twice may take longer than the time that it is given. */
const passUntil = (holds: () => void | Promise<void>) =>
  vi.waitFor(async () => {
    await pass();
    await holds();
  }, WRITES_MS);

/** The only job that waits or runs. */
function onlyJob(): string {
  expect(manager.live).toHaveLength(1);
  return manager.live[0] as string;
}

/** Waits for a host, starts it and lets its agent join. */
async function bringHost(
  remainingMs: number | null = null,
): Promise<{ name: string; agent: SocketlessAgent }> {
  await pass();
  const name = onlyJob();
  manager.run(name, remainingMs);
  await pass();
  const agent = await joinAs(name);
  await pass();
  return { name, agent };
}

const allocationsNow = async () =>
  (await engine.store.allocations.open()).map(({ state, cause }) => ({ state, cause }));
const over = () =>
  engine.store.allocations.latest({ recipe: null, limit: 20, nowMs: Number.MAX_SAFE_INTEGER });

const createOne = () =>
  engine.tasks.create({
    ...{ name: null, creator: null, classifiers: [], timeLimitS: null },
    job: { type: 'SIMULATE_WORK', durationS: 1 },
  });

async function finish(agent: SocketlessAgent): Promise<void> {
  await agent.end(agent.latest.ref, 'OK');
}

describe('a host', () => {
  it('comes when a task waits, runs it, and goes when it has been idle for a while', async () => {
    await startWith();
    await pass(MINUTE_MS);
    expect(manager.launches).toEqual([]);
    const id = await create();
    await pass();
    const name = onlyJob();
    expect(manager.launches).toEqual([{ name, credential: `secret of ${name}` }]);
    expect(await allocationsNow()).toEqual([{ state: 'QUEUED', cause: null }]);
    manager.run(name, 3_600_000);
    await pass();
    expect(await allocationsNow()).toEqual([{ state: 'STARTED', cause: null }]);
    const agent = await joinAs(name);
    expect(agent.latest.ref.taskId).toBe(id);
    await pass();
    expect(await allocationsNow()).toEqual([{ state: 'JOINED', cause: null }]);
    await pass(5 * MINUTE_MS);
    await finish(agent);
    await pass(MINUTE_MS - SOON_MS);
    expect(manager.canceled).toEqual([]);
    await pass(2 * SOON_MS);
    expect(manager.canceled).toEqual([name]);
    await agent.disconnect();
    await pass(3 * SOON_MS);
    expect(await over()).toMatchObject([{ id: name, state: 'ENDED', cause: 'IDLE' }]);
    expect(manager.removed).toEqual([name]);
    expect(engine.instances.agents()).toEqual([]);
    expect([...engine.instances.drains]).toEqual([]);
  });

  it('is not asked for when an idle instance is there, or a task can run nowhere', async () => {
    await startWith();
    await create({ classifiers: [{ type: 'VERSION', value: '8' }] });
    await create({ classifiers: [{ type: 'LABLES', value: 'belts' }] });
    await pass(MINUTE_MS);
    expect(manager.launches).toEqual([]);
    await join();
    await create();
    await pass(MINUTE_MS);
    expect(manager.launches).toEqual([]);
  });

  it('comes for a task that waits although the only instance that fits works', async () => {
    await startWith();
    const agent = await join();
    const first = await create();
    expect(agent.latest.ref.taskId).toBe(first);
    await create();
    await pass();
    expect(manager.launches).toHaveLength(1);
  });

  it('that is idle is not kept while a task waits for a host of another recipe', async () => {
    await startWith();
    const other = recipeWith(manager, {
      name: 'belts',
      instances: [
        { instanceClass: { version: '9.1.0', labels: ['belts'], runs: undefined }, count: 1, ids: ['sim'] },
      ],
    });
    await startAnew({ hosts: [recipeWith(manager, { idleMs: 60 * MINUTE_MS }), other] });
    await pass(MINUTE_MS);
    await create();
    const { name, agent } = await bringHost();
    await finish(agent);
    await pass(10 * MINUTE_MS);
    expect(manager.canceled).toEqual([]);
    await create({ classifiers: [{ type: 'LABLES', value: 'belts' }] });
    await pass(2 * SOON_MS);
    expect(manager.canceled).toEqual([name]);
    expect(manager.live).toEqual([expect.stringContaining('belts-')]);
  });

  it('is not asked for by short tasks that an instance which works can take on, and comes for more', async () => {
    await startWith();
    const agent = await join();
    for (let at = 0; at < 20; at++) {
      await create();
      await engine.runtime.advance(1000);
      await finish(agent);
    }
    for (let at = 0; at < 40; at++) await create();
    await pass();
    expect(manager.launches).toEqual([]);
    for (let at = 0; at < 60; at++) await create();
    await pass();
    expect(manager.launches).toHaveLength(1);
  });

  it('is not asked for by a task whose time limit is longer than its time', async () => {
    await startWith();
    const request = {
      name: null,
      creator: null,
      classifiers: [],
      job: { type: 'SIMULATE_WORK', durationS: 1 },
    } as const;
    await engine.tasks.create({ ...request, timeLimitS: 3301 });
    await pass(MINUTE_MS);
    expect(manager.launches).toEqual([]);
    await engine.tasks.create({ ...request, timeLimitS: 3300 });
    await pass();
    expect(manager.launches).toHaveLength(1);
  });

  it('is asked for once, however long it is queued', async () => {
    await startWith();
    await create();
    await pass(30 * MINUTE_MS);
    expect(manager.launches).toHaveLength(1);
  });

  it('is given back while it is queued when its tasks are gone, but not at once', async () => {
    await startWith();
    const id = await create();
    await pass();
    const name = onlyJob();
    await engine.tasks.cancel(id, false, ANYBODY);
    await pass();
    expect(manager.live).toEqual([name]);
    await pass(2 * SOON_MS);
    expect(manager.live).toEqual([]);
    await pass(3 * SOON_MS);
    expect(await over()).toMatchObject([{ cause: 'NOT_NEEDED', startedAtMs: null }]);
  });

  it('that starts after its tasks are gone is given back when it is idle', async () => {
    await startWith();
    const id = await create();
    await pass();
    const name = onlyJob();
    manager.run(name);
    await engine.tasks.cancel(id, false, ANYBODY);
    const agent = await joinAs(name);
    await pass(MINUTE_MS + SOON_MS);
    expect(manager.canceled).toEqual([name]);
    expect(agent.assigned).toEqual([]);
  });

  it('keeps a task that runs when it is drained, however long that takes', async () => {
    await startWith();
    await create();
    const { name, agent } = await bringHost();
    await engine.drains.drain(name, 'anna');
    await pass(30 * MINUTE_MS);
    expect(manager.canceled).toEqual([]);
    await finish(agent);
    await pass();
    expect(manager.canceled).toEqual([name]);
    await agent.disconnect();
    await pass(3 * SOON_MS);
    expect(await over()).toMatchObject([{ cause: 'ASKED', message: 'drained by anna' }]);
  });

  it('is not wanted by a hub that prepares its shutdown', async () => {
    await startWith();
    await create();
    await engine.shutdown.change(true);
    await pass(MINUTE_MS);
    expect(manager.launches).toEqual([]);
  });

  it('comes in whole allocations within the limits', async () => {
    await startWith({
      instances: [
        {
          instanceClass: { version: '9.1.0', labels: [], runs: undefined },
          count: 2,
          ids: ['sim-1', 'sim-2'],
        },
      ],
      limits: { allocations: 3, queued: 2, hostHoursPerDay: null },
    });
    for (let count = 0; count < 9; count++) await create();
    await pass(MINUTE_MS);
    expect(manager.live).toHaveLength(2);
    for (const name of manager.live) manager.run(name);
    await pass(MINUTE_MS);
    expect(manager.live).toHaveLength(3);
  });
});

describe('bounds by user', () => {
  const PER_USER = { allocations: 10, queued: 10, hostHoursPerDay: null };
  const createFor = async (creator: string) => {
    const job = { type: 'SIMULATE_WORK', durationS: 1 } as const;
    return engine.tasks.create({ name: null, creator, classifiers: [], job, timeLimitS: null });
  };
  const obstacleOf = async (id: string) => {
    const { outlooks } = await engine.explanations.ofTask(await engine.tasks.get(id));
    return outlooks[0]?.obstacle;
  };

  it('keep the tasks of one user from all hosts, and say so', async () => {
    await startWith({ limits: { ...PER_USER, perUser: { allocations: 2, hostHoursPerDay: null } } });
    const ofAnna = await Promise.all([1, 2, 3, 4].map(() => createFor('anna')));
    const ofVera = await createFor('vera');
    await pass(MINUTE_MS);
    const open = await engine.store.allocations.open();
    expect(open.map(({ forUser }) => forUser).toSorted()).toEqual(['anna', 'anna', 'vera']);
    expect(await obstacleOf(ofAnna[0]?.id ?? '')).toBe('USER_ALLOCATIONS');
    expect(await obstacleOf(ofVera.id)).toBeNull();
  });

  it('keep the tasks of one user from all host-hours of the day, and say so', async () => {
    await startWith({ limits: { ...PER_USER, perUser: { allocations: null, hostHoursPerDay: 1.5 } } });
    const { id } = await createFor('anna');
    await createFor('anna');
    await pass(MINUTE_MS);
    expect(manager.live).toHaveLength(1);
    expect(await obstacleOf(id)).toBe('USER_HOST_HOURS');
  });
});

describe('host-hours by month', () => {
  it('are those that hosts ran, also by a recipe that is not configured any more', async () => {
    await startWith();
    await create();
    await bringHost();
    await pass(30 * MINUTE_MS);
    const [month] = latestMonths(engine.runtime.clock.nowMs(), 1);
    const former = allocationWith({
      ...{ id: 'belts-1', recipe: 'belts', state: 'ENDED', cause: 'IDLE' },
      ...{ startedAtMs: (month?.fromMs ?? 0) - 7_200_000, endedAtMs: (month?.fromMs ?? 0) - 3_600_000 },
    });
    await engine.store.allocations.add(former, 0);
    const hours = await engine.recipeViews.hostHours(13);
    expect(hours.filter(({ recipe }) => recipe === 'belts')).toMatchObject([{ hostHours: 1 }]);
    expect(hours[0]).toMatchObject({ month: month?.month, recipe: 'gears' });
    const sum = hours
      .filter(({ recipe }) => recipe === 'gears')
      .reduce((all, each) => all + each.hostHours, 0);
    expect(sum).toBeCloseTo(0.5, 1);
    expect((await engine.recipeViews.hostHours(1)).map(({ recipe }) => recipe)).toEqual(['gears']);
  });
});

describe('a recipe', () => {
  const view = async () => (await engine.recipeViews.all())[0];

  it('shows its allocations, open and over, and why it does not bring hosts', async () => {
    await startWith();
    expect(await view()).toMatchObject({ state: 'READY', message: null, allocations: [] });
    manager.refusal = 'invalid account';
    await create();
    await pass(MINUTE_MS);
    expect(await view()).toMatchObject({
      state: 'FAILING',
      message: 'invalid account',
      failed: { count: 3 },
    });
    manager.refusal = null;
    manager.isAway = true;
    await pass(5 * MINUTE_MS);
    expect(await view()).toMatchObject({ state: 'UNREACHABLE', message: 'it does not answer' });
    manager.isAway = false;
    await pass(5 * MINUTE_MS);
    expect((await view())?.allocations.map(({ state }) => state)).toEqual([
      'QUEUED',
      'ENDED',
      'ENDED',
      'ENDED',
    ]);
  });

  it('brings no more hosts while it is paused, over a restart, and then goes on', async () => {
    await startWith();
    await engine.recipeViews.pause('gears', 'anna');
    await create();
    await pass(MINUTE_MS);
    await restart();
    await pass(MINUTE_MS);
    expect(manager.launches).toEqual([]);
    expect(await view()).toMatchObject({ state: 'PAUSED', pausedBy: 'anna' });
    await engine.recipeViews.resume('gears');
    await pass();
    expect(manager.launches).toHaveLength(1);
    await expect(engine.recipeViews.pause('belts', 'anna')).rejects.toThrow(
      'there is no recipe "belts" of hosts: there are gears',
    );
  });

  it('gives all of its hosts back when it is asked to, each when it is empty, and brings others later', async () => {
    await startWith();
    await create();
    const { name, agent } = await bringHost();
    await create();
    await pass();
    expect(manager.live).toHaveLength(2);
    await engine.recipeViews.drain('gears', 'anna');
    await pass();
    expect(manager.live).toContain(name);
    expect((await over()).at(-1)).toBeUndefined();
    await finish(agent);
    await pass();
    await agent.disconnect();
    await pass(4 * SOON_MS);
    expect((await over()).map(({ cause, message }) => ({ cause, message }))).toEqual([
      { cause: 'ASKED', message: 'given back by anna' },
      { cause: 'ASKED', message: 'given back by anna' },
    ]);
    expect(manager.live).toHaveLength(1);
    expect(manager.launches).toHaveLength(3);
  });
});

describe('a workload manager', () => {
  it('that loses its answer to a submit has taken the job: it is found by its name, and not handed in twice', async () => {
    await startWith();
    manager.losesAnswers = true;
    await create();
    await pass(MINUTE_MS);
    expect(manager.launches).toHaveLength(1);
    expect(await allocationsNow()).toEqual([{ state: 'QUEUED', cause: null }]);
  });

  it('that is away at a submit is asked again, with the same name, when two answers do not know it', async () => {
    await startWith();
    manager.isAway = true;
    await create();
    await pass(MINUTE_MS);
    expect(await allocationsNow()).toEqual([{ state: 'WANTED', cause: null }]);
    manager.isAway = false;
    await pass(MINUTE_MS);
    expect(manager.launches).toHaveLength(1);
    expect(await allocationsNow()).toEqual([{ state: 'QUEUED', cause: null }]);
  });

  it('that does not answer for a while changes nothing', async () => {
    await startWith();
    await create();
    const { name, agent } = await bringHost();
    manager.isAway = true;
    await pass(30 * MINUTE_MS);
    expect(await allocationsNow()).toEqual([{ state: 'JOINED', cause: null }]);
    manager.isAway = false;
    await finish(agent);
    await pass(2 * MINUTE_MS);
    expect(manager.canceled).toEqual([name]);
  });

  it('that has forgotten a job loses it only when it says so twice, and another one comes', async () => {
    await startWith();
    await create();
    await pass();
    const name = onlyJob();
    const known = manager.jobList;
    manager.forget(name);
    await pass(2000);
    manager.jobList = known;
    await pass(MINUTE_MS);
    expect(manager.launches).toHaveLength(1);
    manager.forget(name);
    await pass(MINUTE_MS);
    expect(await over()).toMatchObject([{ id: name, state: 'LOST', cause: 'GONE' }]);
    expect(manager.launches).toHaveLength(2);
    expect(onlyJob()).not.toBe(name);
  });

  it('that does not know a job whose agent is there is not believed', async () => {
    await startWith();
    await create();
    const { name, agent } = await bringHost();
    manager.forget(name);
    await pass(10 * MINUTE_MS);
    expect(await allocationsNow()).toEqual([{ state: 'JOINED', cause: null }]);
    await finish(agent);
    expect((await engine.store.allocations.find(name))?.state).toBe('JOINED');
  });

  it('that is another one behind the same name loses what had not joined, and leaves what works alone', async () => {
    await startWith();
    await create();
    const { name, agent } = await bringHost();
    await create();
    await pass();
    const queued = manager.live.find((each) => each !== name) ?? '';
    // It has a job of somebody else, with the same id.
    manager.jobList = [
      { name: 'of-somebody', jobId: '1', state: 'RUNNING', remainingMs: null, reason: null },
    ];
    await pass(MINUTE_MS);
    expect(await over()).toMatchObject([{ id: queued, state: 'LOST', cause: 'GONE' }]);
    expect((await engine.store.allocations.find(name))?.state).toBe('JOINED');
    expect(manager.launches).toHaveLength(3);
    expect(manager.canceled).toEqual([]);
    expect(await agent.end(agent.latest.ref, 'OK')).toBe(true);
  });

  it('that takes 500 jobs at once gets each once, and each is canceled when no task waits', async () => {
    await startWith({ limits: { allocations: 500, queued: 500, hostHoursPerDay: null } });
    const ids = await Promise.all(Array.from({ length: 510 }, () => createOne()));
    await passUntil(() => expect(manager.live).toHaveLength(500));
    expect(new Set(manager.launches.map(({ name }) => name)).size).toBe(500);
    await Promise.all(ids.map(({ id }) => engine.tasks.cancel(id, false, ANYBODY)));
    await passUntil(() => expect(manager.live).toEqual([]));
    await passUntil(async () => expect(await allocationsNow()).toEqual([]));
    expect(manager.launches).toHaveLength(500);
  });

  it('that refuses is asked again later and later, and never given up', async () => {
    await startWith();
    manager.refusal = 'invalid partition';
    await create();
    await pass(10 * MINUTE_MS);
    const refused = await over();
    expect(refused[0]).toMatchObject({ state: 'ENDED', cause: 'REFUSED', message: 'invalid partition' });
    expect(refused.length).toBeGreaterThan(3);
    expect(refused.length).toBeLessThan(8);
    manager.refusal = null;
    await pass(30 * MINUTE_MS);
    expect(manager.live).toHaveLength(1);
  });

  it('that ignores a cancel is asked again', async () => {
    await startWith();
    const id = await create();
    await pass();
    const name = onlyJob();
    manager.ignoresCancels = true;
    await engine.tasks.cancel(id, false, ANYBODY);
    await pass(MINUTE_MS);
    expect(manager.canceled.length).toBeGreaterThan(1);
    manager.ignoresCancels = false;
    await pass(MINUTE_MS);
    expect(manager.live).toEqual([]);
    expect(await over()).toMatchObject([{ id: name, cause: 'NOT_NEEDED' }]);
  });
});

describe('a start', () => {
  it('whose agent does not join in time has failed, with the end of its output, and is tried again later', async () => {
    await startWith();
    await create();
    await pass();
    const name = onlyJob();
    manager.run(name);
    manager.printed = 'workbench-agent: not found\n';
    await pass(2 * MINUTE_MS);
    expect(manager.canceled).toEqual([]);
    await pass(2 * SOON_MS);
    expect(manager.canceled).toEqual([name]);
    await pass(MINUTE_MS);
    expect(await over()).toMatchObject([
      {
        cause: 'NOT_JOINED',
        message:
          'no agent joined within 120 s of its start; its output ends with: workbench-agent: not found',
      },
    ]);
    expect(manager.launches).toHaveLength(2);
  });

  it('whose job ends at once has failed', async () => {
    await startWith();
    await create();
    await pass();
    manager.printed = 'exec format error';
    manager.end(onlyJob(), 'NonZeroExitCode');
    await pass();
    expect(await over()).toMatchObject([
      { cause: 'ENDED_EARLY', message: 'NonZeroExitCode; its output ends with: exec format error' },
    ]);
    await pass(SOON_MS);
    expect(manager.launches).toHaveLength(1);
    await pass(MINUTE_MS);
    expect(manager.launches).toHaveLength(2);
  });

  it('is tried ever more rarely while no agent joins', async () => {
    await startWith();
    await create();
    for (let passed = 0; passed < 15 * MINUTE_MS; passed += SOON_MS) {
      for (const { name, state } of manager.jobList) if (state === 'QUEUED') manager.run(name);
      await pass();
    }
    // Without a delay, there would be one each two minutes.
    expect(manager.launches.length).toBeGreaterThan(3);
    expect(manager.launches.length).toBeLessThan(7);
    expect((await engine.recipeViews.all())[0]?.state).toBe('FAILING');
  });

  it('that the workload manager cannot make has failed after a minute, and is tried again later', async () => {
    await startWith();
    await create();
    await pass();
    const name = onlyJob();
    manager.stick(name, 'no such folder');
    await pass(MINUTE_MS - SOON_MS);
    expect(manager.canceled).toEqual([]);
    await pass(3 * SOON_MS);
    expect(manager.canceled).toEqual([name]);
    expect(manager.launches).toHaveLength(1);
    await pass(MINUTE_MS);
    expect(await over()).toMatchObject([
      {
        ...{ state: 'ENDED', cause: 'REFUSED' },
        message: 'the workload manager does not start it: no such folder',
      },
    ]);
    expect(manager.launches).toHaveLength(2);
    manager.stick(onlyJob(), 'no such folder');
    await pass(2 * MINUTE_MS);
    expect((await engine.recipeViews.all())[0]?.failed.count).toBe(2);
  });

  it('that the workload manager makes in the end has not failed', async () => {
    await startWith();
    await create();
    await pass();
    const name = onlyJob();
    for (let times = 0; times < 5; times++) {
      manager.stick(name, 'no such folder');
      await pass(MINUTE_MS / 2);
      manager.putBack(name);
      await pass(SOON_MS);
    }
    manager.run(name);
    await joinAs(name);
    await pass(MINUTE_MS);
    expect(manager.canceled).toEqual([]);
  });

  it('whose agent has no instance that comes up has failed', async () => {
    await startWith();
    await create();
    await pass();
    const name = onlyJob();
    manager.run(name);
    const agent = await joinAs(name, { status: 'FAILED', upForMs: null });
    await pass(MINUTE_MS);
    expect(manager.canceled).toEqual([]);
    await pass(2 * MINUTE_MS);
    expect(manager.canceled).toEqual([name]);
    await agent.disconnect();
    await pass(MINUTE_MS);
    expect((await over())[0]?.message).toContain('no instance of its agent came up within 120 s');
  });
});

describe('the end of its time', () => {
  it('is known: a task that does not end before it is not placed there', async () => {
    await startWith();
    await create();
    const { name, agent } = await bringHost(20 * MINUTE_MS);
    await finish(agent);
    const request = {
      name: null,
      creator: null,
      classifiers: [],
      job: { type: 'SIMULATE_WORK', durationS: 1 },
    } as const;
    const long = await engine.tasks.create({ ...request, timeLimitS: 1500 });
    const short = await engine.tasks.create({ ...request, timeLimitS: 600 });
    await engine.runtime.settle();
    expect(agent.latest.ref.taskId).toBe(short.id);
    await pass();
    expect(manager.live.filter((each) => each !== name)).toHaveLength(1);
    expect(await engine.tasks.get(long.id)).toMatchObject({ status: 'WAITING' });
  });

  it('drains the host before it, and lets what runs go on', async () => {
    await startWith();
    await create();
    const { name, agent } = await bringHost(20 * MINUTE_MS);
    await pass(15 * MINUTE_MS);
    expect(await allocationsNow()).toEqual([{ state: 'DRAINING', cause: 'TIME' }]);
    expect(manager.canceled).toEqual([]);
    await create();
    await finish(agent);
    expect(agent.assigned).toHaveLength(1);
    await pass(2 * SOON_MS);
    expect(manager.canceled).toEqual([name]);
  });

  it('is told to its agent as the workload manager says it, after each join and whenever it changes', async () => {
    await startWith();
    await create();
    await pass();
    const name = onlyJob();
    // The wall time of the recipe is an hour.
    manager.run(name, 20 * MINUTE_MS);
    const told: number[] = [];
    const setup: AgentSetup = {
      ...{ id: name, instances: [{ id: `${name}-sim` }], answers: ['stopAfter'] },
      onRequest: (request) => {
        if (request.kind === 'stopAfter') told.push(request.afterMs / MINUTE_MS);
        return {};
      },
    };
    const agent = await join(setup);
    await pass(MINUTE_MS);
    expect(told).toEqual([expect.closeTo(19, 0)]);
    manager.run(name, 10 * MINUTE_MS);
    await pass();
    expect(told.slice(1)).toEqual([expect.closeTo(9, 0)]);
    await agent.disconnect();
    await join({ ...setup, nodeId: agent.nodeId, running: [agent.latest.ref] });
    await pass();
    expect(told.slice(2)).toEqual([expect.closeTo(9, 0)]);
    manager.run(name, MINUTE_MS / 2);
    await pass();
    expect(told.slice(3)).toEqual([0]);
  });

  it('is not told again and again to an agent that does not take it', async () => {
    await startWith();
    await create();
    await pass();
    const name = onlyJob();
    manager.run(name, 40 * MINUTE_MS);
    await joinAs(name);
    await pass(2 * MINUTE_MS);
    const failures = engine.log.filter(({ msg }) => msg === 'an agent could not be told the end of its host');
    expect(failures.length).toBeGreaterThan(1);
    expect(failures.length).toBeLessThan(6);
  });

  it('is no later for an answer that takes long', async () => {
    await startWith();
    await create();
    await pass();
    const name = onlyJob();
    const answer = manager.jobs.bind(manager);
    manager.jobs = async (names) => {
      const jobs = await answer(names);
      await pause(engine.runtime.timers, 20_000);
      return jobs;
    };
    manager.run(name, 20 * MINUTE_MS);
    const endsAtMs = engine.runtime.clock.nowMs() + 20 * MINUTE_MS;
    await pass(MINUTE_MS);
    const known = (await engine.store.allocations.find(name))?.endsAtMs;
    manager.jobs = answer;
    await pass(MINUTE_MS);
    expect(known).toBeLessThanOrEqual(endsAtMs);
    expect(known).toBeGreaterThan(endsAtMs - 5000);
  });

  it('returns what still runs, which costs no attempt, as soon as the job has ended and the agent is silent', async () => {
    await startWith();
    const id = await create();
    const { name, agent } = await bringHost(20 * MINUTE_MS);
    await pass(19 * MINUTE_MS);
    manager.end(name, 'TimeLimit');
    await agent.disconnect();
    await pass();
    expect(await engine.tasks.get(id)).toMatchObject({ status: 'WAITING', losses: 0, crashes: 0 });
    expect((await over())[0]).toMatchObject({ id: name, cause: 'TIME' });
    await pass();
    expect(manager.live).toHaveLength(1);
  });

  it('that comes early, as for a preempted job, counts neither against the task nor against the recipe', async () => {
    await startWith();
    const id = await create();
    const { name, agent } = await bringHost(60 * MINUTE_MS);
    await agent.disconnect();
    manager.end(name, 'Preempted');
    await pass();
    expect(await engine.tasks.get(id)).toMatchObject({ status: 'WAITING', losses: 0 });
    expect((await over())[0]).toMatchObject({ cause: 'ENDED_EARLY', message: 'Preempted' });
    await pass();
    expect(manager.live).toHaveLength(1);
  });

  it('of a job that is put back into the queue takes it out', async () => {
    await startWith();
    const id = await create();
    const { name, agent } = await bringHost(60 * MINUTE_MS);
    await agent.disconnect();
    manager.putBack(name);
    await pass(2 * SOON_MS);
    expect(manager.canceled).toEqual([name]);
    await pass(3 * SOON_MS);
    expect(await engine.tasks.get(id)).toMatchObject({ status: 'WAITING', losses: 0 });
    expect(manager.live).toHaveLength(1);
    expect(onlyJob()).not.toBe(name);
  });

  it('of a job that is put back, and started again before that is seen, costs its task no attempt', async () => {
    await startWith();
    const id = await create();
    const { name, agent } = await bringHost(60 * MINUTE_MS);
    await agent.disconnect();
    const again = await joinAs(name);
    expect(again.latest.ref).toMatchObject({ taskId: id, attempt: 2 });
    expect(await engine.tasks.get(id)).toMatchObject({ status: 'RUNNING', losses: 0 });
    expect(await again.end(again.latest.ref, 'OK')).toBe(true);
  });

  it('of a job whose agent is still there for a moment returns its task when it is silent', async () => {
    await startWith();
    const id = await create();
    const { name, agent } = await bringHost(60 * MINUTE_MS);
    manager.end(name, 'NodeFail');
    await pass();
    expect(await engine.tasks.get(id)).toMatchObject({ status: 'RUNNING' });
    await agent.disconnect();
    await pass();
    expect(await engine.tasks.get(id)).toMatchObject({ status: 'WAITING', losses: 0 });
  });
});

describe('what is easily overlooked', () => {
  const job = { type: 'SIMULATE_WORK', durationS: 1 } as const;
  const limited = async (timeLimitS: number) => {
    const request = { name: null, creator: null, classifiers: [], job };
    const { id } = await engine.tasks.create({ ...request, timeLimitS });
    await engine.runtime.settle();
    return id;
  };

  it('the end of a host is known though its agent joined before the job was seen to run', async () => {
    await startWith();
    await create();
    await pass();
    const name = onlyJob();
    manager.run(name, 20 * MINUTE_MS);
    const agent = await joinAs(name);
    await engine.runtime.advance(1500);
    await pass();
    expect((await engine.store.allocations.open())[0]).toMatchObject({ state: 'JOINED', jobId: '1' });
    await pass(15 * MINUTE_MS);
    expect(await allocationsNow()).toEqual([{ state: 'DRAINING', cause: 'TIME' }]);
    await finish(agent);
  });

  it('a fresh host takes no task that is too long for it, not even before it is seen to have joined', async () => {
    await startWith();
    await limited(36_000);
    const short = await limited(60);
    await pass();
    const name = onlyJob();
    manager.run(name, 3_600_000);
    const agent = await joinAs(name);
    expect(agent.latest.ref.taskId).toBe(short);
    await finish(agent);
    await restart();
    const again = await join({ id: name, nodeId: agent.nodeId, instances: [{ id: `${name}-sim` }] });
    await pass();
    expect(again.assigned).toEqual([]);
  });

  it('an agent that joins after its allocation is given back runs nothing', async () => {
    await startWith();
    const id = await create();
    await pass();
    const name = onlyJob();
    manager.ignoresCancels = true;
    await engine.tasks.cancel(id, false, ANYBODY);
    await pass(15_000);
    expect(await allocationsNow()).toEqual([{ state: 'DRAINING', cause: 'NOT_NEEDED' }]);
    manager.run(name);
    const agent = await joinAs(name);
    await create();
    await engine.drains.undrain(name);
    await pass();
    await create();
    expect(agent.assigned.length).toBeLessThan(2);
    expect(engine.instances.drainOf(name)).not.toBeNull();
  });

  it('jobs that end at once without a word, or vanish, are failed starts', async () => {
    await startWith();
    await create();
    for (let seconds = 0; seconds < 60; seconds++) {
      for (const name of manager.live) manager.end(name);
      await pass(1000);
    }
    expect(manager.launches.length).toBeLessThan(6);
    await startWith();
    await create();
    for (let seconds = 0; seconds < 60; seconds++) {
      for (const name of manager.live) manager.forget(name);
      await pass(1000);
    }
    expect(manager.launches.length).toBeLessThan(6);
  });

  it('allocations that are refused together delay the next try as one does', async () => {
    await startWith();
    manager.refusal = 'too many jobs';
    for (let count = 0; count < 10; count++) await create();
    await pass();
    expect((await over()).length).toBeGreaterThan(5);
    manager.refusal = null;
    await pass(MINUTE_MS);
    expect(manager.live.length).toBeGreaterThan(0);
  });

  it('an idle host that has no time for a task does not keep another one from coming', async () => {
    await startWith({ idleMs: 3_600_000 });
    await create();
    const { agent } = await bringHost(30 * MINUTE_MS);
    await finish(agent);
    await pass();
    await limited(3000);
    await pass(2 * SOON_MS);
    expect(manager.live).toHaveLength(2);
    expect(agent.assigned).toHaveLength(1);
  });

  it('an idle host whose job gets more time takes a task that was too long for it', async () => {
    await startWith({ idleMs: 3_600_000, limits: { allocations: 1, queued: 1, hostHoursPerDay: null } });
    await create();
    const { name, agent } = await bringHost(30 * MINUTE_MS);
    await finish(agent);
    await pass();
    const id = await limited(3600);
    await pass();
    expect(agent.assigned).toHaveLength(1);
    manager.run(name, 3 * 3_600_000);
    await pass();
    expect(agent.latest.ref.taskId).toBe(id);
  });

  it('an idle host is kept for its whole idle time, but not when its instances have failed', async () => {
    await startWith({ idleMs: 10 * MINUTE_MS });
    await create();
    const { name, agent } = await bringHost();
    await finish(agent);
    await pass(9 * MINUTE_MS);
    expect(manager.canceled).toEqual([]);
    await create();
    await pass();
    await finish(agent);
    const failed = { id: `${name}-sim`, status: 'FAILED', upForMs: null } as const;
    await agent.say({ type: 'instance', instance: instanceReportOf(failed) });
    await pass(MINUTE_MS);
    expect(manager.canceled).toEqual([]);
    await pass(2 * MINUTE_MS);
    expect(manager.canceled).toEqual([name]);
  });

  it('a host that becomes unreachable soon after it joined is not counted as one that comes', async () => {
    await startWith();
    await create();
    const { agent } = await bringHost();
    await agent.disconnect();
    await create();
    await pass(MINUTE_MS);
    expect(manager.live).toHaveLength(2);
    expect(manager.canceled).toEqual([]);
  });

  it('a host that becomes unreachable while an instance has never been up is still counted with it', async () => {
    await startWith({
      instances: [
        {
          instanceClass: { version: '9.1.0', labels: [], runs: undefined },
          count: 2,
          ids: ['sim-1', 'sim-2'],
        },
      ],
    });
    await create();
    await pass();
    const name = onlyJob();
    manager.run(name);
    const second = { id: `${name}-sim-2`, status: 'STARTING', upForMs: null } as const;
    const agent = await join({ id: name, instances: [{ id: `${name}-sim` }, second] });
    await pass();
    await agent.disconnect();
    await create();
    await pass(30_000);
    expect(manager.launches).toHaveLength(1);
    await create();
    await pass();
    expect(manager.launches).toHaveLength(2);
  });

  it('a host whose agent is gone while its job runs is given back, and another one comes', async () => {
    await startWith({ limits: { allocations: 1, queued: 1, hostHoursPerDay: null } });
    await create();
    const { name, agent } = await bringHost();
    await pass(3 * MINUTE_MS);
    await finish(agent);
    await agent.disconnect();
    await pass(MINUTE_MS);
    expect(manager.canceled).toEqual([]);
    await pass(2 * MINUTE_MS);
    expect(manager.canceled).toContain(name);
    await create();
    await pass(MINUTE_MS);
    expect(manager.launches).toHaveLength(2);
  });

  it('a workload manager that knows nothing after a restart is not believed before agents could join again', async () => {
    await startWith();
    const id = await create();
    const { name, agent } = await bringHost();
    const { ref } = agent.latest;
    manager.forget(name);
    await restart();
    await pass(20_000);
    expect(await engine.tasks.get(id)).toMatchObject({ status: 'RUNNING' });
    const instances = [{ id: `${name}-sim` }];
    const again = await join({ id: name, nodeId: agent.nodeId, instances, running: [ref] });
    await pass(2 * MINUTE_MS);
    expect(await again.end(ref, 'OK')).toBe(true);
  });

  it('a fault of a workload manager is forgotten when it answers the next hub', async () => {
    await startWith();
    await create();
    await pass();
    manager.isAway = true;
    await pass();
    expect((await engine.recipeViews.all())[0]).toMatchObject({ state: 'UNREACHABLE' });
    manager.isAway = false;
    await restart();
    await pass();
    expect((await engine.recipeViews.all())[0]).toMatchObject({ state: 'READY', message: null });
  });

  it('a workload manager that answers again is known to, though the disk was full when it did and no host is left', async () => {
    await startWith();
    const id = await create();
    await pass();
    const name = onlyJob();
    manager.isAway = true;
    await pass();
    await engine.tasks.cancel(id, false, ANYBODY);
    manager.end(name);
    const { allocations } = engine.store;
    const { note } = allocations;
    allocations.note = async () => {
      allocations.note = note;
      throw new Error('the disk is full');
    };
    manager.isAway = false;
    await pass();
    expect(await allocationsNow()).toEqual([]);
    await pass();
    expect((await engine.recipeViews.all())[0]).toMatchObject({ state: 'READY', isReachable: true });
  });

  it('a request to give all hosts back is followed once, though the clock is set back after it', async () => {
    await startWith();
    await engine.recipeViews.drain('gears', 'anna');
    await pass();
    engine.runtime.setClock(-3_600_000);
    await create();
    await pass(MINUTE_MS);
    expect(manager.launches).toHaveLength(1);
    expect(await allocationsNow()).toEqual([{ state: 'QUEUED', cause: null }]);
    // A request by the new clock is followed, although the host seems to be from before or after it.
    await engine.recipeViews.drain('gears', 'anna');
    engine.runtime.setClock(3_600_000);
    await pass();
    expect(manager.canceled).toHaveLength(1);
  });

  it('a request to give all hosts back leaves one that is wanted after it, by a look that has not seen it', async () => {
    await startWith();
    const { allocations } = engine.store;
    const { ranSince } = allocations;
    let looks = 0;
    allocations.ranSince = async (sinceMs, nowMs) => {
      looks++;
      if (looks === 2) {
        await engine.recipeViews.drain('gears', 'anna');
        engine.runtime.setClock(1);
      }
      return ranSince(sinceMs, nowMs);
    };
    await create();
    await passUntil(async () => expect(await allocationsNow()).toEqual([{ state: 'QUEUED', cause: null }]));
    await pass();
    expect(manager.canceled).toEqual([]);
    await engine.recipeViews.drain('gears', 'anna');
    await passUntil(() => expect(manager.canceled).toEqual([manager.launches[0]?.name]));
  });

  it('a request to give all hosts back takes one that was wanted before it, by a look that has not seen it', async () => {
    await startWith();
    const { allocations } = engine.store;
    const { add } = allocations;
    allocations.add = async (allocation, term) => {
      allocations.add = add;
      engine.runtime.setClock(1);
      await engine.recipeViews.drain('gears', 'anna');
      return add(allocation, term);
    };
    await create();
    await passUntil(async () => expect(await over()).toMatchObject([{ cause: 'ASKED' }]));
  });

  it('failed starts that seem to be in the future do not keep hosts away', async () => {
    await startWith();
    manager.refusal = 'invalid account';
    await create();
    await pass(MINUTE_MS);
    manager.refusal = null;
    engine.runtime.setClock(-3_600_000);
    await pass();
    expect(manager.live).toHaveLength(1);
  });

  it('an answer with a fraction of a millisecond is understood', async () => {
    await startWith();
    await create();
    await bringHost(20 * MINUTE_MS + 0.25);
    const [allocation] = await engine.store.allocations.open();
    expect(Number.isInteger(allocation?.endsAtMs)).toBe(true);
  });

  it('a draining host whose job is put back returns its task at once', async () => {
    await startWith();
    const id = await create();
    const { name, agent } = await bringHost(20 * MINUTE_MS);
    await pass(16 * MINUTE_MS);
    await agent.disconnect();
    manager.putBack(name);
    await pass(4 * SOON_MS);
    expect(manager.canceled).toEqual([name]);
    expect(await engine.tasks.get(id)).toMatchObject({ status: 'WAITING', losses: 0 });
  });

  it('a stop of the hub does not wait for a command that hangs', async () => {
    await startWith();
    await create();
    await pass();
    manager.jobs = () => new Promise(() => undefined);
    await pass();
    let isStopped = false;
    const stopping = engine.stop().then(() => {
      isStopped = true;
    });
    await engine.runtime.settle();
    await engine.runtime.advance(2000);
    expect(isStopped).toBe(true);
    await stopping;
  });
});

describe('a hub that is killed', () => {
  it('before it has handed in what it wanted hands it in once, with the same name', async () => {
    await startWith();
    manager.isAway = true;
    await create();
    await pass();
    const [wanted] = await engine.store.allocations.open();
    manager.isAway = false;
    await restart();
    await pass(MINUTE_MS);
    expect(manager.launches.map(({ name }) => name)).toEqual([wanted?.id]);
  });

  it('after a submit that it does not know of finds the job', async () => {
    await startWith();
    manager.losesAnswers = true;
    await create();
    await engine.runtime.advance(2000);
    expect(manager.launches).toHaveLength(1);
    manager.isAway = true;
    await restart();
    await pass();
    manager.isAway = false;
    await pass(MINUTE_MS);
    expect(manager.launches).toHaveLength(1);
    expect(await allocationsNow()).toEqual([{ state: 'QUEUED', cause: null }]);
  });

  it('while a host runs goes on with it, and gives it back', async () => {
    await startWith();
    const id = await create();
    const { name, agent } = await bringHost();
    await restart();
    const { ref } = agent.latest;
    const again = await join({
      id: name,
      nodeId: agent.nodeId,
      instances: [{ id: `${name}-sim` }],
      running: [ref],
    });
    expect(await again.end(ref, 'OK')).toBe(true);
    expect(await engine.tasks.get(id)).toMatchObject({ status: 'FINISHED' });
    await pass(2 * MINUTE_MS);
    expect(manager.canceled).toEqual([name]);
    expect(manager.launches).toHaveLength(1);
  });

  it('while it gives a host back does it again', async () => {
    await startWith();
    const id = await create();
    await pass();
    const name = onlyJob();
    await engine.tasks.cancel(id, false, ANYBODY);
    manager.ignoresCancels = true;
    await pass(15_000);
    expect(await allocationsNow()).toEqual([{ state: 'DRAINING', cause: 'NOT_NEEDED' }]);
    await restart();
    manager.ignoresCancels = false;
    await pass(MINUTE_MS);
    expect(manager.live).toEqual([]);
    expect(await over()).toMatchObject([{ id: name, state: 'ENDED' }]);
  });

  it('after an allocation was over settles what it has left', async () => {
    await startWith();
    const id = await create();
    const { name, agent } = await bringHost();
    await agent.disconnect();
    const [joined] = await engine.store.allocations.open();
    const ended = {
      ...joined,
      state: 'ENDED',
      cause: 'ENDED_EARLY',
      endedAtMs: engine.runtime.clock.nowMs(),
    } as const;
    await engine.store.allocations.change(ended as never, 'JOINED', 0);
    await restart();
    manager.forget(name);
    await pass();
    expect(await engine.tasks.get(id)).toMatchObject({ status: 'WAITING', losses: 0 });
    expect(engine.instances.findAgent(name)).toBeUndefined();
  });
});
