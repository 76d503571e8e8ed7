/** The end of a migration, by the hub that schedules: once no hub of an earlier generation works on the database, older rows are filled and
 *  what only those hubs needed is removed. */
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { Loop } from '@workbench-hub/shared/runtime/loop';
import type { Clock, Timers } from '@workbench-hub/shared/runtime/runtime';
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
  readonly #loop: Loop;
  #aloneSinceMs: number | undefined;
  #said = '';

  constructor(database: Database, options: FinishingOptions) {
    this.#database = database;
    this.#options = options;
    this.#loop = new Loop({
      timers: options.timers,
      pass: async () => ((await this.#isFinished()) ? undefined : LOOK_EVERY_MS),
      failed: (error) => {
        const words = 'the update of the tables could not be finished; the hub tries again in a minute';
        options.log.warn({ err: error }, `${words}, and "workbench-hub store migrate" does it, too`);
        return RETRY_AFTER_MS;
      },
      isStopped: true,
    });
  }

  begin(): void {
    if (!this.#loop.isStopped) return;
    this.#aloneSinceMs = undefined;
    this.#loop.start();
  }

  /** Begins nothing more. Resolves when a transaction that has begun has ended. */
  end(): Promise<void> {
    return this.#loop.stop();
  }

  /** Does what can be done now; true when nothing is left. */
  async #isFinished(): Promise<boolean> {
    const { migrations, log } = this.#options;
    const missing = missingMigrations(await appliedMigrations(this.#database), migrations);
    if (missing.length === 0) return true;
    if (!(await this.#isAlone())) return false;
    const { done } = await migrate(this.#database, migrations, {
      ...this.#options,
      isWanted: () => !this.#loop.isStopped,
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
