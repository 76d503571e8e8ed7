import { describe, expect, it } from 'vitest';
import { compareWaiting, type WaitingTask } from '../../core/match-tasks.js';
import { QueueHeadCache } from './queue-head-cache.js';

const waiting = (sequence: number, priorityRank = 2): WaitingTask => ({
  taskId: `t${sequence}`,
  groupId: 1,
  requirementKey: '',
  priorityRank,
  sequence,
});

const ids = (tasks: readonly WaitingTask[]) => tasks.map(({ taskId }) => taskId);

/** Random numbers below a limit, the same for the same seed. */
const numbersOf = (seed: number) => {
  let state = seed;
  return (limit: number) => {
    state = (state * 48_271) % 2_147_483_647;
    return state % limit;
  };
};

/** Expects the known tasks to be the first of the sorted waiting ones, and all where the cache says so. */
const expectFirst = (heads: QueueHeadCache, sorted: readonly WaitingTask[], at: string) => {
  expect(ids(heads.known), at).toEqual(ids(sorted).slice(0, heads.known.length));
  if (heads.isEmpty) expect(sorted).toEqual([]);
  if (heads.reaches(7)) expect(heads.known.length).toBe(sorted.length);
};

/** Changes a pool in an order that the seed decides, and expects the known tasks to be its first after each change. */
const changeAndExpectFirst = (seed: number) => {
  const below = numbersOf(seed);
  let stored = Array.from({ length: below(10) }, (_, at) => waiting(at, below(3)));
  const heads = new QueueHeadCache(stored.length === 0);
  for (let sequence = 10; sequence < 60; sequence++) {
    const what = below(4);
    const [first] = heads.known;
    if (what === 0 && first) {
      stored = stored.filter(({ taskId }) => taskId !== first.taskId);
      heads.remove(first.taskId);
    } else if (what === 1 && !heads.reaches(2)) {
      heads.beginRead();
      const read = [...stored].sort(compareWaiting).slice(0, 3);
      const isComplete = stored.length <= 3;
      const late = waiting(sequence, below(3));
      stored.push(late);
      heads.add(late, 3);
      heads.endRead(read, isComplete, 3);
    } else {
      const task = waiting(sequence, below(3));
      stored.push(task);
      heads.add(task, 3);
    }
    expectFirst(heads, stored.sort(compareWaiting), `seed ${seed}, ${sequence}`);
  }
};

describe('the first tasks of a pool', () => {
  it('are all waiting tasks of a pool that was empty', () => {
    const heads = new QueueHeadCache(true);
    expect(heads.isEmpty).toBe(true);
    heads.add(waiting(2), 10);
    heads.add(waiting(1, 3), 10);
    heads.add(waiting(3, 0), 10);
    expect(ids(heads.known)).toEqual(['t3', 't2', 't1']);
    expect(heads.reaches(100)).toBe(true);
  });

  it('are unknown until they have been read', () => {
    const heads = new QueueHeadCache(false);
    heads.add(waiting(2), 10);
    expect(heads.isEmpty).toBe(false);
    expect(heads.reaches(1)).toBe(false);
    heads.beginRead();
    heads.endRead([waiting(1), waiting(2)], false, 10);
    expect(heads.reaches(2)).toBe(true);
    expect(heads.reaches(3)).toBe(false);
  });

  it('include changes made while they were read', () => {
    const heads = new QueueHeadCache(false);
    heads.beginRead();
    heads.remove('t1');
    heads.add(waiting(5, 0), 10);
    heads.add(waiting(3), 10);
    heads.add(waiting(9), 10);
    heads.add(waiting(6, 0), 10);
    heads.remove('t6');
    heads.endRead([waiting(1), waiting(2), waiting(3), waiting(4)], false, 10);
    expect(ids(heads.known)).toEqual(['t5', 't2', 't3', 't4']);
  });

  it('include a task that left the queue and came back while they were read', () => {
    const heads = new QueueHeadCache(false);
    heads.beginRead();
    heads.remove('t1');
    heads.add(waiting(1), 10);
    heads.endRead([waiting(2)], true, 10);
    expect(ids(heads.known)).toEqual(['t1', 't2']);
  });

  it('remain few, however many better ones arrive', () => {
    const heads = new QueueHeadCache(true);
    for (let sequence = 0; sequence < 1000; sequence++) heads.add(waiting(sequence), 10);
    expect(heads.known.length).toBeLessThanOrEqual(20);
    expect(heads.reaches(21)).toBe(false);
  });

  it('are at any time the first of all waiting tasks, whatever changes', () => {
    for (let seed = 1; seed <= 40; seed++) changeAndExpectFirst(seed);
  });
});
