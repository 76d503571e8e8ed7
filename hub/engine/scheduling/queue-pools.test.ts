import { requirementKey } from '@workbench-hub/shared/domain/classifier';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import { describe, expect, it } from 'vitest';
import { compareWaiting, type WaitingTask } from '../../core/match-tasks.js';
import type { TaskQueue } from '../../core/ports/task-queue.js';
import { QueuePools } from './queue-pools.js';
import { readHeads } from './read-heads.js';

const LINUX = { version: '9.1', labels: ['linux'] };
const GPU = { version: '9.2', labels: ['linux', 'GPU'] };
const { timers } = systemRuntime;

/** Each requirement is a group, in which one task waits. */
function tasksOf(keys: readonly string[]): WaitingTask[] {
  return keys.map((key, at) => ({
    taskId: `t${at}`,
    groupId: at + 1,
    requirementKey: key,
    priorityRank: 2,
    sequence: at,
  }));
}

/** The part of a queue that reads, in memory, and what it has been asked. */
function queueOf(stored: WaitingTask[]) {
  const asked = { maxGroupsAtOnce: 0, tasksRead: 0, keysRead: 0 };
  const queue: Pick<TaskQueue, 'waitingGroups' | 'heads' | 'waiting'> = {
    waitingGroups: async ({ afterGroupId, limit, maxKeyBytes }) => {
      const later = stored.filter(({ groupId }) => groupId > afterGroupId).slice(0, limit);
      const groups = later.filter((task) => task.requirementKey.length <= maxKeyBytes);
      asked.keysRead += groups.length;
      return { groups, nextAfterGroupId: later.length < limit ? null : (later.at(-1)?.groupId ?? null) };
    },
    heads: async (groups) => {
      asked.maxGroupsAtOnce = Math.max(asked.maxGroupsAtOnce, groups.length);
      const limits = new Map(groups.map(({ groupId, limit }) => [groupId, limit]));
      const counts = new Map<number, number>();
      const heads = [...stored].sort(compareWaiting).filter(({ groupId }) => {
        const count = (counts.get(groupId) ?? 0) + 1;
        counts.set(groupId, count);
        return count <= (limits.get(groupId) ?? 0);
      });
      asked.tasksRead += heads.length;
      return heads;
    },
    waiting: async (taskIds) => stored.filter(({ taskId }) => taskIds.includes(taskId)),
  };
  return { queue, asked };
}

const idle = new Map(
  [LINUX, GPU].map((instanceClass, number) => {
    const profile = { ...instanceClass, id: `sim-${number}`, revision: '' };
    const instances = [{ profile, instanceClass, agentId: 'a', idleSinceMs: 0 }];
    const hosts = [{ agentId: 'a', busy: 0, idleSinceMs: 0, number, instances }];
    return [instanceClass, { count: 1, hosts }];
  }),
);

function poolsOver(queue: Pick<TaskQueue, 'waitingGroups' | 'heads' | 'waiting'>, classes = [LINUX, GPU]) {
  return new QueuePools({ queue, instances: { classes, classesVersion: 1 }, timers });
}

