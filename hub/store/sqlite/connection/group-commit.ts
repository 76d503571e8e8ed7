/**
 * Group commit: all operations of one turn of the event loop are written in one transaction. Durable ones resolve when it is
 * synced to disk, which does not block the hub's thread: further groups are written meanwhile, and one sync covers all
 * that were written before it began.
 */
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Clock, Timers } from '@workbench-hub/shared/runtime/runtime';
import type { StoreMetrics } from '../../../core/ports/metrics.js';
import type { BallastFile } from './ballast-file.js';
import type { CommitWatermark } from './commit-watermark.js';
import type { SqliteDatabase } from './database.js';
import { isFull, storeClosed, storeError } from './store-error.js';

interface Operation {
  readonly durable: boolean;
  /** May use the ballast on a full disk. */
  readonly frees: boolean;
  work(): unknown;
  written?: ((result: never) => void) | undefined;
  resolve(result: unknown): void;
  reject(error: unknown): void;
}

export interface GroupCommitOptions {
  readonly timers: Timers;
  readonly log: Logger;
  /** Makes all earlier writes durable. */
  readonly sync: () => Promise<void>;
  /** No transactions are counted when left out. */
  readonly watermark?: Pick<CommitWatermark, 'count' | 'confirm'>;
  /** No disk space is reserved when left out. */
  readonly ballast?: Pick<BallastFile, 'release' | 'take'>;
  /** The state on the disk is unknown after a failed sync: the hub must not continue. */
  readonly onSyncFailed: (error: unknown) => void;
  /** No metrics when left out. */
  readonly watch?: StoreWatch | undefined;
}

export interface StoreWatch {
  readonly clock: Clock;
  readonly metrics: StoreMetrics;
}

/** Takes part in each transaction. */
export interface TransactionPart {
  /** Called at its end, within it. */
  beforeCommit(): void;
  committed(): void;
  rolledBack(): void;
}

export class GroupCommit {
  readonly #options: GroupCommitOptions;
  readonly #begin;
  readonly #commit;
  readonly #rollback;
  readonly #db: SqliteDatabase;
  readonly #onRollback: (() => void)[] = [];
  readonly #parts: TransactionPart[] = [];
  readonly #onSync: (() => () => void)[] = [];
  #waiting: Operation[] = [];
  /** Resolved after the next sync. */
  #unsynced: (() => void)[] = [];
  #syncing: Promise<void> | undefined;
  /** Number of the last transaction with a durable operation. */
  #counted = 0;
  #isClosed = false;

  constructor(db: SqliteDatabase, options: GroupCommitOptions) {
    this.#db = db;
    this.#options = options;
    this.#begin = db.prepare('BEGIN IMMEDIATE');
    this.#commit = db.prepare('COMMIT');
    this.#rollback = db.prepare('ROLLBACK');
  }

  /** Runs `work` in the next group; resolves with its result when it is synced. `written` is called after the commit, when
   *  others can read it. */
  durable<T>(work: () => T, written?: (result: T) => void): Promise<T> {
    return this.#enqueue(work, { durable: true, frees: false }, written);
  }

  /** Does the same as {@link durable} without waiting for a sync: survives a crash of the process, and a loss of power after the next
   *  sync. */
  relaxed<T>(work: () => T): Promise<T> {
    return this.#enqueue(work, { durable: false, frees: false });
  }

  /** Either kind for operations that free space or prepare that: they are written even on a full disk, as long as the ballast
   *  lasts. */
  freeing<T>(work: () => T, { durable }: { durable: boolean } = { durable: true }): Promise<T> {
    return this.#enqueue(work, { durable, frees: true });
  }

  /** Registers a cache of rows to be cleared after a rollback. */
  onRollback(forget: () => void): void {
    this.#onRollback.push(forget);
  }

  /** Adds a part of each transaction. */
  onTransaction(part: TransactionPart): void {
    this.#parts.push(part);
  }

  /** Calls `begins` before each sync, and what that returns when the sync has succeeded: all that was committed before is
   *  durable then. */
  onSync(begins: () => () => void): void {
    this.#onSync.push(begins);
  }

