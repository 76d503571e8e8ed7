import { expect, it } from 'vitest';
import { ClockWatch } from './clock-watch.js';

const MINUTE_MS = 60_000;

function watchedClock() {
  let wallMs = 1_795_000_000_000;
  let monotonicMs = 500;
  const watch = new ClockWatch({ nowMs: () => wallMs, monotonicMs: () => monotonicMs });
  return {
    watch,
    pass: (byMs: number) => {
      wallMs += byMs;
      monotonicMs += byMs;
    },
    set: (byMs: number) => {
      wallMs += byMs;
    },
  };
}

it('a clock is trusted while it continues, also when it is set back or a little ahead', () => {
  const { watch, pass, set } = watchedClock();
  for (const byMs of [0, 9 * MINUTE_MS, -9 * MINUTE_MS, -600 * MINUTE_MS]) {
    pass(MINUTE_MS);
    set(byMs);
    expect(watch.measureJump()).toBe(0);
    expect(watch.isTrusted).toBe(true);
  }
});

it('a clock that jumped ahead is not trusted for an hour', () => {
  const { watch, pass, set } = watchedClock();
  pass(MINUTE_MS);
  set(1000 * MINUTE_MS);
  expect(watch.measureJump()).toBe(1000 * MINUTE_MS);
  expect(watch.isTrusted).toBe(false);
  pass(59 * MINUTE_MS);
  expect([watch.measureJump(), watch.isTrusted]).toEqual([0, false]);
  pass(MINUTE_MS);
  expect([watch.measureJump(), watch.isTrusted]).toEqual([0, true]);
});

it('a clock that jumped ahead is trusted again once it is set right', () => {
  const { watch, pass, set } = watchedClock();
  set(1000 * MINUTE_MS);
  watch.measureJump();
  pass(MINUTE_MS);
  set(-1000 * MINUTE_MS);
  expect([watch.measureJump(), watch.isTrusted]).toEqual([0, true]);
});
