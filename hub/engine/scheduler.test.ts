/** Reads of the queue by the scheduler; dispatching is tested with the whole engine (test/engine). */
import { setImmediate as turn } from 'node:timers/promises';
import { requirementKey } from '@workbench-hub/shared/domain/classifier';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import { describe, expect, it } from 'vitest';
import { compareWaiting, type WaitingTask } from '../core/match-tasks.js';
import type { Claim, ClaimedTask, TaskQueue } from '../core/ports/task-queue.js';
import { Scheduler } from './scheduler.js';

const ANYTHING = requirementKey({ version: null, labels: [] });

const groupKeys: string[] = [];

/** The same for the same requirement. */
function groupOf(key: string): number {
  if (!groupKeys.includes(key)) groupKeys.push(key);
  return groupKeys.indexOf(key) + 1;
}

function waiting(sequence: number, priorityRank = 2, key = ANYTHING): WaitingTask {
  return { taskId: `t${sequence}`, groupId: groupOf(key), requirementKey: key, priorityRank, sequence };
}

/** An event of a task that requires nothing. */
function of(id: string): never {
  return { task: { id, requirement: { version: null, labels: [] } } } as never;
}

/** A scheduler over a queue in memory and as many idle instances as `setup.idle` says, which no task makes busy. */
function schedulerOver({
  known = true,
  idle = 1,
  waits = [] as WaitingTask[],
  excluded = [] as string[],
} = {}) {
  const setup = { idle, isFaulty: false, isGone: false, onLook: () => {}, claimed: Promise.resolve() };
  /** Pending timers. */
  const later: (() => void)[] = [];
  const released: string[] = [];
  const requeued: string[] = [];
  let looks = 0;
  const given: string[] = [];
  const asked: string[] = [];
  const stored = [...waits];
  const profile = { id: 'sim-1', version: '1', revision: '', labels: [] };
  const instances = { kindsVersion: 1, classes: known ? [profile] : [] };
  const instance = { profile, instanceClass: profile, agentId: 'a', idleSinceMs: 0 };
  const queue: Partial<TaskQueue> = {
    waitingGroups: async ({ afterGroupId, limit }) => {
      const groupIds = [...new Set(stored.map(({ groupId }) => groupId))].sort((a, b) => a - b);
      const page = groupIds.filter((groupId) => groupId > afterGroupId).slice(0, limit);
      return {
        groups: page.map((groupId) => ({ groupId, requirementKey: groupKeys[groupId - 1] as string })),
        nextAfterGroupId: page.length < limit ? null : (page.at(-1) ?? null),
      };
    },
    waiting: async (taskIds) => stored.filter(({ taskId }) => taskIds.includes(taskId)),
    heads: async (groups) => {
      looks++;
      setup.onLook();
      return groups.flatMap((group) =>
        stored
          .filter((task) => task.groupId === group.groupId)
          .sort(compareWaiting)
          .slice(0, group.limit),
      );
    },
  };
  const transitions = {
    claim: async (claims: readonly Claim[]) => {
      if (setup.isFaulty) throw new Error('the disk is full');
      await setup.claimed;
      return claims.flatMap(({ taskId }) => {
        asked.push(taskId);
        const at = stored.findIndex((task) => task.taskId === taskId);
        if (at < 0) return [];
        stored.splice(at, 1);
        setup.idle--;
        return [{ ref: { taskId, attempt: 1, instanceId: 'sim-1' }, agentId: 'a' } as ClaimedTask];
      });
    },
    started: () => {},
    dispatchFailed: async ({ ref }: ClaimedTask) => void requeued.push(ref.taskId),
  };
  const scheduler = new Scheduler({
    queue: queue as TaskQueue,
    transitions,
    sessions: {
      assign: ({ ref }) => {
        if (setup.isGone) return false;
        given.push(ref.taskId);
        return true;
      },
    },
    instances: {
      get classesVersion() {
        return instances.kindsVersion;
      },
      get classes() {
        return instances.classes;
      },
      get idle() {
        const instances = Array.from({ length: setup.idle }, () => ({ ...instance }));
        const ofAgent = { agentId: 'a', busy: 0, idleSinceMs: 0, number: 1, instances };
        const ofKind = { count: setup.idle, agents: [ofAgent] };
        return new Map(setup.idle > 0 ? [[profile, ofKind]] : []);
      },
      reserve: () => true,
      release: (_agentId, { taskId }) => void released.push(taskId),
    },
    exclusions: {
      count: excluded.length,
      isAllowed: (taskId) => !excluded.includes(taskId),
    },
    runtime: {
      ...systemRuntime,
      timers: {
        ...systemRuntime.timers,
        after: (_delayMs, action) => {
          later.push(action);
          return { cancel: () => {} };
        },
      },
    },
    log: { debug: () => {}, info: () => {}, error: () => {} } as unknown as Logger,
    headsPerPool: 4,
  });
  const settled = async () => {
    for (let turns = 0; turns < 10; turns++) await turn();
  };
  return {
    scheduler,
    instances,
    profile,
    setup,
    later,
    released,
    requeued,
    stored,
    asked,
    /** Puts a task into the queue, and says so. */
    add: (task: WaitingTask) => {
      stored.push(task);
      scheduler.onTask.ENQUEUED?.({ type: 'ENQUEUED', waiting: [task] });
    },
    given: async () => {
      await settled();
      return given;
    },
    /** Makes so many instances idle. */
    free: async (count: number) => {
      setup.idle = count;
      scheduler.wake();
      await settled();
    },
    looks: async () => {
      await settled();
      return looks;
    },
  };
}

