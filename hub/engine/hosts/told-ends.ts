/**
 * Ends of hosts as their agents have been told them. An agent counts the wall time from its own start; the workload manager may count from an earlier
 * moment, or grant less. So the hub tells the agent the end that the workload manager states (decision 0100).
 */
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { messageOf } from '@workbench-hub/shared/runtime/message-of';
import type { Clock } from '@workbench-hub/shared/runtime/runtime';
import { STOP_BEFORE_MS } from '../../core/hosts/host-end.js';
import type { Relay } from '../../core/ports/relay.js';
import type { Instances } from '../instances/instances.js';

export interface ToldEndsOptions {
  readonly relay: Pick<Relay, 'ask'>;
  readonly instances: Pick<Instances, 'isReady'>;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Difference by which an end is the one that the agent knows. */
const SAME_END_MS = 5000;
/** Time until an agent that could not be told, or is of an older version, is told again. */
const AGAIN_MS = 30_000;
const ANSWER_LIMIT_MS = 10_000;

interface Told {
  /** End of the host by the clock that is never set; what is left may be a little less. */
  readonly endsAtMs: number;
  /** Time at which the agent did not take it; undefined while it may have. */
  failedAtMs?: number;
}

export class ToldEnds {
  readonly #options: ToldEndsOptions;
  readonly #told = new Map<string, Told>();

  constructor(options: ToldEndsOptions) {
    this.#options = options;
  }

  /** Tells the agent of an allocation when to stop, if it has joined and does not know. `remainingMs` is what was left of its time at `askedAtMs`, by
   *  the clock that is never set. */
  tell(id: string, remainingMs: number, askedAtMs: number): void {
    const endsAtMs = askedAtMs + Math.floor(remainingMs);
    if (!this.#options.instances.isReady(id) || this.#knows(id, endsAtMs)) return;
    const told: Told = { endsAtMs };
    this.#told.set(id, told);
    void this.#ask(id, told);
  }

  /** The agent has joined anew, or its allocation is over. */
  forget(id: string): void {
    this.#told.delete(id);
  }

  clear(): void {
    this.#told.clear();
  }

  #knows(id: string, endsAtMs: number): boolean {
    const told = this.#told.get(id);
    if (told === undefined || Math.abs(told.endsAtMs - endsAtMs) >= SAME_END_MS) return false;
    return told.failedAtMs === undefined || this.#options.clock.monotonicMs() - told.failedAtMs < AGAIN_MS;
  }

  async #ask(id: string, told: Told): Promise<void> {
    const { relay, clock, log } = this.#options;
    const afterMs = Math.max(0, told.endsAtMs - STOP_BEFORE_MS - clock.monotonicMs());
    try {
      await relay.ask(id, { kind: 'stopAfter', afterMs }, ANSWER_LIMIT_MS);
    } catch (error) {
      told.failedAtMs = clock.monotonicMs();
      log.info(
        { allocation: id, reason: messageOf(error) },
        'an agent could not be told the end of its host',
      );
    }
  }
}
