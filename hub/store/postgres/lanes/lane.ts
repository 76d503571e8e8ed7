/**
 * A lane: writes in a sequence of batches, one statement at a time, each of which is one transaction. Calls are gathered while a
 * batch is under way. A batch takes place exactly once, even when the response to its commit is lost: the row of the lane has the
 * number of the latest batch with its outcome, and a batch begins with the condition that the row is at its predecessor. So a
 * batch whose connection was lost is sent again; it waits for the lock of the row, and either takes place then or finds that it
 * has taken place. The condition names the incarnation of the hub, too, so that what is left of a former one changes nothing. It also
 * asks that no lane of the hub has lost a batch: a crash of the server may undo those that do not wait for its disk. A durable batch
 * that is found to have taken place is confirmed by another commit: a server that has restarted shows commits that its standby lacks.
 */
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Clock, Timers } from '@workbench-hub/shared/runtime/runtime';
import { HubError } from '../../../core/errors.js';
import type { StoreMetrics } from '../../../core/ports/metrics.js';
import { DatabaseFault, storeError } from '../connection/database-fault.js';
import type { Database } from '../connection/pool.js';
import { HOLD_MS, isFinal, retryDelays } from '../connection/retry-policy.js';
import { rowOf, rowsOf, type Values } from '../connection/statement.js';
import type { ClaimLog, NotedClaims } from './claim-log.js';
import type { LaneName } from './lane-names.js';
import { CONFIRM_BATCH, LANE_ROW, type LaneWrite } from './lane-statements.js';

/** Limit of the weights of a batch, by which a statement stays far below the limits of PostgreSQL. */
const MAX_BATCH_WEIGHT = 8_000_000;
const MAX_BATCH_CALLS = 1000;

/** Delay after which a client may try again. */
const RETRY_AFTER_S = 2;

export interface LaneOptions {
  readonly db: Database;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: Logger;
  readonly claims: ClaimLog;
  /** All lanes of the hub. */
  readonly all: () => readonly Lane[];
  /** No metrics when left out. */
  readonly metrics?: StoreMetrics | undefined;
  /** A batch took place. */
  readonly onWritten: (isDurable: boolean) => void;
  /** A durable batch took place, whose calls are not told yet. */
  readonly onDurable?: ((lane: LaneName, batch: number) => void) | undefined;
  /** The lane cannot continue: another hub has begun, or the database has lost what was confirmed. */
  readonly onBroken: (why: Error) => void;
}

/** A lane as it was opened. */
export interface OpenedLane {
  readonly id: number;
  readonly name: LaneName;
  readonly incarnation: string;
  /** Number of the latest batch. */
  readonly batch: number;
}

interface Pending {
  readonly write: LaneWrite<never, unknown>;
  readonly call: unknown;
  written(result: unknown): void;
  resolve(result: unknown): void;
  reject(error: unknown): void;
}

interface OutcomeRow {
  readonly outcome: unknown;
}

interface LaneState extends OutcomeRow {
  readonly incarnation: string;
  readonly batch: number;
  /** Whether any lane of the hub has lost batches, and durable ones. */
  readonly hasLost: boolean;
  readonly hasLostDurable: boolean;
}

/** A batch that took place: rows of its statement, or its outcome alone when its response was lost. */
type Written = { readonly rows: readonly OutcomeRow[] } | OutcomeRow;

/** A batch that is sent until it has taken place. */
interface Sending {
  readonly write: LaneWrite<never, unknown>;
  readonly calls: readonly never[];
  /** Values of the claims that it logs. */
  readonly logged: Values<string>;
  /** Undefined before the first try, and after a conflict. */
  values: Values<string> | undefined;
  /** Whether it may have taken place. */
  isUnknown: boolean;
}

const NO_CLAIMS: NotedClaims = { claims: [], batch: 0 };

