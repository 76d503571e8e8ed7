/** Closes loans whose ends the upstream has acknowledged, those of a moment together, again until the store has done it. */
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { Loop } from '@workbench-hub/shared/runtime/loop';
import type { Timers } from '@workbench-hub/shared/runtime/runtime';
import type { OpenLoans } from '../../core/ports/open-loans.js';
import type { TaskTransitions } from '../transitions/task-transitions.js';
import type { OpenLoan } from './open-loan.js';

export interface LoanClosingOptions {
  readonly loans: Pick<OpenLoans, 'close'>;
  readonly transitions: Pick<TaskTransitions, 'remove'>;
  readonly timers: Timers;
  readonly log: Logger;
}

const RETRY_AFTER_MS = 1000;

export class LoanClosing {
  readonly #options: LoanClosingOptions;
  readonly #loop: Loop;
  /** Loans that are to be closed. */
  #waiting: OpenLoan[] = [];

  constructor(options: LoanClosingOptions) {
    this.#options = options;
    this.#loop = new Loop({
      timers: options.timers,
      pass: () => this.#pass(),
      failed: (error) => {
        options.log.warn({ err: error }, 'loans could not be closed; trying again');
        return RETRY_AFTER_MS;
      },
    });
  }

  add(loan: OpenLoan): void {
    this.#waiting.push(loan);
    if (!this.#loop.isStopped) this.#loop.wakeSoon();
  }

  /** Begins no further write. Loans that are still open are reported and acknowledged again in the next term. */
  stop(): Promise<void> {
    return this.#loop.stop();
  }

  async #pass(): Promise<void> {
    const { loans, transitions } = this.#options;
    const closing = this.#waiting;
    if (closing.length === 0) return;
    this.#waiting = [];
    try {
      await loans.close(closing.map(({ taskId }) => taskId));
      const unused = closing.filter(({ isVoid }) => isVoid).map(({ taskId }) => taskId);
      if (unused.length > 0) await transitions.remove(unused);
    } catch (error) {
      this.#waiting = [...closing, ...this.#waiting];
      throw error;
    }
  }
}
