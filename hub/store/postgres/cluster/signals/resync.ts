/** Resyncs: after signals may have been lost, once more after that, and now and then while other hubs live. */
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { Loop } from '@workbench-hub/shared/runtime/loop';
import type { Timers } from '@workbench-hub/shared/runtime/runtime';

/** Time from a loss to the resync, in which further losses join. */
const GATHER_MS = 50;
const RETRY_AFTER_MS = 500;

export interface ResyncOptions {
  readonly timers: Timers;
  readonly log: Pick<Logger, 'debug'>;
  /** Time until the next regular one. */
  readonly everyMs: () => number;
  /** Whether regular ones are needed: there is someone to have missed signals of. */
  readonly isNeeded: () => boolean;
  /** Reads again who holds which agent, and tells own listeners. Rejects while the database is away. */
  readonly resync: () => Promise<void>;
}

export class Resyncs {
  readonly #options: ResyncOptions;
  readonly #loop: Loop;
  #isAsked = false;
  /** A difference between rows and views is mended only when two resyncs in a row have seen it. */
  #isFollowUp = false;

  constructor(options: ResyncOptions) {
    this.#options = options;
    this.#loop = new Loop({
      timers: options.timers,
      pass: () => this.#pass(),
      isStopped: true,
      failed: (error) => {
        options.log.debug({ err: error }, 'a resync failed; the hub tries again');
        this.#isAsked = true;
        return RETRY_AFTER_MS;
      },
    });
  }

  /** Begins with regular ones, the first after `firstMs`. */
  start(firstMs: number): void {
    this.#loop.start(firstMs);
  }

  /** Signals may have been lost. */
  soon(): void {
    if (this.#isAsked) return;
    this.#isAsked = true;
    this.#loop.wake(GATHER_MS);
  }

  close(): Promise<void> {
    return this.#loop.stop();
  }

  async #pass(): Promise<number> {
    const { everyMs, isNeeded, resync } = this.#options;
    const nextMs = everyMs();
    if (!this.#isAsked && !this.#isFollowUp && !isNeeded()) return nextMs;
    this.#isFollowUp = this.#isAsked;
    this.#isAsked = false;
    await resync();
    return nextMs;
  }
}