  /** Syncs what was committed so far, also when no durable operation waits for that. */
  syncNow(): void {
    if (this.#isClosed) return;
    this.#unsynced.push(() => undefined);
    this.#syncing ??= this.#syncAll();
  }

  /** Writes all waiting operations. */
  flush(): void {
    const group = this.#waiting;
    if (group.length === 0) return;
    this.#waiting = [];
    let results: unknown[];
    try {
      results = this.#transaction(group);
    } catch (error) {
      // One failing operation must not fail its neighbors, so each is retried alone.
      const [first] = group;
      if (first && group.length === 1 && !first.frees) first.reject(this.#translate(error));
      else for (const operation of group) this.#alone(operation);
      return;
    }
    for (const [index, operation] of group.entries()) this.#settle(operation, results[index]);
  }

  /** Writes and syncs what waits. Operations from now on reject with HubError `STORE_UNAVAILABLE`. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.flush();
    await this.#syncing;
  }

  #enqueue<T>(
    work: () => T,
    kind: Pick<Operation, 'durable' | 'frees'>,
    written?: (result: T) => void,
  ): Promise<T> {
    if (this.#isClosed) return Promise.reject(storeClosed());
    return new Promise<T>((resolve, reject) => {
      if (this.#waiting.length === 0) this.#options.timers.soon(() => this.flush());
      const { durable, frees } = kind;
      this.#waiting.push({ durable, frees, work, written, resolve: resolve as Operation['resolve'], reject });
    });
  }

  #alone(operation: Operation): void {
    let result: unknown;
    try {
      result = this.#writeAlone(operation);
    } catch (error) {
      operation.reject(this.#translate(error));
      return;
    }
    this.#settle(operation, result);
  }

  #writeAlone(operation: Operation): unknown {
    try {
      return this.#transaction([operation])[0];
    } catch (error) {
      const { ballast } = this.#options;
      if (!ballast || !operation.frees || !isFull(error)) throw error;
      // Taken back in the same turn, before others can use the space.
      ballast.release();
      try {
        return this.#transaction([operation])[0];
      } finally {
        ballast.take();
      }
    }
  }

  #settle({ durable, written, resolve }: Operation, result: unknown): void {
    written?.(result as never);
    if (durable) {
      this.#unsynced.push(() => resolve(result));
      this.#syncing ??= this.#syncAll();
    } else resolve(result);
  }

  async #syncAll(): Promise<void> {
    // Lets the rest of this group join the sync.
    await Promise.resolve();
    while (this.#unsynced.length > 0) {
      const covered = this.#unsynced;
      this.#unsynced = [];
      const counted = this.#counted;
      const succeeded = this.#onSync.map((begins) => begins());
      try {
        await this.#sync();
        this.#options.watermark?.confirm(counted);
        for (const tell of succeeded) tell();
      } catch (error) {
        // The operations stay pending: a restart reads the state of the disk.
        this.#options.log.fatal({ err: error }, 'the database could not be synced to disk');
        this.#options.onSyncFailed(error);
        return;
      }
      for (const resolve of covered) resolve();
    }
    this.#syncing = undefined;
  }

  async #sync(): Promise<void> {
    const { sync, watch } = this.#options;
    const startedMs = watch?.clock.monotonicMs() ?? 0;
    await sync();
    watch?.metrics.synced(watch.clock.monotonicMs() - startedMs);
  }

  #transaction(group: readonly Operation[]): unknown[] {
    const { watch, watermark } = this.#options;
    const startedMs = watch?.clock.monotonicMs() ?? 0;
    this.#begin.run();
    try {
      const results = group.map((operation) => operation.work());
      for (const part of this.#parts) part.beforeCommit();
      const isConfirmedLater = watermark && group.some(({ durable }) => durable);
      const counted = isConfirmedLater ? watermark.count() : this.#counted;
      this.#commit.run();
      this.#counted = counted;
      for (const part of this.#parts) part.committed();
      watch?.metrics.written(group.length, watch.clock.monotonicMs() - startedMs);
      return results;
    } catch (error) {
      if (this.#db.inTransaction) this.#rollback.run();
      for (const forget of this.#onRollback) forget();
      for (const part of this.#parts) part.rolledBack();
      throw error;
    }
  }

  #translate(error: unknown): unknown {
    const translated = storeError(error);
    if (translated !== undefined) {
      this.#options.watch?.metrics.failed();
      this.#options.log.error({ err: error }, 'the database could not be written');
    }
    return translated ?? error;
  }
}
