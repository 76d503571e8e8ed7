/** Protection from agents that flood the hub: messages and bytes beyond a rate that no agent needs count as a flood. */
import type { Clock } from '@workbench-hub/shared/runtime/runtime';

export interface Rate {
  /** Rate of messages other than reports of assigned attempts. */
  readonly messagesPerSecond: number;
  readonly bytesPerSecond: number;
  /** Burst that an agent may send at once, in seconds of that rate. */
  readonly burstS: number;
}

/** Above what a hundred instances print as fast as they can, and below what the hub can process: otherwise a flood could keep it
 *  busy without being noticed. */
const AGENT_RATE: Rate = {
  messagesPerSecond: 4000,
  bytesPerSecond: 64 * 1024 ** 2,
  burstS: 5,
};

export class FloodGuard {
  readonly #clock: Clock;
  readonly #rate: Rate;
  #atMs: number;
  #messagesAhead = 0;
  #bytesAhead = 0;

  constructor(clock: Clock, rate: Rate = AGENT_RATE) {
    this.#clock = clock;
    this.#rate = rate;
    this.#atMs = clock.monotonicMs();
  }

  /** Counts a frame; returns the reason when it is a flood. Reports are as many as dispatched tasks: only those that do not count
   *  are limited, see {@link uncounted}. */
  faultOf(messages: readonly unknown[], bytes: number): string | undefined {
    let unasked = 0;
    for (const message of messages) if ((message as { type?: unknown } | null)?.type !== 'report') unasked++;
    return this.#faultAfter(unasked, bytes);
  }

  /** Counts a report that did not count. */
  uncounted(): string | undefined {
    return this.#faultAfter(1, 0);
  }

  #faultAfter(messages: number, bytes: number): string | undefined {
    const { messagesPerSecond, bytesPerSecond, burstS } = this.#rate;
    const nowMs = this.#clock.monotonicMs();
    const passedS = (nowMs - this.#atMs) / 1000;
    this.#atMs = nowMs;
    this.#messagesAhead = Math.max(0, this.#messagesAhead - passedS * messagesPerSecond) + messages;
    this.#bytesAhead = Math.max(0, this.#bytesAhead - passedS * bytesPerSecond) + bytes;
    if (this.#messagesAhead > burstS * messagesPerSecond) {
      return `a flood: more than ${messagesPerSecond} messages a second`;
    }
    if (this.#bytesAhead > burstS * bytesPerSecond) {
      return `a flood: more than ${bytesPerSecond / 1024 ** 2} MiB a second`;
    }
    return undefined;
  }
}
