import { describe, expect, it } from 'vitest';
import { PRIORITIES, priorityOfRank, priorityRank } from './priority.js';

describe('priorities', () => {
  it('have ranks, highest first', () => {
    expect(PRIORITIES.map(priorityRank)).toEqual([0, 1, 2, 3, 4]);
    expect(PRIORITIES.map((_, rank) => priorityOfRank(rank))).toEqual(PRIORITIES);
    expect(() => priorityOfRank(5)).toThrow(RangeError);
  });
});