describe('the scheduler looks at the queue', () => {
  it('when it starts', async () => {
    const { scheduler, looks } = schedulerOver({ waits: [waiting(1)] });
    await scheduler.start();
    expect(await looks()).toBe(1);
  });

  it('not while it is paused, even when the pause came before the start', async () => {
    const { scheduler, looks } = schedulerOver({ waits: [waiting(1)] });
    scheduler.pause();
    await scheduler.start();
    expect(await looks()).toBe(0);
    scheduler.resume();
    expect(await looks()).toBe(1);
  });

  it('not any more when it was stopped, even when a pause ends after that', async () => {
    const { scheduler, looks } = schedulerOver({ waits: [waiting(1)] });
    scheduler.pause();
    await scheduler.start();
    await scheduler.stop();
    scheduler.resume();
    expect(await looks()).toBe(0);
  });

  it('not for groups that no known instance fits, until classes of instances have changed', async () => {
    const { scheduler, instances, profile, add, looks, given } = schedulerOver({
      known: false,
      waits: [waiting(1)],
    });
    await scheduler.start();
    add(waiting(2, 2, requirementKey({ version: '1', labels: [] })));
    expect(await looks()).toBe(0);
    instances.classes = [profile];
    scheduler.wake();
    expect(await looks()).toBe(0);
    instances.kindsVersion++;
    scheduler.wake();
    expect(await looks()).toBe(1);
    expect(await given()).toEqual(['t1']);
  });

  it('not for a task that is announced where nothing waits', async () => {
    const { scheduler, add, looks, given } = schedulerOver();
    await scheduler.start();
    add(waiting(1));
    expect(await given()).toEqual(['t1']);
    expect(await looks()).toBe(0);
  });

  it('when a task was announced before the start, since older ones may wait', async () => {
    const { scheduler, add, given } = schedulerOver({ waits: [waiting(1)] });
    add(waiting(2));
    await scheduler.start();
    expect(await given()).toEqual(['t1']);
  });

  it('once for as many tasks as it reads at a time', async () => {
    const tasks = Array.from({ length: 8 }, (_, at) => waiting(at));
    const { scheduler, free, looks, given } = schedulerOver({ waits: tasks });
    await scheduler.start();
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
    await scheduler.start();
    expect(await given()).toEqual(['t0', 't1', 't2', 't3', 't4', 't5']);
  });

  it('beyond those that no idle instance may be given, however few it reads at a time', async () => {
    const tasks = Array.from({ length: 7 }, (_, at) => waiting(at));
    const excluded = ['t0', 't1', 't2', 't3', 't4'];
    const { scheduler, given } = schedulerOver({ waits: tasks, excluded });
    await scheduler.start();
    expect(await given()).toEqual(['t5']);
  });

  it('once when a better task was announced while it looked', async () => {
    const { scheduler, setup, add, looks, given } = schedulerOver({ waits: [waiting(1)] });
    setup.onLook = () => {
      setup.onLook = () => {};
      add(waiting(2, 0));
    };
    await scheduler.start();
    expect(await given()).toEqual(['t2']);
    expect(await looks()).toBe(1);
  });
});

it('the scheduler tells which groups an instance fits without a look at the queue', async () => {
  const fitting = requirementKey({ version: '?', labels: [] });
  const waits = [
    waiting(1),
    waiting(2, 2, fitting),
    waiting(3, 2, requirementKey({ version: '2', labels: [] })),
  ];
  const { scheduler, instances, profile, looks } = schedulerOver({ idle: 0, waits });
  await scheduler.start();
  const groups = await scheduler.groupsFor(instances.classes);
  expect(groups.sort()).toEqual([ANYTHING, fitting].map(groupOf).sort());
  expect(await scheduler.groupsFor([])).toEqual([]);
  expect(await scheduler.groupsFor([{ ...profile, version: '2' }])).toEqual([]);
  expect(await looks()).toBe(0);
});

