import { describe, expect, it } from 'vitest';
import type { Allocation } from './allocation.js';
import { failedStarts } from './failed-starts.js';
import { allocationWith } from './fixtures/allocation.js';

const over = (endedAtMs: number, fields: Partial<Allocation>) =>
  allocationWith({ state: 'ENDED', endedAtMs, ...fields });

describe('failed starts', () => {
  it('are none without allocations', () => {
    expect(failedStarts([])).toEqual({ count: 0, message: null, nextTryAtMs: 0 });
  });

  it('are refusals and agents that do not join, and tell the latest message', () => {
    const refused = over(100_000, { cause: 'REFUSED', message: 'invalid partition' });
    const silent = over(200_000, { cause: 'NOT_JOINED', startedAtMs: 1, message: 'no agent' });
    expect(failedStarts([silent, refused])).toEqual({ count: 2, message: 'no agent', nextTryAtMs: 220_000 });
    expect(failedStarts([refused, silent])).toEqual({ count: 2, message: 'no agent', nextTryAtMs: 220_000 });
  });

  it('count from the last agent that joined', () => {
    const failed = over(100, { cause: 'REFUSED' });
    const joined = over(200, { cause: 'IDLE', startedAtMs: 1, joinedAtMs: 2 });
    expect(failedStarts([failed, joined]).count).toBe(0);
    expect(failedStarts([failed, joined, over(300, { cause: 'REFUSED' })]).count).toBe(1);
  });

  it('are neither allocations that were given back before their start, nor preempted ones', () => {
    const unneeded = over(100, { cause: 'NOT_NEEDED' });
    const withdrawn = over(200, { cause: 'ENDED_EARLY' });
    const preempted = over(300, { cause: 'ENDED_EARLY', startedAtMs: 1, joinedAtMs: 2 });
    expect(failedStarts([unneeded, withdrawn]).count).toBe(0);
    expect(failedStarts([preempted]).count).toBe(0);
    expect(failedStarts([over(400, { cause: 'ENDED_EARLY', startedAtMs: 1 })]).count).toBe(1);
  });

  it('double the delay of the next try, up to half an hour, and never end it', () => {
    const delays = [1, 2, 3, 8, 9, 50].map((count) => {
      const failed = Array.from({ length: count }, () => over(0, { cause: 'REFUSED' }));
      return failedStarts(failed).nextTryAtMs;
    });
    expect(delays).toEqual([10_000, 20_000, 40_000, 1_280_000, 1_800_000, 1_800_000]);
  });
});
