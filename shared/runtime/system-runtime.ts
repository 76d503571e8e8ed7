import { v7 as uuidv7 } from 'uuid';
import type { Runtime } from './runtime.js';

/** A timer of Node holds at most 2^31 - 1 ms; a longer delay would fire at once. */
const MAX_DELAY_MS = 2 ** 31 - 1;

/** The machine's own clock, timers and chance. */
export const systemRuntime: Runtime = {
  clock: {
    nowMs: () => Date.now(),
    monotonicMs: () => performance.now(),
  },
  timers: {
    after(delayMs, action) {
      const timer = setTimeout(action, Math.min(delayMs, MAX_DELAY_MS));
      timer.unref();
      return { cancel: () => clearTimeout(timer) };
    },
    soon: (action) => void setImmediate(action),
  },
  random: () => Math.random(),
  newId: () => uuidv7(),
};

