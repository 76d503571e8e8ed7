import { requirementKey, requirementOfKey } from '@workbench-hub/shared/domain/classifier';
import { fits, surplusLabels } from '@workbench-hub/shared/domain/matching';
import { describe, expect, it } from 'vitest';
import {
  compareLocations,
  type IdleInstance,
  type IdleInstances,
  type InstanceClass,
} from './idle-instances.js';
import {
  compareWaiting,
  countFitting,
  fittingClasses,
  type Pairing,
  type Permission,
  pair,
  type WaitingTask,
} from './match-tasks.js';

function task(taskId: string, sequence: number, rest: Partial<WaitingTask> & { labels?: string[] } = {}) {
  const { labels = [], ...given } = rest;
  return {
    taskId,
    sequence,
    groupId: 0,
    priorityRank: 2,
    requirementKey: requirementKey({ version: null, labels }),
    ...given,
  };
}

const classes = new Map<string, InstanceClass>();

/** The same object for equal classes. */
function classOf(version: string, labels: string[]): InstanceClass {
  const key = JSON.stringify([version, labels]);
  const instanceClass = classes.get(key) ?? { version, labels };
  classes.set(key, instanceClass);
  return instanceClass;
}

/** Idle instance, with the number of working instances of its agent. */
type Idle = IdleInstance & { readonly busyOnAgent: number };

function idle(id: string, rest: Partial<Idle> & { labels?: string[]; version?: string } = {}): Idle {
  const { labels = [], version = '9.1.0', ...given } = rest;
  return {
    profile: { id, version, revision: '1', labels },
    instanceClass: classOf(version, labels),
    agentId: 'agent-1',
    busyOnAgent: 0,
    idleSinceMs: 0,
    ...given,
  };
}

function grouped<T, K>(items: readonly T[], keyOf: (item: T) => K): [K, T[]][] {
  return [...new Set(items.map(keyOf))].map((key) => [key, items.filter((item) => keyOf(item) === key)]);
}

function byClass(instances: readonly Idle[]): IdleInstances {
  const inOrder = [...instances].sort((a, b) => a.idleSinceMs - b.idleSinceMs);
  return new Map(
    grouped(inOrder, ({ instanceClass }) => instanceClass).map(([instanceClass, ofClass]) => {
      const hosts = grouped(ofClass, ({ agentId }) => agentId).map(([agentId, ofHost], number) => {
        const [{ busyOnAgent: busy, idleSinceMs }] = ofHost as [Idle, ...Idle[]];
        return { agentId, busy, idleSinceMs, instances: ofHost, number };
      });
      return [instanceClass, { count: ofClass.length, hosts: hosts.sort(compareLocations) }];
    }),
  );
}

/** Pairs tasks, of which those with the same requirement are a queue group. */
function pairTasks(
  tasks: readonly WaitingTask[],
  instances: readonly Idle[],
  isAllowed?: Permission['isAllowed'],
): Pairing[] {
  const known = new Set(instances.map(({ instanceClass }) => instanceClass));
  const keys = [...new Set(tasks.map((waiting) => waiting.requirementKey))];
  const groups = keys.map((key) => ({
    fitting: fittingClasses(requirementOfKey(key), known),
    heads: tasks.filter((waiting) => waiting.requirementKey === key).sort(compareWaiting),
  }));
  return pair(groups, byClass(instances), isAllowed && { isAllowed, kindOf: ({ taskId }) => taskId });
}

const named = (pairings: readonly Pairing[]) =>
  pairings.map(({ task: { taskId }, instance }) => `${taskId} on ${instance.profile.id}`);

describe('order of waiting tasks', () => {
  it('is by priority, then by the time of the request', () => {
    const tasks = [
      task('late normal', 4),
      task('low', 1, { priorityRank: 3 }),
      task('early normal', 2),
      task('highest', 9, { priorityRank: 0 }),
    ];
    expect(tasks.sort(compareWaiting).map(({ taskId }) => taskId)).toEqual([
      'highest',
      'early normal',
      'late normal',
      'low',
    ]);
  });

  it('gives the only instance to the task that comes first', () => {
    const tasks = [task('b', 2), task('a', 1), task('urgent', 3, { priorityRank: 1 })];
    expect(named(pairTasks(tasks, [idle('sim-1')]))).toEqual(['urgent on sim-1']);
  });
});

describe('choice among idle instances', () => {
  it('prefers the fewest surplus labels, over all other criteria', () => {
    const instances = [
      idle('many', { labels: ['gears', 'linux', 'gpu'], idleSinceMs: 0 }),
      idle('fewest', { labels: ['GEARS', 'linux'], idleSinceMs: 99, busyOnAgent: 5, agentId: 'agent-2' }),
      idle('none', { labels: ['linux'] }),
    ];
    expect(named(pairTasks([task('a', 1, { labels: ['gears'] })], instances))).toEqual(['a on fewest']);
  });

  it('then prefers the least busy agent', () => {
    const instances = [
      idle('on busy agent', { busyOnAgent: 2, idleSinceMs: 0 }),
      idle('on idle agent', { busyOnAgent: 1, idleSinceMs: 99, agentId: 'agent-2' }),
    ];
    expect(named(pairTasks([task('a', 1)], instances))).toEqual(['a on on idle agent']);
  });

  it('then prefers the longest idle instance', () => {
    const instances = [idle('short', { idleSinceMs: 50 }), idle('long', { idleSinceMs: 10 })];
    expect(named(pairTasks([task('a', 1)], instances))).toEqual(['a on long']);
  });

  it('counts its own pairings as busy instances of the agent', () => {
    const instances = [
      idle('a1', { agentId: 'a', idleSinceMs: 1 }),
      idle('a2', { agentId: 'a', idleSinceMs: 2 }),
      idle('b1', { agentId: 'b', idleSinceMs: 3 }),
    ];
    expect(named(pairTasks([task('first', 1), task('second', 2)], instances))).toEqual([
      'first on a1',
      'second on b1',
    ]);
  });

  it('skips a task that no instance fits, and pairs the next one', () => {
    const version = requirementKey({ version: '8.*', labels: [] });
    const tasks = [
      task('old', 1, { requirementKey: version }),
      task('gpu', 2, { labels: ['gpu'] }),
      task('any', 3),
    ];
    expect(named(pairTasks(tasks, [idle('sim-1')]))).toEqual(['any on sim-1']);
  });

  it('pairs nothing without tasks or without instances', () => {
    expect(pairTasks([], [idle('sim-1')])).toEqual([]);
    expect(pairTasks([task('a', 1)], [])).toEqual([]);
  });
});

