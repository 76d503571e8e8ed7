/** Resyncs: after signals may have been lost, once more after that, and now and then while other hubs live. */
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Timers } from '@workbench-hub/shared/runtime/runtime';
import { Rest } from '../common/rest.js';

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
  readonly #rest: Rest;
  #isAsked = false;
  #isClosed = false;
  #work: Promise<void> | undefined;

  constructor(options: ResyncOptions) {
    this.#options = options;
    this.#rest = new Rest(options.timers);
  }

  /** Begins with regular ones, the first after `firstMs`. */
  start(firstMs: number): void {
    this.#work = this.#resyncAll(firstMs);
  }

  /** Signals may have been lost. */
  soon(): void {
    if (this.#isAsked) return;
    this.#isAsked = true;
    this.#rest.wake();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#rest.wake();
    await this.#work;
  }

  async #resyncAll(firstMs: number): Promise<void> {
    const { everyMs, isNeeded, resync, log } = this.#options;
    let delayMs = firstMs;
    // A difference between rows and views is mended only when two resyncs in a row have seen it.
    let isFollowUp = false;
    while (!this.#isClosed) {
      await this.#rest.wait(delayMs);
      if (this.#isAsked) await this.#rest.wait(GATHER_MS);
      if (this.#isClosed) return;
      delayMs = everyMs();
      if (!this.#isAsked && !isFollowUp && !isNeeded()) continue;
      isFollowUp = this.#isAsked;
      this.#isAsked = false;
      try {
        await resync();
      } catch (error) {
        log.debug({ err: error }, 'a resync failed; the hub tries again');
        this.#isAsked = true;
        delayMs = RETRY_AFTER_MS;
      }
    }
  }
}
