/** A term of the scheduler's role, which is renewed until it is lost or given up. */
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Clock, Timer, Timers } from '@workbench-hub/shared/runtime/runtime';
import type { Queries } from '../../connection/pool.js';
import { rowsOf, sql } from '../../connection/statement.js';
import { RELAXED } from '../common/hub-statements.js';
import type { ClusterTimings } from '../common/timings.js';
import { WakeableDelay } from '../common/wakeable-delay.js';

const RETRY_AFTER_MS = 200;

export const RENEW = sql(
  { term: 'bigint', incarnation: 'text', roleMs: 'bigint' },
  `WITH ${RELAXED}
   UPDATE scheduler_term SET until = clock_timestamp() + :roleMs * interval '1 millisecond' FROM relaxed
   WHERE term = :term AND incarnation = :incarnation RETURNING term`,
);

export interface TermOptions {
  readonly incarnation: string;
  readonly control: Pick<Queries, 'rows'>;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly timings: ClusterTimings;
  readonly log: Logger;
}

export class SchedulerTerm {
  readonly number: number;
  /** Resolves when the term is over; with true when it was given up, and is still renewed. */
  readonly over: Promise<boolean>;
  readonly #options: TermOptions;
  readonly #delay: WakeableDelay;
  #end: (isGivenUp: boolean) => void = () => undefined;
  #isOver = false;
  #isRenewed = true;
  #trustedUntilMs = 0;
  #trust: Timer | undefined;

  /** `sinceMs`: beginning of the attempt that gained it, by the monotonic clock. The term is over at once when that is too long ago. */
  constructor(number: number, sinceMs: number, options: TermOptions) {
    this.number = number;
    this.#options = options;
    this.#delay = new WakeableDelay(options.timers);
    this.over = new Promise((resolve) => {
      this.#end = resolve;
    });
    this.#trustFrom(sinceMs);
    void this.#renewAll();
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Lets {@link over} resolve; the term is renewed until {@link stop}. */
  giveUp(): void {
    this.#finish(true);
  }

  /** Renews it no more. */
  stop(): void {
    this.#isRenewed = false;
    this.#trust?.cancel();
    this.#delay.wake();
  }

  #finish(isGivenUp: boolean): void {
    if (!isGivenUp) this.stop();
    if (this.#isOver) return;
    this.#isOver = true;
    this.#end(isGivenUp);
  }

  #trustFrom(startedMs: number): void {
    const { timers, timings, clock } = this.#options;
    this.#trustedUntilMs = startedMs + timings.trustRoleMs;
    this.#trust?.cancel();
    const remainingMs = this.#trustedUntilMs - clock.monotonicMs();
    // The whole process may have been paused before it read the response.
    if (remainingMs <= 0) this.#lose('could not be renewed');
    else this.#trust = timers.after(remainingMs, () => this.#lose('could not be renewed'));
  }

  #lose(why: string): void {
    if (!this.#isRenewed) return;
    this.#options.log.warn({ term: this.number }, `the scheduler's role ${why}`);
    this.#finish(false);
  }

  async #renewAll(): Promise<void> {
    const { timings, clock, control, incarnation } = this.#options;
    const values = { term: this.number, incarnation, roleMs: timings.roleMs };
    let delayMs = timings.renewRoleMs;
    for (;;) {
      await this.#delay.wait(delayMs);
      const startedMs = clock.monotonicMs();
      // After a pause of the whole process, its timers may be late.
      if (startedMs >= this.#trustedUntilMs) this.#lose('could not be renewed');
      if (!this.#isRenewed) return;
      try {
        const rows = await rowsOf(control, RENEW, values);
        if (!this.#isRenewed) return;
        if (rows.length === 0) return this.#lose("is another hub's");
        this.#trustFrom(startedMs);
        delayMs = startedMs + timings.renewRoleMs - clock.monotonicMs();
      } catch {
        delayMs = RETRY_AFTER_MS;
      }
    }
  }
}
