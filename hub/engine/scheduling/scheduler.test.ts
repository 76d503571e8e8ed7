/** Reads of the queue by the scheduler; dispatching is tested with the whole engine (test/engine). */
import { requirementKey } from '@workbench-hub/shared/domain/classifier';
import { describe, expect, it } from 'vitest';
import { ANYTHING, groupOf, schedulerOver, waiting } from './fixtures/scheduler-in-memory.js';

describe('the scheduler reads the queue', () => {
  it('when it starts', async () => {
    const { scheduler, looks } = schedulerOver({ waits: [waiting(1)] });
    await scheduler.start(0);
    expect(await looks()).toBe(1);
  });

  it('not while it is paused, even if paused before the start', async () => {
    const { scheduler, looks } = schedulerOver({ waits: [waiting(1)] });
    scheduler.pause();
    await scheduler.start(0);
    expect(await looks()).toBe(0);
    scheduler.resume();
    expect(await looks()).toBe(1);
  });

  it('not after a stop, even if a pause ends later', async () => {
    const { scheduler, looks } = schedulerOver({ waits: [waiting(1)] });
    scheduler.pause();
    await scheduler.start(0);
    await scheduler.stop();
    scheduler.resume();
    expect(await looks()).toBe(0);
  });

  it('not for groups that no known instance fits, until instance classes change', async () => {
    const { scheduler, instances, profile, add, looks, given } = schedulerOver({
      known: false,
      waits: [waiting(1)],
    });
    await scheduler.start(0);
    add(waiting(2, 2, requirementKey({ version: '1', labels: [] })));
    expect(await looks()).toBe(0);
    instances.classes = [profile];
    scheduler.wake();
    expect(await looks()).toBe(0);
    instances.classesVersion++;
    scheduler.wake();
    expect(await looks()).toBe(1);
    expect(await given()).toEqual(['t1']);
  });

  it('not for a new task in an empty pool', async () => {
    const { scheduler, add, looks, given } = schedulerOver();
    await scheduler.start(0);
    add(waiting(1));
    expect(await given()).toEqual(['t1']);
    expect(await looks()).toBe(0);
  });

  it('for a task enqueued before the start, since older ones may wait', async () => {
    const { scheduler, add, given } = schedulerOver({ waits: [waiting(1)] });
    add(waiting(2));
    await scheduler.start(0);
    expect(await given()).toEqual(['t1']);
  });

  it('once for as many tasks as it reads at a time', async () => {
    const tasks = Array.from({ length: 8 }, (_, at) => waiting(at));
    const { scheduler, free, looks, given } = schedulerOver({ waits: tasks });
    await scheduler.start(0);
    expect(await given()).toEqual(['t0']);
    for (let round = 0; round < 3; round++) await free(1);
    expect(await given()).toHaveLength(4);
    expect(await looks()).toBe(1);
    for (let round = 0; round < 4; round++) await free(1);
    expect(await given()).toEqual(tasks.map(({ taskId }) => taskId));
    expect(await looks()).toBe(2);
  });

  it('for as many tasks as instances are idle, however few it reads at a time', async () => {
    const tasks = Array.from({ length: 10 }, (_, at) => waiting(at));
    const { scheduler, given } = schedulerOver({ waits: tasks, idle: 6 });
    await scheduler.start(0);
    expect(await given()).toEqual(['t0', 't1', 't2', 't3', 't4', 't5']);
  });

  it('beyond tasks that are excluded from all idle instances, however few it reads at a time', async () => {
    const tasks = Array.from({ length: 7 }, (_, at) => waiting(at));
    const excluded = ['t0', 't1', 't2', 't3', 't4'];
    const { scheduler, given } = schedulerOver({ waits: tasks, excluded });
    await scheduler.start(0);
    expect(await given()).toEqual(['t5']);
  });

  describe('beyond tasks for which the hosts have no time', () => {
    const limited = (sequence: number, timeLimitS: number) => ({ ...waiting(sequence), timeLimitS });
    const tooLong = (count: number) => Array.from({ length: count }, (_, at) => limited(at, 3600));

    it('however many wait before one that fits, and no further', async () => {
      const waits = [
        ...tooLong(1500),
        limited(1500, 60),
        ...tooLong(9000).map((task) => ({
          ...task,
          taskId: `l${task.taskId}`,
          sequence: task.sequence + 2000,
        })),
      ];
      const { scheduler, looks, given } = schedulerOver({ waits, hostTimeS: 600 });
      await scheduler.start(0);
      expect(await given()).toEqual(['t1500']);
      expect(await looks()).toBe(4);
    });

    it('also for instances that are left when others have got tasks', async () => {
      const waits = [limited(0, 60), ...tooLong(300).slice(1), limited(300, 60)];
      const { scheduler, given } = schedulerOver({ waits, idle: 2, hostTimeS: 600 });
      await scheduler.start(0);
      expect(await given()).toEqual(['t0', 't300']);
    });

    it('among the first 10,000, reading them once, and asks for the hosts of alike ones once in a round', async () => {
      const { scheduler, setup, free, looks, given } = schedulerOver({
        waits: [...tooLong(25_000), limited(25_000, 60)],
        hostTimeS: 600,
      });
      await scheduler.start(0);
      expect(await given()).toEqual([]);
      const read = await looks();
      expect(read).toBeLessThan(10);
      const asksBefore = setup.asksOfEnds;
      await free(1);
      expect(await looks()).toBe(read);
      expect(setup.asksOfEnds).toBe(asksBefore + 1);
    });
  });

  it('once when a better task was enqueued during the read', async () => {
    const { scheduler, setup, add, looks, given } = schedulerOver({ waits: [waiting(1)] });
    setup.onLook = () => {
      setup.onLook = () => {};
      add(waiting(2, 0));
    };
    await scheduler.start(0);
    expect(await given()).toEqual(['t2']);
    expect(await looks()).toBe(1);
  });
});

