import { describe, expect, it } from 'vitest';
import { RunTimeBook, runTimesKey } from '../../core/run-times.js';
import { HostEnds } from './host-ends.js';

const KEY = '[null,[]]';

describe('the end of a host', () => {
  const clock = { nowMs: () => 1000, monotonicMs: () => 0 };
  const endsWith = (runTimesMs: readonly number[]) => {
    const book = new RunTimeBook();
    for (const timeMs of runTimesMs) book.add(runTimesKey('EXECUTE_BATCH_JOB', KEY), timeMs);
    const ends = new HostEnds(clock, book);
    ends.set('host', { atMs: 61_000 });
    return ends;
  };
  const task = (timeLimitS: number | null) => ({ timeLimitS, requirementKey: KEY });

  it('permits a task whose time limit ends before it, and any on another host', () => {
    const ends = endsWith([]);
    expect(ends.isAllowed(task(60), { agentId: 'host' })).toBe(true);
    expect(ends.isAllowed(task(61), { agentId: 'host' })).toBe(false);
    expect(ends.isAllowed(task(61), { agentId: 'other' })).toBe(true);
  });

  it('permits a task without time limit if similar ones end in time, or nothing is known of them', () => {
    expect(endsWith([]).isAllowed(task(null), { agentId: 'host' })).toBe(true);
    const times = Array.from({ length: 19 }, () => 1000);
    expect(endsWith([...times, 60_000]).isAllowed(task(null), { agentId: 'host' })).toBe(true);
    expect(endsWith([...times, 60_001]).isAllowed(task(null), { agentId: 'host' })).toBe(false);
    expect(endsWith([...times, 60_001]).isAllowed(task(60), { agentId: 'host' })).toBe(true);
    expect(endsWith([...times, ...times, ...times, 90_000]).isAllowed(task(null), { agentId: 'host' })).toBe(
      true,
    );
  });

  it('permits a task of which a few similar ones took longer than any host has, when it has all the time of a fresh one', () => {
    const book = new RunTimeBook();
    for (const timeMs of [...Array.from({ length: 18 }, () => 30_000), 500_000, 500_000])
      book.add(runTimesKey('EXECUTE_BATCH_JOB', KEY), timeMs);
    const ends = new HostEnds(clock, book, 60_000);
    expect(ends.expectedMs(KEY)).toBe(60_000);
    ends.set('fresh', { atMs: 61_000 });
    ends.set('older', { atMs: 60_999 });
    expect(ends.isAllowed(task(null), { agentId: 'fresh' })).toBe(true);
    expect(ends.isAllowed(task(null), { agentId: 'older' })).toBe(false);
    expect(new HostEnds(clock, book, 59_999).expectedMs(KEY)).toBe(500_000);
    expect(new HostEnds(clock, book, 500_000).expectedMs(KEY)).toBe(500_000);
  });

  it('is that of the host from which a joined hub lends the instance, if it lends it from one', () => {
    const ends = new HostEnds(clock, new RunTimeBook());
    const lentHost = { id: 'gears-1', atMs: 31_000 };
    expect(ends.isAllowed(task(30), { agentId: 'site', lentHost })).toBe(true);
    expect(ends.isAllowed(task(31), { agentId: 'site', lentHost })).toBe(false);
    expect(ends.isAllowed(task(31), { agentId: 'site', lentHost: null })).toBe(true);
  });

  it('is that of its whole time as long as it has not been seen to start', () => {
    const ends = endsWith([]);
    ends.set('host', { forMs: 30_000 });
    expect(ends.isAllowed(task(30), { agentId: 'host' })).toBe(true);
    expect(ends.isAllowed(task(31), { agentId: 'host' })).toBe(false);
  });

  it('is forgotten when the host has none', () => {
    const ends = endsWith([]);
    expect(ends.count).toBe(1);
    ends.set('host', null);
    expect(ends.count).toBe(0);
    expect(ends.isAllowed(task(9999), { agentId: 'host' })).toBe(true);
  });

  it('tells the median of what is known', () => {
    expect(endsWith([]).medianMs(KEY)).toBeNull();
    expect(endsWith([1, 2, 3, 4, 5]).medianMs(KEY)).toBe(3);
  });
});
