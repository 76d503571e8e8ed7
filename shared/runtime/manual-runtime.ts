import type { Runtime } from './runtime.js';

/** A runtime for tests, whose time advances on demand. Random numbers are always 0.5. */
export interface ManualRuntime extends Runtime {
  /** Advances the time and runs all timers that are due, in order. */
  advance(durationMs: number): Promise<void>;
  /** Number of timers that are set. */
  readonly pendingTimers: number;
}

interface PendingTimer {
  readonly dueMs: number;
  readonly order: number;
  readonly action: () => void;
}

export function manualRuntime(startMs = Date.UTC(2026, 10, 21)): ManualRuntime {
  let elapsedMs = 0;
  let created = 0;
  const pending = new Set<PendingTimer>();

  const takeDue = (untilMs: number): PendingTimer | undefined => {
    const [first] = [...pending].sort((a, b) => a.dueMs - b.dueMs || a.order - b.order);
    if (!first || first.dueMs > untilMs) return undefined;
    pending.delete(first);
    return first;
  };

  return {
    clock: { nowMs: () => startMs + elapsedMs, monotonicMs: () => elapsedMs },
    timers: {
      after(delayMs, action) {
        const timer = { dueMs: elapsedMs + Math.max(delayMs, 0), order: created++, action };
        pending.add(timer);
        return { cancel: () => void pending.delete(timer) };
      },
      soon: (action) => void setImmediate(action),
    },
    random: () => 0.5,
    newId: () => `00000000-0000-7000-8000-${String(created++).padStart(12, '0')}`,
    async advance(durationMs) {
      const untilMs = elapsedMs + durationMs;
      await settle();
      for (let timer = takeDue(untilMs); timer; timer = takeDue(untilMs)) {
        elapsedMs = timer.dueMs;
        timer.action();
        await settle();
      }
      elapsedMs = untilMs;
    },
    get pendingTimers() {
      return pending.size;
    },
  };
}

/** Lets reactions of settled promises run. */
async function settle(): Promise<void> {
  for (let turns = 0; turns < 3; turns++) await new Promise<void>((resolve) => setImmediate(resolve));
}
