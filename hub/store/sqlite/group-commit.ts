/**
 * One transaction for all who wait. What callers hand in during one turn of the event loop is written in one
 * transaction with one sync to disk, and then every caller is told. While that sync is under way the next group
 * gathers in the sockets, so the group grows with the load.
 */
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Timers } from '@workbench-hub/shared/runtime/runtime';
import Database from 'better-sqlite3';
import { HubError } from '../../core/errors.js';
import type { SqliteDatabase } from './database.js';

interface Operation {
  work(): unknown;
  resolve(result: unknown): void;
  reject(error: unknown): void;
}

export class GroupCommit {
  readonly #db: SqliteDatabase;
  readonly #timers: Timers;
  readonly #log: Logger;
  readonly #onRollback: (() => void)[] = [];
  #waiting: Operation[] = [];
  #durable = false;
  #synchronous: 'FULL' | 'NORMAL' = 'FULL';

  constructor(db: SqliteDatabase, timers: Timers, log: Logger) {
    this.#db = db;
    this.#timers = timers;
    this.#log = log;
  }

  /** Runs `work` in the next group; resolves with what it gives when it is synced to disk. */
  durable<T>(work: () => T): Promise<T> {
    this.#durable = true;
    return this.#enqueue(work);
  }

  /** The same without a sync of its own: safe when the process dies, and covered by the next durable group when the
   *  machine does. */
  relaxed<T>(work: () => T): Promise<T> {
    return this.#enqueue(work);
  }

  /** For what remembers rows of its own: called when a transaction was rolled back. */
  onRollback(forget: () => void): void {
    this.#onRollback.push(forget);
  }

  /** Writes what waits now. */
  flush(): void {
    const group = this.#waiting;
    if (group.length === 0) return;
    const durable = this.#durable;
    this.#waiting = [];
    this.#durable = false;
    try {
      const results = this.#transaction(group, durable);
      for (const [index, operation] of group.entries()) operation.resolve(results[index]);
    } catch (error) {
      // One operation must not take its neighbours down: alone, each succeeds or fails by itself.
      if (group.length === 1) group[0]?.reject(this.#translate(error));
      else for (const operation of group) this.#alone(operation, durable);
    }
  }

  #enqueue<T>(work: () => T): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (this.#waiting.length === 0) this.#timers.soon(() => this.flush());
      this.#waiting.push({ work, resolve: resolve as (result: unknown) => void, reject });
    });
  }

  #alone(operation: Operation, durable: boolean): void {
    try {
      operation.resolve(this.#transaction([operation], durable)[0]);
    } catch (error) {
      operation.reject(this.#translate(error));
    }
  }

  #transaction(group: readonly Operation[], durable: boolean): unknown[] {
    const synchronous = durable ? 'FULL' : 'NORMAL';
    if (synchronous !== this.#synchronous) {
      this.#db.exec(`PRAGMA synchronous = ${synchronous}`);
      this.#synchronous = synchronous;
    }
    this.#db.exec('BEGIN IMMEDIATE');
    try {
      const results = group.map((operation) => operation.work());
      this.#db.exec('COMMIT');
      return results;
    } catch (error) {
      if (this.#db.inTransaction) this.#db.exec('ROLLBACK');
      for (const forget of this.#onRollback) forget();
      throw error;
    }
  }

  #translate(error: unknown): unknown {
    if (!(error instanceof Database.SqliteError)) return error;
    this.#log.error({ err: error }, 'the database could not be written');
    if (error.code === 'SQLITE_FULL') {
      return new HubError('STORAGE_FULL', 'the disk of the hub is full; nothing was changed', {
        cause: error,
      });
    }
    return new HubError('STORE_UNAVAILABLE', 'the hub cannot write its database; nothing was changed', {
      cause: error,
    });
  }
}
