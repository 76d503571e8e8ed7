/** The end of a migration, by the hub that schedules: once no hub of an earlier generation works on the database, older rows are filled and
 *  what only those hubs needed is removed. */
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Clock, Timers } from '@workbench-hub/shared/runtime/runtime';
import { Rest } from '../cluster/common/rest.js';
import { CLUSTER_TIMINGS } from '../cluster/common/timings.js';
import type { Database } from '../connection/pool.js';
import { migrate } from './migrate.js';
import { type Migration, newestGeneration } from './migration.js';
import { appliedMigrations, liveHubs, missingMigrations, namesOf } from './schema-state.js';

const LOOK_EVERY_MS = 2000;
/** Time for which no hub of an earlier generation was seen: one that is restarted, in order or not, may come back. */
const ALONE_FOR_MS = CLUSTER_TIMINGS.lapseMs;
const RETRY_AFTER_MS = 60_000;
/** Time for which another process or the lock of a table is waited for; a hub that stops waits for it, too. */
const WAIT_MS = 4000;

export interface FinishingOptions {
  readonly migrations: readonly Migration[];
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: Logger;
  /** Name of this process, which no other has. */
  readonly holder: string;
  readonly hubId: string;
  readonly version: string;
}

export class FinishingMigration {
  readonly #database: Database;
  readonly #options: FinishingOptions;
  readonly #rest: Rest;
  #isWanted = false;
  #work: Promise<void> | undefined;
  #aloneSinceMs: number | undefined;
  #said = '';

  constructor(database: Database, options: FinishingOptions) {
    this.#database = database;
    this.#options = options;
    this.#rest = new Rest(options.timers);
  }

  begin(): void {
    if (this.#isWanted) return;
    this.#isWanted = true;
    this.#work = (this.#work ?? Promise.resolve()).then(() => this.#finish());
  }

  /** Begins nothing more. Resolves when a transaction that has begun has ended. */
  async end(): Promise<void> {
    this.#isWanted = false;
    this.#rest.wake();
    await this.#work;
  }

  async #finish(): Promise<void> {
    this.#aloneSinceMs = undefined;
    while (this.#isWanted) {
      let pauseMs = LOOK_EVERY_MS;
      try {
        if (await this.#isFinished()) return;
      } catch (error) {
        const words = 'the update of the tables could not be finished; the hub tries again in a minute';
        this.#options.log.warn({ err: error }, `${words}, and "workbench-hub store migrate" does it, too`);
        pauseMs = RETRY_AFTER_MS;
      }
      if (this.#isWanted) await this.#rest.wait(pauseMs);
    }
  }

  /** Does what can be done now; true when nothing is left. */
  async #isFinished(): Promise<boolean> {
    const { migrations, log } = this.#options;
    const missing = missingMigrations(await appliedMigrations(this.#database), migrations);
    if (missing.length === 0) return true;
    if (!(await this.#isAlone())) return false;
    const { done } = await migrate(this.#database, migrations, {
      ...this.#options,
      isWanted: () => this.#isWanted,
      waitMs: WAIT_MS,
    });
    if (done.length > 0) log.info({ done }, 'finished the update of the tables of the database');
    return done.length === missing.length;
  }

  async #isAlone(): Promise<boolean> {
    const { migrations, clock, log, hubId } = this.#options;
    const newest = newestGeneration(migrations);
    const earlier = (await liveHubs(this.#database, hubId)).filter(({ generation }) => generation < newest);
    if (earlier.length === 0) {
      this.#aloneSinceMs ??= clock.monotonicMs();
      return clock.monotonicMs() - this.#aloneSinceMs >= ALONE_FOR_MS;
    }
    this.#aloneSinceMs = undefined;
    const words = `the update of the tables is finished when they have ended: ${namesOf(earlier)}`;
    if (words !== this.#said) log.info(words);
    this.#said = words;
    return false;
  }
}
