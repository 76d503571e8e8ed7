import { expect, it } from 'vitest';
import { longestStopMs } from './stop-time.js';

const instance = (cancelTimeoutMs: number, stopTimeoutMs: number) => ({ cancelTimeoutMs, stopTimeoutMs });

it('ends jobs of all instances, then their programs, then uploads checkpoints', () => {
  expect(longestStopMs(60_000, [instance(5000, 40_000), instance(20_000, 10_000)])).toBe(
    60_000 + 20_000 + 40_000 + 2000 + 30_000,
  );
});

it('has the time of checkpoints without instances, too: a start before may have left some', () => {
  expect(longestStopMs(0, [])).toBe(32_000);
});
