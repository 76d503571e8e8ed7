import type { Clock } from '@workbench-hub/shared/runtime/runtime';

/** Minimum jump; corrections by hand or by NTP are smaller. */
const JUMP_MS = 10 * 60_000;

/** Time after a jump, which may be a mistake, during which nothing is removed by age. */
const DISTRUST_MS = 3_600_000;

/** Detects that the machine's clock has jumped ahead, so that seemingly expired data is not removed. */
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

  /** Jump ahead in milliseconds since the last call; 0 for none, and after a jump back. */
  measureJump(): number {
    const [wallMs, monotonicMs] = [this.#clock.nowMs(), this.#clock.monotonicMs()];
    const jumpMs = wallMs - this.#wallMs - (monotonicMs - this.#monotonicMs);
    this.#wallMs = wallMs;
    this.#monotonicMs = monotonicMs;
    if (jumpMs < JUMP_MS) {
      // The clock has been corrected.
      if (jumpMs <= -JUMP_MS) this.#trustedFromMs = monotonicMs;
      return 0;
    }
    this.#trustedFromMs = monotonicMs + DISTRUST_MS;
    return jumpMs;
  }

  /** Whether data may be removed by its age now. */
  readonly mayExpire = (): boolean => {
    this.measureJump();
    return this.isTrusted;
  };

  get isTrusted(): boolean {
    return this.#clock.monotonicMs() >= this.#trustedFromMs;
  }
}
