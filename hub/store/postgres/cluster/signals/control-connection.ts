/** The connection by which a hub hears other hubs and shows that it lives, apart from the pool, which may be exhausted. */
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Timer, Timers } from '@workbench-hub/shared/runtime/runtime';
import { DatabaseFault } from '../../connection/database-fault.js';
import type { Connection, Database, Queries, Statement } from '../../connection/pool.js';
import type { ClusterTimings } from '../common/timings.js';
import { WakeableDelay } from '../common/wakeable-delay.js';

const RECONNECT_EVERY_MS = 200;

export interface ControlOptions {
  readonly database: Database;
  readonly timers: Timers;
  readonly timings: ClusterTimings;
  readonly log: Logger;
  /** Channel of the notifications. */
  readonly channel: string;
}

export interface ControlListener {
  heard(payload: string): void;
  /** The connection was opened again: notifications may have been lost. */
  reopened(): void;
}

export class ControlConnection implements Pick<Queries, 'rows'> {
  readonly #options: ControlOptions;
  readonly #delay: WakeableDelay;
  #listener: ControlListener | undefined;
  #connection: Connection | undefined;
  #isClosed = false;

  constructor(options: ControlOptions) {
    this.#options = options;
    this.#delay = new WakeableDelay(options.timers);
  }

  /** Opens it, and again whenever it breaks. Rejects with `DatabaseFault` when it cannot be opened for the first time. */
  open(listener: ControlListener): Promise<void> {
    this.#listener = listener;
    return this.#open();
  }

  async #open(): Promise<void> {
    const { database, timings, channel } = this.#options;
    const connection = await database.connect({ statementTimeoutMs: timings.silenceMs });
    const isCurrent = () => this.#connection === connection;
    try {
      // A connection that was given up may still bring some.
      await this.#inTime(
        connection.listen(channel, (payload) => isCurrent() && this.#listener?.heard(payload)),
      );
    } catch (error) {
      end(connection);
      throw error;
    }
    if (this.#isClosed) return end(connection);
    this.#connection = connection;
    void connection.ended.then(() => this.#drop(connection));
  }

  /** Rejects with `DatabaseFault`, at once while the connection is broken. */
  async rows<Row extends object>(statement: Statement, values: readonly unknown[] = []): Promise<Row[]> {
    const connection = this.#connection;
    if (!connection) throw this.#fault('the connection is being opened', false);
    try {
      return await this.#inTime(connection.rows<Row>(statement, values));
    } catch (error) {
      if (!(error as Partial<DatabaseFault>).isConnectionUsable) this.#drop(connection);
      throw error;
    }
  }

  close(): void {
    this.#isClosed = true;
    this.#delay.wake();
    if (this.#connection) end(this.#connection);
    this.#connection = undefined;
  }

  async #inTime<T>(answer: Promise<T>): Promise<T> {
    const { timers, timings } = this.#options;
    let timer: Timer | undefined;
    const silence = new Promise<never>((_, reject) => {
      const end = () => reject(this.#fault('the server does not respond', true));
      // After a long turn of this process, a response may be there that is not read yet.
      timer = timers.after(timings.silenceMs, () => timers.soon(end));
    });
    try {
      return await Promise.race([answer, silence]);
    } finally {
      timer?.cancel();
    }
  }

  #fault(message: string, isOutcomeUnknown: boolean): DatabaseFault {
    const { location } = this.#options.database;
    return new DatabaseFault('BROKEN', new Error(message), { location, isOutcomeUnknown });
  }

  #drop(connection: Connection): void {
    if (this.#isClosed || this.#connection !== connection) return;
    this.#connection = undefined;
    end(connection);
    this.#options.log.warn('the connection on which this hub hears the other hubs broke; it is opened again');
    void this.#reopen();
  }

  async #reopen(): Promise<void> {
    while (!this.#isClosed) {
      try {
        await this.#open();
        return this.#isClosed ? undefined : this.#listener?.reopened();
      } catch {
        await this.#delay.wait(RECONNECT_EVERY_MS);
      }
    }
  }
}

function end(connection: Connection): void {
  connection.close().catch(() => undefined);
}
