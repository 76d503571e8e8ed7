import type { Clock } from '@workbench-hub/shared/runtime/runtime';

/** A clock that is set by hand or by its servers moves by less. */
const JUMP_MS = 10 * 60_000;

/** So long nothing is removed for its age after a jump, which may have been a mistake. */
const DISTRUST_MS = 3_600_000;

/** Tells when the machine's clock has jumped ahead: what seems to be past its time since then may not be. */
export class ClockWatch {
  readonly #clock: Clock;
  #wallMs: number;
  #monotonicMs: number;
  #trustedFromMs = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#wallMs = clock.nowMs();
    this.#monotonicMs = clock.monotonicMs();
  }

  /** Looks at the clock. Gives how far it has jumped ahead since the last look; 0 when it has not, or when it is back where it
   *  was. */
  look(): number {
    const [wallMs, monotonicMs] = [this.#clock.nowMs(), this.#clock.monotonicMs()];
    const jumpMs = wallMs - this.#wallMs - (monotonicMs - this.#monotonicMs);
    this.#wallMs = wallMs;
    this.#monotonicMs = monotonicMs;
    if (jumpMs < JUMP_MS) {
      // Set right again.
      if (jumpMs <= -JUMP_MS) this.#trustedFromMs = monotonicMs;
      return 0;
    }
    this.#trustedFromMs = monotonicMs + DISTRUST_MS;
    return jumpMs;
  }

  get isTrusted(): boolean {
    return this.#clock.monotonicMs() >= this.#trustedFromMs;
  }
}
