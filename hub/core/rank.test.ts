import { requirementKey, requirementOfKey } from '@workbench-hub/shared/domain/classifier';
import { fits, surplusLabels } from '@workbench-hub/shared/domain/matching';
import { describe, expect, it } from 'vitest';
import {
  compareWaiting,
  countFitting,
  type IdleInstance,
  type IdleInstances,
  type InstanceKind,
  type Pairing,
  pair,
  suitableKinds,
  type WaitingTask,
} from './rank.js';

function task(taskId: string, sequence: number, rest: Partial<WaitingTask> & { labels?: string[] } = {}) {
  const { labels = [], ...given } = rest;
  return {
    taskId,
    sequence,
    priorityRank: 2,
    requirementKey: requirementKey({ version: null, labels }),
    ...given,
  };
}

const kinds = new Map<string, InstanceKind>();

/** The same object for those that are alike. */
function kindOf(version: string, labels: string[]): InstanceKind {
  const key = JSON.stringify([version, labels]);
  const kind = kinds.get(key) ?? { version, labels };
  kinds.set(key, kind);
  return kind;
}

function idle(id: string, rest: Partial<IdleInstance> & { labels?: string[]; version?: string } = {}) {
  const { labels = [], version = '9.1.0', ...given } = rest;
  return {
    profile: { id, version, revision: '1', labels },
    kind: kindOf(version, labels),
    agentId: 'agent-1',
    busyOnAgent: 0,
    idleSinceMs: 0,
    ...given,
  };
}

function byKind(instances: readonly IdleInstance[]): IdleInstances {
  const idle = new Map<InstanceKind, { count: number; byAgent: Map<string, IdleInstance[]> }>();
  for (const instance of [...instances].sort((a, b) => a.idleSinceMs - b.idleSinceMs)) {
    const ofKind = idle.get(instance.kind) ?? { count: 0, byAgent: new Map<string, IdleInstance[]>() };
    idle.set(instance.kind, ofKind);
    ofKind.count++;
    ofKind.byAgent.set(instance.agentId, [...(ofKind.byAgent.get(instance.agentId) ?? []), instance]);
  }
  return idle;
}

/** Those of the same requirement are a group. */
function pairTasks(tasks: readonly WaitingTask[], instances: readonly IdleInstance[]): Pairing[] {
  const known = new Set(instances.map(({ kind }) => kind));
  const keys = [...new Set(tasks.map((waiting) => waiting.requirementKey))];
  const groups = keys.map((key) => ({
    suitable: suitableKinds(requirementOfKey(key), known),
    heads: tasks.filter((waiting) => waiting.requirementKey === key).sort(compareWaiting),
  }));
  return pair(groups, byKind(instances));
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
  it('takes the one with the fewest labels that the task did not ask for, whatever else speaks for another', () => {
    const instances = [
      idle('many', { labels: ['gears', 'linux', 'gpu'], idleSinceMs: 0 }),
      idle('fewest', { labels: ['GEARS', 'linux'], idleSinceMs: 99, busyOnAgent: 5, agentId: 'agent-2' }),
      idle('none', { labels: ['linux'] }),
    ];
    expect(named(pairTasks([task('a', 1, { labels: ['gears'] })], instances))).toEqual(['a on fewest']);
  });

  it('then takes the one on the least busy agent', () => {
    const instances = [
      idle('on busy agent', { busyOnAgent: 2, idleSinceMs: 0 }),
      idle('on idle agent', { busyOnAgent: 1, idleSinceMs: 99, agentId: 'agent-2' }),
    ];
    expect(named(pairTasks([task('a', 1)], instances))).toEqual(['a on on idle agent']);
  });

  it('then takes the one that has been idle for longest', () => {
    const instances = [idle('short', { idleSinceMs: 50 }), idle('long', { idleSinceMs: 10 })];
    expect(named(pairTasks([task('a', 1)], instances))).toEqual(['a on long']);
  });

  it('counts what it gives out itself as work of the agent', () => {
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

  it('leaves a task alone whose version or labels no instance has, and gives the instance to the next', () => {
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

it('counts the idle instances that fit', () => {
  const instances = [
    idle('a', { version: '9.1.0' }),
    idle('b', { version: '8.4' }),
    idle('c', { version: '9.2' }),
  ];
  const count = (version: string | null, labels: string[]) => {
    const known = new Set(instances.map(({ kind }) => kind));
    return countFitting(suitableKinds({ version, labels }, known), byKind(instances));
  };
  expect(count('9.*', [])).toBe(2);
  expect(count(null, ['gpu'])).toBe(0);
});

describe('whatever waits and whatever is idle', () => {
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
    const instances = Array.from({ length: below(6) }, (_, at) =>
      idle(`i${at}`, {
        version: ['9.1', '8.4', '7'][below(3)] ?? '7',
        labels: someLabels(below),
        agentId: `agent-${below(2)}`,
        busyOnAgent: 0,
        idleSinceMs: below(4),
      }),
    );
    return { tasks, instances };
  }

  const fitting = ({ requirementKey: key }: WaitingTask, { profile }: IdleInstance) =>
    fits(requirementOfKey(key), profile);

  it('no task is passed over by an instance that fits it, and none gets more surplus labels than it had to', () => {
    let paired = 0;
    let unpaired = 0;
    for (let seed = 1; seed <= 2000; seed++) {
      const { tasks, instances } = situation(seed);
      const pairings = pairTasks(tasks, instances);
      expect(new Set(pairings.map(({ instance }) => instance)).size, `seed ${seed}`).toBe(pairings.length);

      const free = new Set<IdleInstance>(instances);
      for (const waiting of [...tasks].sort(compareWaiting)) {
        const candidates = [...free].filter((instance) => fitting(waiting, instance));
        const got = pairings.find(({ task: { taskId } }) => taskId === waiting.taskId)?.instance;
        if (got === undefined) {
          expect(candidates, `seed ${seed}, ${waiting.taskId}`).toEqual([]);
          unpaired++;
          continue;
        }
        paired++;
        expect(candidates, `seed ${seed}`).toContain(got);
        const surplus = (instance: IdleInstance) =>
          surplusLabels(requirementOfKey(waiting.requirementKey), instance.profile);
        expect(surplus(got), `seed ${seed}`).toBe(Math.min(...candidates.map(surplus)));
        free.delete(got);
      }
    }
    // Both happen often enough that the test says something.
    expect(paired).toBeGreaterThan(1000);
    expect(unpaired).toBeGreaterThan(1000);
  });
});
