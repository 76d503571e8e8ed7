/** The scheduler's role among the hubs of a database: a row with its holder and the end of its right, which the holder renews. */
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { RoleHolder, Roles } from '../../../../core/ports/roles.js';
import { DatabaseFault } from '../../connection/database-fault.js';
import { rowOf, rowsOf, sql } from '../../connection/statement.js';
import type { StatementRetries } from '../common/statement-retries.js';
import { WakeableDelay } from '../common/wakeable-delay.js';
import { SchedulerTerm, type TermOptions } from './scheduler-term.js';

/** A new term, unless another hub has the role. What an earlier start of the hub had ends with it, and so does a term that ends later
 *  than a renewal can say: the clock of the server has been set back. Waits for the claims of the term
 *  before that are being committed, and for the disk, so that no number is used twice. */
export const GAIN = sql(
  { hubId: 'text', incarnation: 'text', roleMs: 'bigint' },
  `WITH free AS (
     SELECT only_row FROM scheduler_term
     WHERE (holder IS NULL OR holder = :hubId OR until < clock_timestamp()
         OR until > clock_timestamp() + 2 * :roleMs * interval '1 millisecond')
       AND EXISTS (SELECT FROM hub WHERE hub.id = :hubId AND hub.incarnation = :incarnation)
     FOR UPDATE)
   UPDATE scheduler_term SET term = term + 1, holder = :hubId, incarnation = :incarnation,
     until = clock_timestamp() + :roleMs * interval '1 millisecond'
   FROM free WHERE scheduler_term.only_row = free.only_row
   RETURNING term`,
);

export const GIVE_UP = sql(
  { term: 'bigint', incarnation: 'text' },
  'UPDATE scheduler_term SET holder = NULL, until = NULL WHERE term = :term AND incarnation = :incarnation RETURNING term',
);

export interface SchedulerRoleOptions extends TermOptions {
  readonly hubId: string;
  readonly retries: StatementRetries;
  readonly log: Logger;
  /** The role is free; called after that is written. */
  readonly onFree: () => void;
}

export class SchedulerRole implements Roles {
  readonly #options: SchedulerRoleOptions;
  readonly #delay: WakeableDelay;
  #isContending = false;
  #term: SchedulerTerm | undefined;
  #work: Promise<void> | undefined;

  constructor(options: SchedulerRoleOptions) {
    this.#options = options;
    this.#delay = new WakeableDelay(options.timers);
  }

  /** Whether this hub has the role. */
  get isHeld(): boolean {
    return this.#term?.isOver === false;
  }

  async contend(holder: RoleHolder): Promise<void> {
    this.#isContending = true;
    const first = this.#begin(holder, () => this.#options.retries.run(() => this.#gain()));
    this.#work = first.then(
      (term) => this.#contendOn(holder, term),
      () => undefined,
    );
    await first;
  }

  async resign(): Promise<void> {
    this.#isContending = false;
    this.#term?.giveUp();
    this.#delay.wake();
    await this.#work;
  }

  /** The role may be free: tries for it at once. */
  tryNow(): void {
    if (this.#isContending && !this.isHeld) this.#delay.wake();
  }

  async #contendOn(holder: RoleHolder, first: SchedulerTerm | undefined): Promise<void> {
    const { timings, log } = this.#options;
    let term = first;
    for (;;) {
      if (term) await this.#end(term, holder);
      if (!this.#isContending) return;
      await this.#delay.wait(timings.contendMs);
      if (!this.#isContending) return;
      try {
        term = await this.#begin(holder, () => this.#gain());
      } catch (error) {
        term = undefined;
        // Without its database, each hub tries again and again.
        if (!(error instanceof DatabaseFault))
          log.error({ err: error }, 'the hub could not begin as the scheduler; it tries again');
      }
    }
  }

  /** Resolves with the term that has begun; undefined when there is none. */
  async #begin(
    holder: RoleHolder,
    gain: () => Promise<SchedulerTerm | undefined>,
  ): Promise<SchedulerTerm | undefined> {
    const term = await gain();
    if (!term || term.isOver) return undefined;
    this.#term = term;
    try {
      // The hub may have resigned meanwhile.
      if (!this.#isContending) throw new Error('the hub has resigned');
      await holder.gained(term.number);
    } catch (error) {
      term.giveUp();
      await this.#free(term);
      if (this.#isContending) throw error;
      return undefined;
    }
    this.#options.log.info({ term: term.number }, "this hub has the scheduler's role");
    return term;
  }

  /** Rejects with `DatabaseFault`. */
  async #gain(): Promise<SchedulerTerm | undefined> {
    const { control, hubId, incarnation, timings, clock } = this.#options;
    const startedMs = clock.monotonicMs();
    const values = { hubId, incarnation, roleMs: timings.roleMs };
    const row = await rowOf<{ term: number }, keyof typeof values>(control, GAIN, values);
    return row && new SchedulerTerm(row.term, startedMs, this.#options);
  }

  /** Waits for the end of a term that has begun, and ends what is done in it. */
  async #end(term: SchedulerTerm, holder: RoleHolder): Promise<void> {
    const isGivenUp = await term.over;
    await holder.lost().catch((error: unknown) => {
      this.#options.log.error({ err: error }, 'the work of the scheduler did not end in order');
    });
    if (isGivenUp) await this.#free(term);
  }

  async #free(term: SchedulerTerm): Promise<void> {
    const { control, incarnation, log, onFree } = this.#options;
    term.stop();
    try {
      await rowsOf(control, GIVE_UP, { term: term.number, incarnation });
      onFree();
    } catch (error) {
      log.warn({ err: error }, "the scheduler's role could not be given up; it lapses");
    }
  }
}