it('the idle instances that fit are counted', () => {
  const instances = [
    idle('a', { version: '9.1.0' }),
    idle('b', { version: '8.4' }),
    idle('c', { version: '9.2' }),
    idle('d', { version: '9.2', agentId: 'agent-2' }),
    idle('e', { version: '9.2' }),
  ];
  const count = (version: string | null, labels: string[]) => {
    const known = new Set(instances.map(({ instanceClass }) => instanceClass));
    return countFitting(fittingClasses({ version, labels }, known), byClass(instances));
  };
  expect(count('9.*', [])).toBe(4);
  expect(count(null, ['gpu'])).toBe(0);
});

describe('for any waiting tasks and idle instances', () => {
  /** Small numbers in an order that a seed fixes (a linear congruential generator, Knuth's constants). */
  function chance(seed: number): (below: number) => number {
    let state = BigInt(seed);
    return (below) => {
      state = (state * 6364136223846793005n + 1442695040888963407n) % 2n ** 64n;
      return Number((state >> 33n) % BigInt(below));
    };
  }

  const LABELS = ['gears', 'gpu', 'linux'];
  const someLabels = (below: (n: number) => number) => LABELS.filter(() => below(3) === 0);

  function situation(seed: number) {
    const below = chance(seed);
    const tasks = Array.from({ length: below(7) }, (_, at) =>
      task(`t${at}`, at, {
        priorityRank: below(5),
        requirementKey: requirementKey({
          version: [null, '9.*', '8.?'][below(3)] ?? null,
          labels: someLabels(below),
        }),
      }),
    );
    const busyOf = Array.from({ length: 4 }, () => below(3));
    const instances = Array.from({ length: below(8) }, (_, at) => {
      const agent = below(4);
      return idle(`i${at}`, {
        version: ['9.1', '8.4', '7'][below(3)] ?? '7',
        labels: someLabels(below),
        agentId: `agent-${agent}`,
        busyOnAgent: busyOf[agent] ?? 0,
        idleSinceMs: below(4),
      });
    });
    // In every second situation, some agents may not get some tasks.
    const excluded = new Set(
      Array.from({ length: seed % 2 === 0 ? 6 : 0 }, () => `t${below(7)} agent-${below(4)}`),
    );
    const isAllowed: Permission['isAllowed'] = (task, { agentId }) =>
      !excluded.has(`${task.taskId} ${agentId}`);
    return { tasks, instances, isAllowed };
  }

  const fitting = ({ requirementKey: key }: WaitingTask, { profile }: IdleInstance) =>
    fits(requirementOfKey(key), profile);

  it('each task, best first, gets the best remaining instance, and none is left without when one fits', () => {
    let paired = 0;
    let unpaired = 0;
    for (let seed = 1; seed <= 2000; seed++) {
      const { tasks, instances, isAllowed } = situation(seed);
      const pairings = pairTasks(tasks, instances, isAllowed);
      expect(new Set(pairings.map(({ instance }) => instance)).size, `seed ${seed}`).toBe(pairings.length);

      const free = new Set<Idle>(instances);
      const given = new Map<string, number>();
      for (const waiting of [...tasks].sort(compareWaiting)) {
        const candidates = [...free].filter(
          (instance) => fitting(waiting, instance) && isAllowed(waiting, instance),
        );
        const got = pairings.find(({ task: { taskId } }) => taskId === waiting.taskId)?.instance as
          | Idle
          | undefined;
        if (got === undefined) {
          expect(candidates, `seed ${seed}, ${waiting.taskId}`).toEqual([]);
          unpaired++;
          continue;
        }
        paired++;
        expect(candidates, `seed ${seed}`).toContain(got);
        const place = (instance: Idle) => [
          surplusLabels(requirementOfKey(waiting.requirementKey), instance.profile),
          instance.busyOnAgent + (given.get(instance.agentId) ?? 0),
          instance.idleSinceMs,
        ];
        const best = candidates.map(place).sort(([a1 = 0, a2 = 0, a3 = 0], [b1 = 0, b2 = 0, b3 = 0]) => {
          return a1 - b1 || a2 - b2 || a3 - b3;
        });
        expect(place(got), `seed ${seed}`).toEqual(best[0]);
        given.set(got.agentId, (given.get(got.agentId) ?? 0) + 1);
        free.delete(got);
      }
    }
    // Both occur often enough for the test to be meaningful.
    expect(paired).toBeGreaterThan(1000);
    expect(unpaired).toBeGreaterThan(1000);
  });
});
