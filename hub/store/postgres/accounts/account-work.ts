/**
 * Work on the accounts over connections that break. A write whose connection broke is repeated, so each write bears that: it is
 * idempotent, or recognizes what an earlier try has done. A statement on its own may still reach the server after its repetition has
 * ended. Writes that must not take place so late are transactions: only their commit can be outstanding, and until it is decided,
 * the repetition waits for the rows that the transaction has locked.
 */
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { pause } from '@workbench-hub/shared/runtime/pause';
import type { Clock, Timers } from '@workbench-hub/shared/runtime/runtime';
import { DatabaseFault, readError, storeError } from '../connection/database-fault.js';
import type { Database, Statement } from '../connection/pool.js';
import { HOLD_MS, isFinal, retryDelays } from '../connection/retry-policy.js';

export interface AccountRuntime {
  readonly clock: Clock;
  readonly timers: Timers;
  /** Null in commands, which print errors. */
  readonly log: Logger | null;
}

/** All reject with HubError for a fault of the database, which is logged. */
export class AccountWork {
  readonly #runtime: AccountRuntime;

  constructor(runtime: AccountRuntime) {
    this.#runtime = runtime;
  }

  async read<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw this.#logged(error, readError(error));
    }
  }

  /** Repeats a write whose connection broke. `isRepeat`: an earlier try may have taken effect. */
  async write<T>(work: (isRepeat: boolean) => Promise<T>): Promise<T> {
    const { clock, timers, log } = this.#runtime;
    const startedMs = clock.monotonicMs();
    let unknown: DatabaseFault | undefined;
    const delays = retryDelays();
    for (;;) {
      try {
        return await work(unknown !== undefined);
      } catch (error) {
        if (!(error instanceof DatabaseFault)) throw error;
        if (error.isOutcomeUnknown) unknown ??= error;
        const isPassing = mayPass(error, unknown !== undefined);
        const isOver = clock.monotonicMs() - startedMs >= HOLD_MS;
        // A last try that changed nothing says nothing of those before.
        if (!isPassing || isOver) throw this.#logged(error, storeError(unknown ?? error));
        log?.warn(
          { err: error },
          'the connection to the database broke; a change of the accounts is repeated',
        );
      }
      await pause(timers, delays.nextMs());
    }
  }

  /** Runs a statement that returns the rows that it changes, and changes none when it is repeated. Resolves with whether it changed
   *  any, in whatever try. */
  change(database: Database, statement: Statement, values: readonly unknown[]): Promise<boolean> {
    let hasChanged = false;
    return this.write(() =>
      database.transaction(async (queries) => {
        const rows = await queries.rows(statement, values);
        hasChanged ||= rows.length > 0;
        return hasChanged;
      }),
    );
  }

  #logged(error: unknown, translated: Error | undefined): unknown {
    if (translated === undefined) return error;
    this.#runtime.log?.error({ err: error }, 'the accounts in the database could not be used');
    return translated;
  }
}

/** Whether another try may succeed where one has failed. `isUnknown`: it, or one before, may have taken effect. */
function mayPass(fault: DatabaseFault, isUnknown: boolean): boolean {
  return isUnknown ? !isFinal(fault) && fault.kind !== 'TIMEOUT' : fault.kind === 'BROKEN';
}