it('the scheduler reads the groups when it is asked for them before its first round', async () => {
  const { scheduler, instances } = schedulerOver({ idle: 0, waits: [waiting(1)] });
  expect(await scheduler.groupsFor(instances.classes)).toEqual([groupOf(ANYTHING)]);
});

it('the scheduler knows the groups that an instance fits without reading the queue', async () => {
  const fitting = requirementKey({ version: '?', labels: [] });
  const waits = [
    waiting(1),
    waiting(2, 2, fitting),
    waiting(3, 2, requirementKey({ version: '2', labels: [] })),
  ];
  const { scheduler, instances, profile, looks } = schedulerOver({ idle: 0, waits });
  await scheduler.start(0);
  const groups = await scheduler.groupsFor(instances.classes);
  expect(groups.sort()).toEqual([ANYTHING, fitting].map(groupOf).sort());
  expect(await scheduler.groupsFor([])).toEqual([]);
  expect(await scheduler.groupsFor([{ ...profile, version: '2' }])).toEqual([]);
  expect(await looks()).toBe(0);
});

describe('the best task is dispatched first', () => {
  const backlog = () => Array.from({ length: 20 }, (_, at) => waiting(at));

  it('even if it was enqueued after the first ones were read', async () => {
    const { scheduler, add, free, looks, given } = schedulerOver({ waits: backlog(), idle: 1 });
    await scheduler.start(0);
    expect(await given()).toEqual(['t0']);
    add(waiting(30, 1));
    add(waiting(31, 0));
    await free(1);
    await free(1);
    await free(1);
    expect(await given()).toEqual(['t0', 't31', 't30', 't1']);
    expect(await looks()).toBe(1);
  });

  it('even if more better ones were enqueued than are kept', async () => {
    const { scheduler, add, free, given } = schedulerOver({ waits: backlog(), idle: 1 });
    await scheduler.start(0);
    await given();
    for (let sequence = 30; sequence < 50; sequence++) add(waiting(sequence, 1));
    for (let round = 0; round < 21; round++) await free(1);
    const better = Array.from({ length: 20 }, (_, at) => `t${30 + at}`);
    expect(await given()).toEqual(['t0', ...better, 't1']);
  });

  it('even if it was requeued', async () => {
    const { scheduler, tell, stored, free, given } = schedulerOver({ waits: backlog().slice(5), idle: 1 });
    await scheduler.start(0);
    expect(await given()).toEqual(['t5']);
    stored.push(waiting(1));
    tell({ kind: 'RETURNED', taskId: 't1' });
    await free(2);
    expect(await given()).toEqual(['t5', 't1', 't6']);
  });

  it('even if no signal told of it, after a resync', async () => {
    const { scheduler, tell, stored, free, given } = schedulerOver({ waits: backlog().slice(5), idle: 1 });
    await scheduler.start(0);
    expect(await given()).toEqual(['t5']);
    stored.push(waiting(1));
    await free(1);
    expect(await given()).toEqual(['t5', 't6']);
    tell({ kind: 'RESYNC' });
    await free(1);
    expect(await given()).toEqual(['t5', 't6', 't1']);
  });

  it('without a list of those that came back while it did not schedule', async () => {
    const { scheduler, tell, stored, lookedUp, profile, given } = schedulerOver({ waits: [] });
    await scheduler.groupsFor([]);
    for (const number of [1, 2]) {
      stored.push(waiting(number));
      tell({ kind: 'RETURNED', taskId: `t${number}` });
    }
    expect(await scheduler.groupsFor([profile])).toHaveLength(1);
    await scheduler.start(0);
    expect(await given()).toEqual(['t1']);
    expect(lookedUp).toEqual([]);
  });

  it('and the next one if it was canceled', async () => {
    const { scheduler, tell, stored, asked, free, given } = schedulerOver({ waits: backlog() });
    await scheduler.start(0);
    expect(await given()).toEqual(['t0']);
    stored.shift();
    tell({ kind: 'WITHDRAWN', taskId: 't1', from: { requirement: { version: null, labels: [] } } });
    await free(1);
    expect(await given()).toEqual(['t0', 't2']);
    expect(asked).not.toContain('t1');
  });

  it('and the next one if it can no longer be claimed', async () => {
    const { scheduler, stored, free, given } = schedulerOver({ waits: backlog() });
    await scheduler.start(0);
    expect(await given()).toEqual(['t0']);
    stored.shift();
    await free(1);
    expect(await given()).toEqual(['t0', 't2']);
  });

  it('even if the store failed at its claim', async () => {
    const { scheduler, setup, free, given } = schedulerOver({ waits: backlog() });
    setup.isFaulty = true;
    await scheduler.start(0);
    expect(await given()).toEqual([]);
    setup.isFaulty = false;
    await free(1);
    expect(await given()).toEqual(['t0']);
  });
});

