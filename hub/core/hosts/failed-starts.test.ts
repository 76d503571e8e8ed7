import { describe, expect, it } from 'vitest';
import type { Allocation } from './allocation.js';
import * as starts from './failed-starts.js';
import { allocationWith } from './fixtures/allocation.js';

/** An allocation that was over at this time, and wanted a second before. */
const over = (endedAtMs: number, fields: Partial<Allocation>) =>
  allocationWith({ state: 'ENDED', wantedAtMs: endedAtMs - 1000, endedAtMs, ...fields });

const failedStarts = (known: readonly Allocation[], resumedAtMs: number | null = null, nowMs = 1e9) =>
  starts.failedStarts(known, { resumedAtMs, nowMs });

describe('failed starts', () => {
  it('are none without allocations', () => {
    expect(failedStarts([])).toEqual({ count: 0, message: null, nextTryAtMs: 0 });
  });

  it('are refusals, agents that do not join, and jobs that end or vanish before that, and tell the latest message', () => {
    const failed = [
      over(100_000, { cause: 'REFUSED', message: 'invalid partition' }),
      over(200_000, { cause: 'NOT_JOINED', startedAtMs: 1, message: 'no agent' }),
      over(300_000, { cause: 'ENDED_EARLY', message: 'launch failed' }),
      over(400_000, { state: 'LOST', cause: 'GONE', message: 'unknown' }),
    ];
    const expected = { count: 4, message: 'unknown', nextTryAtMs: 480_000 };
    expect(failedStarts(failed)).toEqual(expected);
    expect(failedStarts(failed.toReversed())).toEqual(expected);
  });

  it('count from the last agent that joined, be its allocation open or over', () => {
    const refused = (endedAtMs: number) => over(endedAtMs, { cause: 'REFUSED' });
    const joined = over(30_000, { cause: 'IDLE', startedAtMs: 1, joinedAtMs: 12_000 });
    expect(failedStarts([refused(10_000), joined]).count).toBe(0);
    expect(failedStarts([refused(10_000), joined, refused(20_000)]).count).toBe(1);
    const open = allocationWith({ state: 'JOINED', joinedAtMs: 12_000 });
    expect(failedStarts([refused(10_000), open]).count).toBe(0);
    expect(failedStarts([refused(10_000), refused(14_000), open]).count).toBe(1);
  });

  it('are forgotten when an administrator resumes the recipe', () => {
    const failed = [over(10_000, { cause: 'REFUSED' }), over(30_000, { cause: 'REFUSED' })];
    expect(failedStarts(failed, 20_000).count).toBe(1);
    expect(failedStarts(failed, 30_000).count).toBe(0);
  });

  it('are neither allocations that were given back before their agent joined, nor preempted ones', () => {
    const unneeded = over(1000, { cause: 'NOT_NEEDED' });
    const asked = over(2000, { cause: 'ASKED' });
    const preempted = over(3000, { cause: 'ENDED_EARLY', startedAtMs: 1, joinedAtMs: 2 });
    expect(failedStarts([unneeded, asked, preempted]).count).toBe(0);
  });

  it('have begun while a job is canceled that does not start, or whose agent does not join, unless the recipe was resumed since it was wanted', () => {
    const earlier = over(10_000, { cause: 'REFUSED' });
    const canceled = allocationWith({
      state: 'DRAINING',
      cause: 'REFUSED',
      wantedAtMs: 40_000,
      message: 'stuck',
    });
    expect(failedStarts([earlier, canceled], null, 100_000)).toEqual({
      ...{ count: 2, message: 'stuck', nextTryAtMs: 120_000 },
    });
    expect(failedStarts([earlier, canceled], 50_000, 100_000).count).toBe(0);
    const notJoined = allocationWith({
      ...{ state: 'DRAINING', cause: 'NOT_JOINED', wantedAtMs: 40_000, startedAtMs: 50_000 },
    });
    expect(failedStarts([earlier, notJoined], null, 100_000).count).toBe(2);
    expect(failedStarts([earlier, notJoined], null, 2_000_000).count).toBe(1);
    const unneeded = allocationWith({ state: 'DRAINING', cause: 'NOT_NEEDED', wantedAtMs: 40_000 });
    expect(failedStarts([unneeded], null, 100_000).count).toBe(0);
  });

  it('count allocations that were wanted together as one try', () => {
    const together = [10, 11, 12].map((endedAtMs) => over(endedAtMs, { cause: 'REFUSED', wantedAtMs: 5 }));
    expect(failedStarts(together)).toMatchObject({ count: 1, nextTryAtMs: 10_012 });
    expect(failedStarts([...together, over(20_000, { cause: 'REFUSED' })]).count).toBe(2);
  });

  it('do not count when they seem to be later than now, for the clock was set back', () => {
    const failed = [over(10_000, { cause: 'REFUSED' }), over(90_000, { cause: 'REFUSED' })];
    expect(failedStarts(failed, null, 20_000)).toMatchObject({ count: 1, nextTryAtMs: 20_000 });
    expect(failedStarts(failed, 80_000, 20_000).count).toBe(1);
    const joined = over(95_000, { cause: 'IDLE', startedAtMs: 1, joinedAtMs: 85_000 });
    expect(failedStarts([...failed, joined], null, 20_000).count).toBe(1);
  });

  it('double the delay of the next try, up to half an hour, and never end it', () => {
    const delays = [1, 2, 3, 8, 9, 50].map((count) => {
      const failed = Array.from({ length: count }, (_, at) => over((at + 1) * 10_000, { cause: 'REFUSED' }));
      return failedStarts(failed).nextTryAtMs - count * 10_000;
    });
    expect(delays).toEqual([10_000, 20_000, 40_000, 1_280_000, 1_800_000, 1_800_000]);
  });
});
