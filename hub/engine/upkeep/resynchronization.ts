/** Resynchronization of a hub with the rows of the store, after a time in which signals may have been lost. */
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { Loop } from '@workbench-hub/shared/runtime/loop';
import type { Timers } from '@workbench-hub/shared/runtime/runtime';
import type { SignalListener } from '../../core/ports/signals.js';
import type { RunningAttempt } from '../../core/ports/task-queue.js';

/** A step, which is given all running attempts as of a moment after the steps began. */
export type ResynchronizationStep = (running: readonly RunningAttempt[]) => void | Promise<void>;

export interface ResynchronizationOptions {
  /** Makes the live views those of the rows, and resolves with all running attempts. */
  readonly refresh: () => Promise<readonly RunningAttempt[]>;
  /** Carried out one after the other. */
  readonly steps: readonly ResynchronizationStep[];
  readonly timers: Timers;
  readonly log: Logger;
}

export class Resynchronization {
  readonly #options: ResynchronizationOptions;
  readonly #loop: Loop;

  constructor(options: ResynchronizationOptions) {
    this.#options = options;
    this.#loop = new Loop({ timers: options.timers, pass: () => this.#pass() });
  }

  readonly onSignal: SignalListener = {
    RESYNC: () => {
      this.now().catch((error: unknown) => {
        this.#options.log.error(
          { err: error },
          'the rows of the store could not be read to make up for lost signals',
        );
      });
    },
  };

  /** Resolves after a resynchronization that began after this call. Rejects as the store does. */
  now(): Promise<void> {
    return this.#loop.passed();
  }

  async #pass(): Promise<void> {
    const running = await this.#options.refresh();
    for (const step of this.#options.steps) await step(running);
  }
}