describe('a round', () => {
  it('is retried some time after the store failed', async () => {
    const { scheduler, setup, later, given } = schedulerOver({ waits: [waiting(1)] });
    setup.isFaulty = true;
    await scheduler.start(0);
    expect(await given()).toEqual([]);
    setup.isFaulty = false;
    expect(later).toHaveLength(1);
    later[0]?.();
    expect(await given()).toEqual(['t1']);
  });

  it('is followed by another one for changes near its end', async () => {
    for (let microtasks = 0; microtasks < 10; microtasks++) {
      const { scheduler, setup, given } = schedulerOver({ waits: [waiting(1)], idle: 0 });
      await scheduler.start(0);
      for (let at = 0; at < microtasks; at++) await Promise.resolve();
      setup.idle = 1;
      scheduler.wake();
      expect(await given(), `${microtasks} microtasks`).toEqual(['t1']);
    }
  });

  it('in progress is awaited by a stop', async () => {
    const { scheduler, setup, given } = schedulerOver({ waits: [waiting(1)] });
    let claim!: () => void;
    setup.claimed = new Promise((resolve) => {
      claim = resolve;
    });
    await scheduler.start(0);
    expect(await given()).toEqual([]);
    let isStopped = false;
    const stopping = scheduler.stop().then(() => {
      isStopped = true;
    });
    expect(await given()).toEqual([]);
    expect(isStopped).toBe(false);
    claim();
    await stopping;
    expect(await given()).toEqual(['t1']);
  });

  it('leaves the instance idle and the task waiting if the agent disconnects before the assignment', async () => {
    const { scheduler, setup, released, requeued, given } = schedulerOver({ waits: [waiting(1)] });
    setup.isGone = true;
    await scheduler.start(0);
    expect(await given()).toEqual([]);
    expect({ released, requeued }).toEqual({ released: ['t1'], requeued: ['t1'] });
  });
});
