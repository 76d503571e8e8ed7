import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { type Loop, periodicLoop } from '@workbench-hub/shared/runtime/loop';
import type { Timers } from '@workbench-hub/shared/runtime/runtime';
import { type Database, statement } from './pool.js';

const ASK_EVERY_MS = 1000;

/** Time after which a response is late. */
const LATE_AFTER_MS = 3000;

const ANYTHING = statement('SELECT 1');

/** Whether the server responds. It is asked again and again, since a connection without statements does not show it. */
export class Reachability {
  readonly #database: Database;
  readonly #timers: Timers;
  readonly #log: Logger;
  readonly #loop: Loop;
  #isReachable = true;

  constructor(database: Database, timers: Timers, log: Logger) {
    this.#database = database;
    this.#timers = timers;
    this.#log = log;
    this.#loop = periodicLoop(ASK_EVERY_MS, { timers, pass: () => this.#ask() });
    this.#loop.start(ASK_EVERY_MS);
  }

  get isReachable(): boolean {
    return this.#isReachable;
  }

  close(): void {
    void this.#loop.stop();
  }

  async #ask(): Promise<void> {
    const late = this.#timers.after(LATE_AFTER_MS, () => this.#found(false, 'it does not respond'));
    try {
      await this.#database.rows(ANYTHING);
      this.#found(true);
    } catch (error) {
      this.#found(false, (error as Error).message);
    } finally {
      late.cancel();
    }
  }

  #found(isReachable: boolean, why?: string): void {
    if (isReachable === this.#isReachable || this.#loop.isStopped) return;
    this.#isReachable = isReachable;
    const { location } = this.#database;
    if (isReachable) this.#log.info({ database: location }, 'the database responds again');
    else
      this.#log.error(
        { database: location, why },
        'the database is away: requests that need it are refused until it is back',
      );
  }
}
