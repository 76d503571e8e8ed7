import { describe, expect, it } from 'vitest';
import { allocationWith } from './fixtures/allocation.js';
import { reservedHostHours } from './host-hours.js';

const HOUR_MS = 3_600_000;

describe('reserved host-hours', () => {
  const recipe = { wallTimeMs: 2 * HOUR_MS };

  it('are the whole time of what has not started, and the rest of what runs', () => {
    const queued = allocationWith({ state: 'QUEUED' });
    const running = allocationWith({ state: 'JOINED', startedAtMs: 10 * HOUR_MS });
    expect(reservedHostHours([], recipe, 0)).toBe(0);
    expect(reservedHostHours([queued], recipe, 11.5 * HOUR_MS)).toBe(2);
    expect(reservedHostHours([queued, running], recipe, 11.5 * HOUR_MS)).toBe(2.5);
  });

  it('end when the workload manager says so', () => {
    const running = allocationWith({ state: 'JOINED', startedAtMs: 10 * HOUR_MS, endsAtMs: 11 * HOUR_MS });
    expect(reservedHostHours([running], recipe, 10.5 * HOUR_MS)).toBe(0.5);
  });

  it('are never negative, although a workload manager lets a job run on', () => {
    const running = allocationWith({ state: 'JOINED', startedAtMs: 0 });
    expect(reservedHostHours([running], recipe, 5 * HOUR_MS)).toBe(0);
  });
});