describe('many distinct requirements', () => {
  it('that no known instance fits are not kept, and their long keys are not read', async () => {
    const labels = Array.from({ length: 200 }, (_, at) => `${at}`.padEnd(200, 'x'));
    const keys = Array.from({ length: 3000 }, (_, at) => requirementKey({ version: `${at}`, labels }));
    const fitting = requirementKey({ version: null, labels: ['gpu'] });
    const { queue, asked } = queueOf(tasksOf([...keys, fitting]));
    const pools = poolsOver(queue);
    await pools.refresh();
    expect(asked.keysRead).toBe(1);
    expect(pools.groupsFor([LINUX, GPU])).toEqual([3001]);
    expect(pools.groupsFor([LINUX])).toEqual([]);
    const late = { taskId: 'late', groupId: 9000, priorityRank: 0, sequence: 9000 };
    expect(pools.add({ ...late, requirementKey: keys[0] as string })).toBe(false);
    expect(pools.add({ ...late, requirementKey: fitting })).toBe(true);
  });

  it('that the same classes fit form one pool, with a bounded number of tasks in memory', async () => {
    const versions = Array.from(
      { length: 30_000 },
      (_, at) => `9${'*'.repeat(1 + (at % 150))}?${'*'.repeat(at / 150)}`,
    );
    const { queue, asked } = queueOf(
      tasksOf(versions.map((version) => requirementKey({ version, labels: [] }))),
    );
    const pools = poolsOver(queue);
    await pools.refresh();
    const needed = pools.neededFor(idle, 0);
    expect(needed).toHaveLength(1);
    for (const need of needed) await pools.read(need);
    const known = needed[0]?.pool.heads.known ?? [];
    expect(known.map(({ sequence }) => sequence)).toEqual(Array.from({ length: 10_000 }, (_, at) => at));
    expect(asked.tasksRead).toBeLessThanOrEqual(30_000 + 10_000);
    expect(asked.maxGroupsAtOnce).toBeLessThanOrEqual(500);
  });

  it('are forgotten when no task waits any longer', async () => {
    const { queue } = queueOf([]);
    const pools = poolsOver(queue);
    await pools.refresh();
    const versions = Array.from({ length: 5000 }, (_, at) => `9${'*'.repeat(at + 1)}`);
    const tasks = tasksOf(versions.map((version) => requirementKey({ version, labels: [] })));
    const rest = tasks.slice(1);
    for (const task of tasks) pools.add(task);
    for (const task of rest) pools.removeFrom(task);
    expect(pools.neededFor(idle, 0)).toHaveLength(1);
    expect(pools.groupsFor([LINUX])).toEqual([1]);
    pools.remove('t0', { version: '9*', labels: [] });
    expect(pools.neededFor(idle, 0)).toEqual([]);
    expect(pools.groupsFor([LINUX])).toEqual([]);
  });

  it('are read together, with the first tasks in order, whatever changes meanwhile', async () => {
    const stored = tasksOf(
      Array.from({ length: 1500 }, (_, at) =>
        requirementKey({ version: `9${'*'.repeat(at + 1)}`, labels: [] }),
      ),
    );
    const late = { ...(stored.pop() as WaitingTask), priorityRank: 0 };
    const { queue } = queueOf(stored);
    const pools = poolsOver(queue);
    await pools.refresh();
    const [need] = pools.neededFor(idle, 0);
    if (!need) throw new Error('nothing is needed');
    const reading = pools.read(need);
    pools.add(late);
    pools.remove('t0', { version: '9*', labels: [] });
    await reading;
    expect(need.pool.heads.known.slice(0, 3).map(({ taskId }) => taskId)).toEqual([late.taskId, 't1', 't2']);
  });
});

describe('the first tasks of many groups', () => {
  it('are the same as by a sort of all tasks, with about as many reads as there are groups and wanted tasks', async () => {
    for (let seed = 1; seed <= 200; seed++) {
      let state = seed;
      const below = (limit: number) => {
        state = (state * 48_271) % 2_147_483_647;
        return state % limit;
      };
      const groups = 1 + below(20);
      const stored = Array.from({ length: below(300) }, (_, at) => ({
        taskId: `t${at}`,
        groupId: 1 + below(1 + below(groups)),
        requirementKey: '',
        priorityRank: below(3),
        sequence: at,
      }));
      const wanted = 1 + below(40);
      const { queue, asked } = queueOf(stored);
      const groupIds = Array.from({ length: groups }, (_, at) => at + 1);
      const { heads, isComplete, emptyGroupIds } = await readHeads(queue, timers, groupIds, wanted);
      const sorted = [...stored].sort(compareWaiting);
      expect(heads, `seed ${seed}`).toEqual(sorted.slice(0, wanted));
      if (isComplete) expect(stored.length).toBeLessThanOrEqual(wanted);
      const inUse = new Set(stored.map(({ groupId }) => groupId));
      expect(emptyGroupIds).toEqual(groupIds.filter((groupId) => !inUse.has(groupId)));
      expect(asked.tasksRead).toBeLessThanOrEqual(groups + 8 * wanted);
    }
  });
});