describe('the best task is dispatched first', () => {
  const backlog = () => Array.from({ length: 20 }, (_, at) => waiting(at));

  it('also when it came after the first ones were read', async () => {
    const { scheduler, add, free, looks, given } = schedulerOver({ waits: backlog(), idle: 1 });
    await scheduler.start();
    expect(await given()).toEqual(['t0']);
    add(waiting(30, 1));
    add(waiting(31, 0));
    await free(1);
    await free(1);
    await free(1);
    expect(await given()).toEqual(['t0', 't31', 't30', 't1']);
    expect(await looks()).toBe(1);
  });

  it('also when many better ones came than are kept', async () => {
    const { scheduler, add, free, given } = schedulerOver({ waits: backlog(), idle: 1 });
    await scheduler.start();
    await given();
    for (let sequence = 30; sequence < 50; sequence++) add(waiting(sequence, 1));
    for (let round = 0; round < 21; round++) await free(1);
    const better = Array.from({ length: 20 }, (_, at) => `t${30 + at}`);
    expect(await given()).toEqual(['t0', ...better, 't1']);
  });

  it('also when it waits again', async () => {
    const { scheduler, stored, free, given } = schedulerOver({ waits: backlog().slice(5), idle: 1 });
    await scheduler.start();
    expect(await given()).toEqual(['t5']);
    stored.push(waiting(1));
    scheduler.onTask.REQUEUED?.(of('t1'));
    await free(2);
    expect(await given()).toEqual(['t5', 't1', 't6']);
  });

  it('and the next one when it was withdrawn', async () => {
    const { scheduler, stored, asked, free, given } = schedulerOver({ waits: backlog() });
    await scheduler.start();
    expect(await given()).toEqual(['t0']);
    stored.shift();
    scheduler.onTask.CANCELED?.(of('t1'));
    await free(1);
    expect(await given()).toEqual(['t0', 't2']);
    expect(asked).not.toContain('t1');
  });

  it('and the next one when it cannot be claimed any more', async () => {
    const { scheduler, stored, free, given } = schedulerOver({ waits: backlog() });
    await scheduler.start();
    expect(await given()).toEqual(['t0']);
    stored.shift();
    await free(1);
    expect(await given()).toEqual(['t0', 't2']);
  });

  it('also when the store failed as it was to be dispatched', async () => {
    const { scheduler, setup, free, given } = schedulerOver({ waits: backlog() });
    setup.isFaulty = true;
    await scheduler.start();
    expect(await given()).toEqual([]);
    setup.isFaulty = false;
    await free(1);
    expect(await given()).toEqual(['t0']);
  });
});

describe('a round', () => {
  it('is tried again a while after the store was at fault', async () => {
    const { scheduler, setup, later, given } = schedulerOver({ waits: [waiting(1)] });
    setup.isFaulty = true;
    await scheduler.start();
    expect(await given()).toEqual([]);
    setup.isFaulty = false;
    expect(later).toHaveLength(1);
    later[0]?.();
    expect(await given()).toEqual(['t1']);
  });

  it('is followed by another one for changes at the time of its end', async () => {
    for (let microtasks = 0; microtasks < 10; microtasks++) {
      const { scheduler, setup, given } = schedulerOver({ waits: [waiting(1)], idle: 0 });
      await scheduler.start();
      for (let at = 0; at < microtasks; at++) await Promise.resolve();
      setup.idle = 1;
      scheduler.wake();
      expect(await given(), `${microtasks} microtasks`).toEqual(['t1']);
    }
  });

  it('that is under way is waited for by a stop', async () => {
    const { scheduler, setup, given } = schedulerOver({ waits: [waiting(1)] });
    let claim!: () => void;
    setup.claimed = new Promise((resolve) => {
      claim = resolve;
    });
    await scheduler.start();
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

  it('leaves the instance free, and the task waiting, when the agent is gone as it is handed over', async () => {
    const { scheduler, setup, released, requeued, given } = schedulerOver({ waits: [waiting(1)] });
    setup.isGone = true;
    await scheduler.start();
    expect(await given()).toEqual([]);
    expect({ released, requeued }).toEqual({ released: ['t1'], requeued: ['t1'] });
  });
});
