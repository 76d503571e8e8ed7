import { newIds } from './new-ids.js';
import type { Runtime } from './runtime.js';

/** Longest delay of Node's timers, 2^31 - 1 ms (24.8 days); longer delays use several. */
const MAX_DELAY_MS = 2 ** 31 - 1;

/** Clock, timers and randomness of the system. */
export const systemRuntime: Runtime = {
  clock: {
    nowMs: () => Date.now(),
    monotonicMs: () => performance.now(),
  },
  timers: {
    after(delayMs, action) {
      let timer = startTimer(delayMs);
      function startTimer(leftMs: number): NodeJS.Timeout {
        const proceed = leftMs <= MAX_DELAY_MS ? action : () => (timer = startTimer(leftMs - MAX_DELAY_MS));
        return setTimeout(proceed, Math.min(leftMs, MAX_DELAY_MS)).unref();
      }
      return { cancel: () => clearTimeout(timer) };
    },
    soon: (action) => void setImmediate(action),
  },
  random: () => Math.random(),
  newId: newIds(() => Date.now()),
};