export class Lane {
  readonly #options: LaneOptions;
  readonly #lane: OpenedLane;
  /** Number of the latest batch that took place, and of the latest durable one. */
  #batch: number;
  #durableBatch = 0;
  /** Number of the latest batch whose calls were told their results. */
  #told: number;
  #waiting: Pending[] = [];
  #work: Promise<void> | undefined;
  /** Time since which the database cannot be reached. After {@link HOLD_MS}, calls that are not under way are refused. */
  #unreachableSinceMs: number | undefined;
  #broken: HubError | undefined;
  #isClosed = false;
  /** Whether even a batch whose outcome is not known is given up while the database is out of reach. */
  #isStopping = false;
  #endWait: (() => void) | undefined;

  constructor(lane: OpenedLane, options: LaneOptions) {
    this.#options = options;
    this.#lane = lane;
    this.#batch = lane.batch;
    this.#told = lane.batch;
  }

  get id(): number {
    return this.#lane.id;
  }

  /** Numbers of the latest batch that took place, and of the latest durable one; zero for none since the start. */
  get written(): { readonly batch: number; readonly durableBatch: number } {
    return { batch: this.#batch, durableBatch: this.#durableBatch };
  }

  /** Number of the latest batch whose calls know their results. */
  get batch(): number {
    return this.#told;
  }

  /** Writes one call with the next batch. `written` is called before the promise resolves. Rejects with HubError
   *  `STORE_UNAVAILABLE` or `STORAGE_FULL`. */
  write<Call, Result, Parameter extends string>(
    write: LaneWrite<Call, Result, Parameter>,
    call: Call,
    written?: (result: Result) => void,
  ): Promise<Result> {
    if (this.#isClosed) return Promise.reject(closed());
    if (this.#broken) return Promise.reject(this.#broken);
    // Without a batch under way, the call finds out whether the database can be reached again.
    if (this.#work && this.#isUnreachable()) return Promise.reject(unreachable());
    return new Promise<Result>((resolve, reject) => {
      this.#waiting.push({
        write: write as unknown as LaneWrite<never, unknown>,
        call,
        written: (written ?? (() => undefined)) as (result: unknown) => void,
        resolve: resolve as (result: unknown) => void,
        reject,
      });
      if (!this.#work) this.#start();
    });
  }

  /** The hub stops: what waits for a database that has been out of reach for {@link HOLD_MS} is given up, whether or not it has taken
   *  place, so that nobody waits for it until the database is back. */
  beginStop(): void {
    this.#isStopping = true;
  }

  /** Writes what waits. Calls from now on reject with HubError `STORE_UNAVAILABLE`; so do those that cannot be written while the
   *  database is out of reach. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#endWait?.();
    await this.#work;
  }

  #start(): void {
    const { timers } = this.#options;
    this.#work = new Promise<void>((resolve) => {
      // Lets the other calls of this turn join the batch.
      timers.soon(() => resolve(this.#sendAll()));
    });
  }

  async #sendAll(): Promise<void> {
    while (this.#waiting.length > 0) await this.#send(this.#nextBatch());
    this.#work = undefined;
  }

  /** The first calls of the same kind that have no key in common. */
  #nextBatch(): Pending[] {
    const [first] = this.#waiting;
    if (!first) return [];
    const keys = new Set<string>();
    let weight = 0;
    const end = this.#waiting.findIndex(({ write, call }, at) => {
      if (write !== first.write || at >= MAX_BATCH_CALLS) return true;
      weight += write.weight?.(call as never) ?? 0;
      if (at > 0 && weight > MAX_BATCH_WEIGHT) return true;
      const own = write.keys(call as never);
      if (own.some((key) => keys.has(key))) return true;
      for (const key of own) keys.add(key);
      return false;
    });
    return this.#waiting.splice(0, end < 0 ? this.#waiting.length : end);
  }

