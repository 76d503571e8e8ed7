import { expect, it } from 'vitest';
import { receiverPauseMs, retryDelayMs } from './webhook-schedule.js';

it('tries again after growing delays, at last every four hours', () => {
  const seconds = Array.from({ length: 10 }, (_, at) => retryDelayMs(at + 1, 0.5) / 1000);
  expect(seconds).toEqual([5, 30, 120, 600, 1800, 3600, 7200, 14_400, 14_400, 14_400]);
  expect([retryDelayMs(2, 0), retryDelayMs(2, 1)]).toEqual([24_000, 36_000]);
});

it('pauses a receiver for up to a minute, or as long as it asks for', () => {
  const seconds = Array.from({ length: 8 }, (_, at) => receiverPauseMs(at + 1, 0) / 1000);
  expect(seconds).toEqual([1, 2, 4, 8, 16, 32, 60, 60]);
  expect(receiverPauseMs(2000, 0)).toBe(60_000);
  expect([receiverPauseMs(1, 300_000), receiverPauseMs(1, 1e9)]).toEqual([300_000, 3_600_000]);
});
