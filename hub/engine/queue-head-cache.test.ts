import { describe, expect, it } from 'vitest';
import { compareWaiting, type WaitingTask } from '../core/match-tasks.js';
import { QueueHeadCache } from './queue-head-cache.js';

const waiting = (sequence: number, priorityRank = 2): WaitingTask => ({
  taskId: `t${sequence}`,
  requirementKey: '',
  priorityRank,
  sequence,
});

const ids = (tasks: readonly WaitingTask[]) => tasks.map(({ taskId }) => taskId);

describe('the first tasks of a group', () => {
  it('are all that wait where nothing waited before', () => {
    const heads = new QueueHeadCache(true);
    expect(heads.areNone).toBe(true);
    heads.add(waiting(2), 10);
    heads.add(waiting(1, 3), 10);
    heads.add(waiting(3, 0), 10);
    expect(ids(heads.known)).toEqual(['t3', 't2', 't1']);
    expect(heads.reaches(100)).toBe(true);
  });

  it('are not known before they were read', () => {
    const heads = new QueueHeadCache(false);
    heads.add(waiting(2), 10);
    expect(heads.areNone).toBe(false);
    expect(heads.reaches(1)).toBe(false);
    heads.fill([waiting(1), waiting(2)], 2, heads.changes);
    expect(heads.reaches(2)).toBe(true);
    expect(heads.reaches(3)).toBe(false);
  });

  it('are not what was read when something came meanwhile', () => {
    const heads = new QueueHeadCache(false);
    const { changes } = heads;
    heads.remove('t1');
    heads.fill([waiting(1)], 2, changes);
    expect(heads.reaches(1)).toBe(false);
  });

  it('stay a few, however many better ones come', () => {
    const heads = new QueueHeadCache(true);
    for (let sequence = 0; sequence < 1000; sequence++) heads.add(waiting(sequence), 10);
    expect(heads.known.length).toBeLessThanOrEqual(20);
    expect(heads.reaches(21)).toBe(false);
  });

  it('are the first of all that wait at any time, whatever comes and goes', () => {
    for (let seed = 1; seed <= 40; seed++) {
      let state = seed;
      const below = (limit: number) => {
        state = (state * 48_271) % 2_147_483_647;
        return state % limit;
      };
      let stored = Array.from({ length: below(10) }, (_, at) => waiting(at, below(3)));
      const heads = new QueueHeadCache(stored.length === 0);
      for (let sequence = 10; sequence < 60; sequence++) {
        const what = below(4);
        const [first] = heads.known;
        if (what === 0 && first) {
          stored = stored.filter(({ taskId }) => taskId !== first.taskId);
          heads.remove(first.taskId);
        } else if (what === 1 && !heads.reaches(2)) {
          heads.fill(stored.sort(compareWaiting).slice(0, 3), 3, heads.changes);
        } else if (what === 2 && below(10) === 0) {
          heads.forget();
        } else {
          const task = waiting(sequence, below(3));
          stored.push(task);
          heads.add(task, 3);
        }
        const first6 = ids(stored.sort(compareWaiting)).slice(0, heads.known.length);
        expect(ids(heads.known), `seed ${seed}, ${sequence}`).toEqual(first6);
        if (heads.areNone) expect(stored).toEqual([]);
        if (heads.reaches(7)) expect(heads.known.length).toBe(stored.length);
      }
    }
  });
});
