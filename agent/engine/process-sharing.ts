import type { Clock } from '@workbench-hub/shared/runtime/runtime';

/** Time after a crash with unknown cause in which each start is one of a process of its own. */
const APART_MS = 10 * 60_000;

/** Decides whether the instances of a configuration entry start in a common process. */
export class ProcessSharing {
  readonly #name: string;
  readonly #clock: Clock;
  #apartUntilMs = Number.NEGATIVE_INFINITY;

  constructor(name: string, clock: Clock) {
    this.#name = name;
    this.#clock = clock;
  }

  /** Name of the common process for a start now; null for a process of its own. */
  get commonProcess(): string | null {
    return this.#clock.monotonicMs() < this.#apartUntilMs ? null : this.#name;
  }

  /** The common process crashed while several instances worked. The next starts are apart: then only the job that causes such a
   *  crash is lost, and counted. */
  crashed(): void {
    this.#apartUntilMs = this.#clock.monotonicMs() + APART_MS;
  }
}
