/** Whether the workload manager of a recipe answers, as clients of all hubs see it, and when the next submit is tried. */
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Clock } from '@workbench-hub/shared/runtime/runtime';
import type { Allocations } from '../../core/ports/allocations.js';
import type { RecipeMetrics } from '../../core/ports/metrics.js';
import { WorkloadManagerError } from '../../core/ports/workload-manager.js';

export interface ManagerAnswersOptions {
  /** Name of the recipe. */
  readonly recipe: string;
  readonly allocations: Pick<Allocations, 'note'>;
  readonly metrics: Pick<RecipeMetrics, 'managerFailed'>;
  readonly clock: Clock;
  /** Called when the store has failed, so that the driver looks again later. */
  readonly again: () => void;
  readonly log: Logger;
}

/** Delay of the next submit after one that was not answered; it doubles with each further one. */
const SUBMIT_AGAIN_MS = 10_000;
const LONGEST_SUBMIT_AGAIN_MS = 5 * 60_000;

export class ManagerAnswers {
  readonly #options: ManagerAnswersOptions;
  /** Why the workload manager does not answer, as it is kept; undefined while that is not known: an earlier term may have kept another one. */
  #fault: string | null | undefined;
  /** Submits in a row that were not answered, and the time of the next one. */
  #failedSubmits = 0;
  #submitAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: ManagerAnswersOptions) {
    this.#options = options;
  }

  /** Forgets all, at the start of a term. */
  reset(): void {
    this.#fault = undefined;
    this.submitted();
  }

  get maySubmit(): boolean {
    return this.#options.clock.monotonicMs() >= this.#submitAtMs;
  }

  /** The answer of the workload manager; undefined when there is none. */
  async of<T>(ask: () => Promise<T>): Promise<T | undefined> {
    try {
      const answer = await ask();
      this.answered();
      return answer;
    } catch (error) {
      if (!(error instanceof WorkloadManagerError)) throw error;
      this.failed(error);
      return undefined;
    }
  }

  /** Takes note that submits are answered, or that none is wanted. */
  submitted(): void {
    this.#failedSubmits = 0;
    this.#submitAtMs = Number.NEGATIVE_INFINITY;
  }

  /** Delays the next submit; those of one moment count once. */
  notSubmitted(): void {
    if (!this.maySubmit) return;
    const delayMs = Math.min(LONGEST_SUBMIT_AGAIN_MS, SUBMIT_AGAIN_MS * 2 ** this.#failedSubmits);
    this.#submitAtMs = this.#options.clock.monotonicMs() + delayMs;
    this.#failedSubmits++;
  }

  /** The workload manager has answered a question, which says nothing about submits that fail. */
  answered(): void {
    if (this.#fault === null || (this.#failedSubmits > 0 && this.#fault !== undefined)) return;
    const hasFailed = this.#fault !== undefined;
    this.#setFault(null);
    const { log, recipe } = this.#options;
    if (hasFailed) log.info({ recipe }, 'the workload manager answers again');
  }

  failed({ message }: WorkloadManagerError): void {
    const { metrics, log, recipe } = this.#options;
    metrics.managerFailed();
    if (typeof this.#fault !== 'string')
      log.warn({ recipe, reason: message }, 'the workload manager does not answer; nothing is changed');
    if (this.#fault !== message) this.#setFault(message);
  }

  /** Keeps it for clients of any hub. */
  #setFault(fault: string | null): void {
    const { allocations, recipe, again, log } = this.#options;
    this.#fault = fault;
    allocations.note(recipe, { fault }).catch((error: unknown) => {
      this.#fault = undefined;
      log.error({ err: error, recipe }, 'the state of a recipe could not be kept');
      again();
    });
  }
}
