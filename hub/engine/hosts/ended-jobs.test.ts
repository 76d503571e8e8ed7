import { describe, expect, it } from 'vitest';
import type { Allocation } from '../../core/hosts/allocation.js';
import type { ManagedJob } from '../../core/ports/workload-manager.js';
import { EndedJobs } from './ended-jobs.js';

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

/** Jobs of a hub that has run for this time; `latest` are allocations of earlier terms, the latest first. */
function jobs(latest: readonly Partial<Allocation>[] = []) {
  const time = { nowMs: 0 };
  const clock = { nowMs: () => DAY_MS + time.nowMs, monotonicMs: () => time.nowMs };
  const ended = new EndedJobs({
    recipe: 'gears',
    allocations: { latest: async () => latest as Allocation[] },
    isOverdue: ({ message }) => message === 'overdue',
    clock,
  });
  return { ended, time };
}

describe('jobs whose allocations are over', () => {
  it('are asked about for a day at most, while the workload manager fails now and then', () => {
    const { ended, time } = jobs();
    ended.add('first');
    for (; time.nowMs < DAY_MS; time.nowMs += 5 * MINUTE_MS) {
      if (time.nowMs === DAY_MS / 2) ended.add('second');
      expect(ended.due).toContain('first');
      ended.answered(ended.due, []);
      ended.unanswered();
    }
    ended.unanswered();
    expect(ended.due).toEqual(['second']);
  });

  it('are asked about no more when it has answered for ten minutes', () => {
    const { ended, time } = jobs();
    ended.add('first');
    time.nowMs += 9 * MINUTE_MS;
    ended.unanswered();
    time.nowMs += 9 * MINUTE_MS;
    ended.answered(ended.due, []);
    expect(ended.isEmpty).toBe(false);
    time.nowMs += MINUTE_MS;
    ended.answered(ended.due, []);
    expect(ended.isEmpty).toBe(true);
  });

  it('are at most a thousand, the latest of all', () => {
    const { ended } = jobs();
    for (let count = 1; count <= 1200; count++) ended.add(`job-${count}`);
    expect(ended.due).toHaveLength(1000);
    expect([ended.due[0], ended.due.at(-1)]).toEqual(['job-201', 'job-1200']);
  });

  it('are those of earlier terms, but not the ones that were canceled in vain, or ended more than a day before', async () => {
    const { ended } = jobs([
      { id: 'latest', endedAtMs: DAY_MS - 1, message: null },
      { id: 'in-vain', endedAtMs: DAY_MS - 2, message: 'overdue' },
      { id: 'earlier', endedAtMs: 1, message: null },
      { id: 'too-early', endedAtMs: -1, message: null },
    ]);
    await ended.read();
    expect(ended.due).toEqual(['earlier', 'latest']);
  });

  it('are canceled again when they wait or run, and not at each answer', () => {
    const { ended, time } = jobs();
    ended.add('back');
    const job = {
      name: 'back',
      jobId: '1',
      state: 'QUEUED',
      remainingMs: null,
      reason: null,
    } satisfies ManagedJob;
    expect(ended.answered(['back'], [job])).toEqual([{ job, isFirst: true }]);
    time.nowMs += 10_000;
    expect(ended.answered(['back'], [job])).toEqual([]);
    time.nowMs += 10_000;
    expect(ended.answered(['back'], [job])).toEqual([{ job, isFirst: false }]);
  });
});
