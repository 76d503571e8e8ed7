/** The crashes of an instance: ends of its program that nobody asked for. */
import {
  type InstanceCrashes,
  MAX_CRASH_REASON_LENGTH,
  MAX_CRASHES,
} from '@workbench-hub/shared/domain/instance';
import { boundedText } from '@workbench-hub/shared/runtime/bounded-text';
import type { Clock } from '@workbench-hub/shared/runtime/runtime';

interface KeptCrash {
  readonly atMs: number;
  readonly reason: string;
  readonly taskId: string | null;
}

/** Keeps the latest crashes, and counts all of them. */
export class CrashHistory {
  readonly #clock: Clock;
  readonly #sinceMs: number;
  #count = 0;
  /** Newest first. */
  #kept: readonly KeptCrash[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#sinceMs = clock.monotonicMs();
  }

  /** `taskId`: the task that the instance worked on; null when it worked on none. */
  add(reason: string, taskId: string | null): void {
    this.#count++;
    const atMs = this.#clock.monotonicMs();
    const crash = { atMs, reason: boundedText(reason, MAX_CRASH_REASON_LENGTH), taskId };
    this.#kept = [crash, ...this.#kept].slice(0, MAX_CRASHES);
  }

  latest(): InstanceCrashes {
    const nowMs = this.#clock.monotonicMs();
    return {
      agentUpForMs: nowMs - this.#sinceMs,
      count: this.#count,
      latest: this.#kept.map(({ atMs, ...crash }) => ({ agoMs: nowMs - atMs, ...crash })),
    };
  }
}