  async #send(batch: readonly Pending[]): Promise<void> {
    const { claims, onWritten, onDurable, clock, metrics } = this.#options;
    const startedMs = clock.monotonicMs();
    const write = batch[0]?.write;
    if (!write) return;
    const calls = batch.map(({ call }) => call as never);
    const noted = write.isDurable ? claims.take() : NO_CLAIMS;
    let isWritten = false;
    try {
      const written = await this.#writeBatch(write, calls, noted);
      isWritten = true;
      metrics?.written(batch.length, clock.monotonicMs() - startedMs);
      this.#batch++;
      if (write.isDurable) {
        this.#durableBatch = this.#batch;
        onDurable?.(this.#lane.name, this.#batch);
        claims.logged(noted);
      }
      const results = await this.#resultsOf(write, calls, written);
      this.#told = this.#batch;
      for (const [at, { written: tell, resolve }] of batch.entries()) {
        tell(results[at]);
        resolve(results[at]);
      }
      onWritten(write.isDurable);
    } catch (error) {
      if (!isWritten) claims.giveBack(noted);
      await this.#failed(batch, error);
    }
  }

  /** One refused call must not fail the others of its batch, so each is sent alone. */
  async #failed(batch: readonly Pending[], error: unknown): Promise<void> {
    if (error instanceof DatabaseFault && error.kind === 'REFUSED' && batch.length > 1) {
      for (const pending of batch) await this.#send([pending]);
      return;
    }
    if (error instanceof DatabaseFault) {
      this.#options.log.error({ err: error, lane: this.#lane.name }, 'the database could not be written');
    }
    for (const { reject } of batch) {
      this.#options.metrics?.failed();
      reject(storeError(error) ?? error);
    }
  }

  /** Sends a batch until it is known to have taken place. Rejects when it has not, and will not. */
  async #writeBatch(
    write: LaneWrite<never, unknown>,
    calls: readonly never[],
    { claims, batch }: NotedClaims,
  ): Promise<Written> {
    const logged = write.isDurable ? { notedSeqs: claims.map(({ seq }) => seq), notedBatch: batch } : {};
    const sending: Sending = { write, calls, logged, values: undefined, isUnknown: false };
    const delays = retryDelays();
    for (;;) {
      try {
        const written = await this.#sendOnce(sending);
        this.#reached();
        if (written) return written;
      } catch (error) {
        if (!(error instanceof DatabaseFault)) throw error;
        this.#sendingFailed(sending, error);
      }
      await this.#wait(delays.nextMs());
    }
  }

  /** Sends a batch; undefined when it has not taken place, or is not confirmed. */
  async #sendOnce(sending: Sending): Promise<Written | undefined> {
    const { write, calls, logged } = sending;
    const { id, incarnation } = this.#lane;
    sending.values ??= { ...logged, ...(await write.values(calls)) };
    const own = { laneId: id, incarnation, batch: this.#batch + 1, ...this.#written() };
    const values = { ...own, ...sending.values };
    const rows = await rowsOf<OutcomeRow, string>(this.#options.db, write.statement, values);
    if (rows.length > 0) return { rows };
    const found = await this.#find(this.#batch + 1);
    sending.isUnknown = found !== undefined;
    if (!found || !write.isDurable) return found;
    // Until a batch that was found is confirmed, a standby without it may take over.
    return (await this.#confirm(this.#batch + 1)) ? found : undefined;
  }

  /** Throws unless the batch is sent again. */
  #sendingFailed(sending: Sending, fault: DatabaseFault): void {
    const { write } = sending;
    sending.isUnknown ||= fault.isOutcomeUnknown;
    this.#unreached(fault);
    if (fault.kind === 'CONFLICT') {
      write.conflicted?.();
      sending.values = undefined;
    }
    if (this.#mustGiveUp()) throw sending.isUnknown ? this.#endUncertain(fault) : fault;
    if (!sending.isUnknown && !this.#mayRepeat(fault)) throw fault;
  }

  #mustGiveUp(): boolean {
    return this.#isClosed || (this.#isStopping && this.#isUnreachable());
  }

  /** Whether a batch that has not taken place is sent again. */
  #mayRepeat(fault: DatabaseFault): boolean {
    return fault.kind === 'CONFLICT' || (!isFinal(fault) && !this.#isUnreachable());
  }

  /** Waits until a batch that took place is durable; false when the lane is no longer at it. */
  async #confirm(batch: number): Promise<boolean> {
    const values = { laneId: this.#lane.id, incarnation: this.#lane.incarnation, batch };
    return (await rowsOf(this.#options.db, CONFIRM_BATCH, values)).length > 0;
  }

  /** A batch that took place; undefined when it has not. Throws when the lane is not where it should be. */
  async #find(batch: number): Promise<OutcomeRow | undefined> {
    const durableBatches = this.#options.all().map(({ written }) => written.durableBatch);
    const values = { laneId: this.#lane.id, ...this.#written(), durableBatches };
    const row = await rowOf<LaneState, keyof typeof values>(this.#options.db, LANE_ROW, values);
    if (row?.incarnation !== this.#lane.incarnation) {
      throw this.#break('another hub uses this database, and this one may no longer write to it');
    }
    if (row.batch === batch) return { outcome: row.outcome };
    if (row.hasLostDurable || row.batch > batch) {
      throw this.#break('the database has lost changes that it had confirmed');
    }
    if (row.hasLost) {
      throw this.#break('the database server has crashed and lost claims that had not reached its disk');
    }
    return undefined;
  }

  #written(): { ownLanes: readonly number[]; writtenBatches: readonly number[] } {
    const all = this.#options.all();
    return { ownLanes: all.map(({ id }) => id), writtenBatches: all.map(({ written }) => written.batch) };
  }

  async #resultsOf(
    write: LaneWrite<never, unknown>,
    calls: readonly never[],
    written: Written,
  ): Promise<readonly unknown[]> {
    if ('rows' in written) return write.results(calls, written.rows[0]?.outcome, written.rows);
    if (!write.recall) return write.results(calls, written.outcome, []);
    const delays = retryDelays();
    for (;;) {
      try {
        const results = await write.recall(calls, written.outcome, this.#options.db);
        this.#reached();
        return results;
      } catch (error) {
        if (!(error instanceof DatabaseFault) || isFinal(error)) throw error;
        this.#unreached(error);
        if (this.#mustGiveUp()) throw error;
      }
      await this.#wait(delays.nextMs());
    }
  }

  #break(what: string): HubError {
    this.#broken = new HubError('STORE_UNAVAILABLE', `${what}; restart the hub`);
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const { reject } of waiting) reject(this.#broken);
    this.#options.onBroken(this.#broken);
    return this.#broken;
  }

  /** Ends the lane at a batch that may still take place: its number is given to no other. */
  #endUncertain(cause: DatabaseFault): HubError {
    this.#isClosed = true;
    for (const { reject } of this.#waiting.splice(0)) reject(closed());
    const message = 'the hub is stopping without its database; whether anything was changed is not known';
    return new HubError('STORE_UNAVAILABLE', message, { cause });
  }

  #reached(): void {
    if (this.#unreachableSinceMs === undefined) return;
    this.#unreachableSinceMs = undefined;
    this.#options.log.info({ lane: this.#lane.name }, 'the database can be written again');
  }

  #unreached(error: DatabaseFault): void {
    const { clock, log } = this.#options;
    if (error.kind === 'CONFLICT' || (isFinal(error) && !error.isOutcomeUnknown)) return;
    if (this.#unreachableSinceMs === undefined) {
      this.#unreachableSinceMs = clock.monotonicMs();
      log.warn({ err: error, lane: this.#lane.name }, 'the database cannot be reached; trying again');
    }
    if (!this.#isUnreachable()) return;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const { reject } of waiting) reject(unreachable());
  }

  #isUnreachable(): boolean {
    const since = this.#unreachableSinceMs;
    return since !== undefined && this.#options.clock.monotonicMs() - since >= HOLD_MS;
  }

  #wait(delayMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = this.#options.timers.after(delayMs, resolve);
      this.#endWait = () => {
        timer.cancel();
        resolve();
      };
    });
  }
}

function closed(): HubError {
  return new HubError('STORE_UNAVAILABLE', 'the hub is stopping; nothing was changed');
}

function unreachable(): HubError {
  return new HubError('STORE_UNAVAILABLE', 'the hub cannot use its database; nothing was changed', {
    retryAfterS: RETRY_AFTER_S,
  });
}
