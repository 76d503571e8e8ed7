/** Which receivers of webhooks are busy or down at present. Nothing is kept of one that is neither. */
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Clock } from '@workbench-hub/shared/runtime/runtime';
import type { SendOutcome } from '../../core/ports/webhook-sender.js';
import { originOf } from '../../core/webhook-addresses.js';
import { receiverPauseMs } from '../../core/webhook-schedule.js';

/** Tries at the same time, and those at the receivers of one origin. */
const MAX_TRIES = 32;
const MAX_TRIES_OF_ORIGIN = 8;

interface ReceiverState {
  tries: number;
  /** Failures in a row for which the receiver is to blame. */
  failures: number;
  /** Monotonic time before which it gets nothing. */
  pausedUntilMs: number;
}

export class WebhookReceivers {
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #states = new Map<string, ReceiverState>();
  /** Tries by origin. */
  readonly #origins = new Map<string, number>();
  #tries = 0;

  constructor(clock: Clock, log: Logger) {
    this.#clock = clock;
    this.#log = log;
  }

  /** Number of tries that can begin now. One receiver that is down is tried by one message at a time. */
  capacityOf(receiver: string): number {
    const { tries, failures } = this.#stateOf(receiver);
    const ofReceiver = failures > 0 ? 1 - tries : MAX_TRIES_OF_ORIGIN;
    const ofOrigin = MAX_TRIES_OF_ORIGIN - this.triesAt(receiver);
    return Math.max(Math.min(ofReceiver, ofOrigin, MAX_TRIES - this.#tries), 0);
  }

  /** Tries at the origin of this receiver. */
  triesAt(receiver: string): number {
    return this.#origins.get(originOf(receiver)) ?? 0;
  }

  /** Time for which a receiver gets nothing. */
  pauseMs(receiver: string): number {
    return Math.max(this.#stateOf(receiver).pausedUntilMs - this.#clock.monotonicMs(), 0);
  }

  began(receiver: string): void {
    const state = this.#stateOf(receiver);
    state.tries++;
    this.#tries++;
    this.#origins.set(originOf(receiver), this.triesAt(receiver) + 1);
    this.#states.set(receiver, state);
  }

  /** A try has ended; null: it was broken off. */
  ended(receiver: string, outcome: SendOutcome | null): void {
    const state = this.#stateOf(receiver);
    state.tries--;
    this.#tries--;
    const ofOrigin = this.triesAt(receiver) - 1;
    if (ofOrigin > 0) this.#origins.set(originOf(receiver), ofOrigin);
    else this.#origins.delete(originOf(receiver));
    if (outcome?.kind === 'FAILED' && outcome.receiver === 'DOWN') this.#failed(receiver, state, outcome);
    else if (hasResponded(outcome) && state.failures > 0) {
      this.#log.info({ receiver, failures: state.failures }, 'the receiver of webhooks responds again');
      state.failures = 0;
      state.pausedUntilMs = 0;
    }
    if (state.tries === 0 && state.failures === 0) this.#states.delete(receiver);
  }

  #failed(
    receiver: string,
    state: ReceiverState,
    { fault, retryAfterMs }: Extract<SendOutcome, { kind: 'FAILED' }>,
  ): void {
    state.failures++;
    const pauseMs = receiverPauseMs(state.failures, retryAfterMs);
    state.pausedUntilMs = this.#clock.monotonicMs() + pauseMs;
    if (state.failures > 1) return;
    this.#log.warn(
      { receiver, fault },
      'the receiver of webhooks takes none at present: deliveries wait, and it is tried again and again',
    );
  }

  #stateOf(receiver: string): ReceiverState {
    return this.#states.get(receiver) ?? { tries: 0, failures: 0, pausedUntilMs: 0 };
  }
}

function hasResponded(outcome: SendOutcome | null): boolean {
  return outcome?.kind === 'DELIVERED' || outcome?.receiver === 'UP';
}
