/** The row of this hub, which shows that it lives, and those of the others. */
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { Loop } from '@workbench-hub/shared/runtime/loop';
import { pause } from '@workbench-hub/shared/runtime/pause';
import { StartRefused } from '@workbench-hub/shared/runtime/run-program';
import type { Clock, Timers } from '@workbench-hub/shared/runtime/runtime';
import type { Hubs, HubView } from '../../../../core/ports/hubs.js';
import type { Database, Queries } from '../../connection/pool.js';
import { rowOf, rowsOf } from '../../connection/statement.js';
import {
  DISCONNECT_AGENTS,
  HEARTBEAT,
  type HeartbeatRow,
  LOCK_HUB,
  REGISTER,
  REMOVE_HUB,
  SET_ADDRESS,
  SWEEP,
} from '../common/hub-statements.js';
import type { StatementRetries } from '../common/statement-retries.js';
import type { ClusterTimings } from '../common/timings.js';
import { readHubs } from './hub-views.js';

const POLL_EVERY_MS = 200;
const SWEEP_EVERY_MS = 60_000;

/** A hub as its row has it. */
export interface HubSelf {
  readonly hubId: string;
  /** Name of this start of the hub, which no other has. */
  readonly incarnation: string;
  readonly version: string;
  /** Schema generation of the hub. */
  readonly generation: number;
}

export interface HubRowsOptions {
  readonly self: HubSelf;
  readonly database: Database;
  readonly control: Pick<Queries, 'rows'>;
  readonly retries: StatementRetries;
  /** Clock of the machine. */
  readonly clock: Clock;
  readonly timers: Timers;
  readonly timings: ClusterTimings;
  readonly log: Logger;
  /** Another hub with the same id has begun, or newer ones have changed the tables too much: this one must end. */
  readonly onBroken: (why: Error) => void;
}

export interface HeartbeatListener {
  /** The row was renewed. */
  found(heartbeat: Heartbeat): void;
  /** The row could not be renewed for so long that the others will soon take this hub for gone. Called again while that lasts. */
  cutOff(): void;
}

/** Findings of a heartbeat. */
export interface Heartbeat {
  /** Whether the row of another hub says that it is gone. */
  readonly isAnyGone: boolean;
  /** Whether requests of other hubs wait for this one. */
  readonly hasRequests: boolean;
  /** Whether this hub itself counted as gone before. */
  readonly wasGone: boolean;
}

export class HubRows implements Hubs {
  readonly ownId: string;
  readonly #options: HubRowsOptions;
  readonly #loop: Loop;
  #listener: HeartbeatListener | undefined;
  /** Addresses of the other live hubs, by id. */
  #live: ReadonlyMap<string, string> = new Map();
  #address = '';
  #offsetMs: number | null = null;
  #seenAtMs: number;
  #sweptAtMs: number;
  #isFailing = false;

  constructor(options: HubRowsOptions) {
    this.#options = options;
    this.#loop = new Loop({ timers: options.timers, pass: () => this.#pass(), isStopped: true });
    this.ownId = options.self.hubId;
    this.#seenAtMs = options.clock.monotonicMs();
    this.#sweptAtMs = this.#seenAtMs;
  }

  others(): number {
    return this.#live.size;
  }

  otherAddresses(): string[] {
    const sorted = [...this.#live].sort(([a], [b]) => (a < b ? -1 : 1));
    return sorted.map(([, address]) => address).filter((address) => address !== '');
  }

  async listensAt(address: string): Promise<void> {
    const { self, database, retries } = this.#options;
    const { hubId, incarnation } = self;
    this.#address = address;
    await retries.run(() => rowsOf(database, SET_ADDRESS, { hubId, incarnation, address }));
  }

  all(): Promise<readonly HubView[]> {
    const { retries, database, timings } = this.#options;
    return retries.run(() => readHubs(database, timings.lapseMs));
  }

  /** Takes the own row, from which on other hubs count this one; its agents are disconnected. Rejects with `StartRefused` while
   *  another hub with the same id runs, when newer hubs have changed the tables meanwhile, and with `DatabaseFault`. */
  async register(): Promise<void> {
    const { clock, timers, timings } = this.#options;
    const giveUpAtMs = clock.monotonicMs() + timings.lapseMs;
    while (!(await this.#take())) {
      if (clock.monotonicMs() >= giveUpAtMs) throw new StartRefused(this.#sameId('runs'));
      await pause(timers, POLL_EVERY_MS);
    }
    await this.#writeHeartbeat();
  }

  /** Begins to renew the row. */
  start(listener: HeartbeatListener): void {
    this.#listener = listener;
    this.#loop.start(this.#options.timings.heartbeatMs);
  }

  /** Renews the row now, and so looks which hubs are there. */
  lookNow(): void {
    this.#loop.wake();
  }

  /** Removes the row. Its failure is logged: the row lapses. */
  async close(): Promise<void> {
    const { self, database, log } = this.#options;
    const { hubId, incarnation } = self;
    await this.#loop.stop();
    try {
      await database.transaction(async (queries) => {
        const row = await rowOf<{ incarnation: string }, 'hubId'>(queries, LOCK_HUB, { hubId });
        if (row?.incarnation !== incarnation) return;
        await rowsOf(queries, DISCONNECT_AGENTS, { hubId });
        await rowsOf(queries, REMOVE_HUB, { hubId });
      });
    } catch (error) {
      log.warn(
        { err: error },
        'the hub could not sign off; the other hubs notice its end after some seconds',
      );
    }
  }

  #take(): Promise<boolean> {
    const { self, database, timings } = this.#options;
    const { hubId, incarnation, version, generation } = self;
    const address = this.#address;
    return database.transaction(async (queries) => {
      const former = await rowOf<{ incarnation: string }, 'hubId'>(queries, LOCK_HUB, { hubId });
      const values = { hubId, incarnation, version, generation, address, restartMs: timings.restartMs };
      const isTaken = (await rowsOf(queries, REGISTER, values)).length > 0;
      if (isTaken && former?.incarnation !== incarnation) await rowsOf(queries, DISCONNECT_AGENTS, { hubId });
      return isTaken;
    });
  }

  async #pass(): Promise<number> {
    const { timings, clock, log } = this.#options;
    const startedAtMs = clock.monotonicMs();
    try {
      const heartbeat = await this.#writeHeartbeat();
      if (this.#isFailing) log.info('the heartbeat of this hub is written again');
      this.#isFailing = false;
      if (!this.#loop.isStopped && heartbeat) this.#listener?.found(heartbeat);
      if (startedAtMs - this.#sweptAtMs >= SWEEP_EVERY_MS) this.#sweep(startedAtMs);
    } catch (error) {
      if (error instanceof StartRefused) this.#break(error);
      else {
        if (!this.#isFailing)
          log.warn(
            { err: error },
            'the heartbeat of this hub could not be written; the other hubs may take it for gone',
          );
        this.#isFailing = true;
        const isCutOff = clock.monotonicMs() - this.#seenAtMs >= timings.cutOffMs;
        if (isCutOff && this.others() > 0) this.#listener?.cutOff();
      }
    }
    return timings.heartbeatMs;
  }

  async #writeHeartbeat(): Promise<Heartbeat | undefined> {
    const { self, control, timings, clock } = this.#options;
    const { hubId, incarnation } = self;
    const startedAtMs = clock.nowMs();
    const monotonicMs = clock.monotonicMs();
    const values = { hubId, incarnation, offsetMs: this.#offsetMs, lapseMs: timings.lapseMs };
    const rows = await rowsOf<HeartbeatRow, keyof typeof values>(control, HEARTBEAT, values);
    const hasHeartbeat = rows.some((row) => row.has_heartbeat);
    this.#refuseNewer(rows);
    if (!hasHeartbeat && !(await this.#registerAgain(rows))) return undefined;
    const others = rows.filter(({ id }) => id !== hubId);
    const live = new Map(others.filter((row) => row.is_live).map(({ id, address }) => [id, address]));
    const heartbeat = {
      isAnyGone: live.size < others.length,
      hasRequests: rows.some((row) => row.has_requests),
      wasGone: monotonicMs - this.#seenAtMs >= timings.lapseMs || !hasHeartbeat,
    };
    this.#live = live;
    this.#seenAtMs = monotonicMs;
    const [row] = rows;
    if (row) this.#offsetMs = Math.round((startedAtMs + clock.nowMs()) / 2 - row.now_ms);
    return heartbeat;
  }

  /** The own row is gone, or another's; false for that. */
  async #registerAgain(rows: readonly HeartbeatRow[]): Promise<boolean> {
    const isOfAnother = rows.some(({ id }) => id === this.ownId);
    if (!isOfAnother && (await this.#take())) return true;
    this.#break(new StartRefused(this.#sameId('has begun')));
    return false;
  }

  #break(why: StartRefused): void {
    void this.#loop.stop();
    this.#options.onBroken(why);
  }

  /** Throws `StartRefused` when this hub, which may have been away for long, can no longer work on the tables. */
  #refuseNewer([row]: readonly HeartbeatRow[]): void {
    const { self, database } = this.#options;
    const { generation } = self;
    if (!row || (row.newest <= generation + 1 && row.contracted <= generation)) return;
    throw new StartRefused(
      `newer hubs have changed the tables of the database ${database.location} to schema generation ${row.newest}, and this hub, of ` +
        `generation ${generation}, cannot work on them any more: upgrade it`,
    );
  }

  #sweep(nowMs: number): void {
    const { database, log } = this.#options;
    this.#sweptAtMs = nowMs;
    rowsOf(database, SWEEP, { hubId: this.ownId }).catch((error: unknown) =>
      log.warn({ err: error }, 'old messages between hubs could not be removed; the hub tries again later'),
    );
  }

  #sameId(does: string): string {
    const { location } = this.#options.database;
    return (
      `another hub with the same id ${this.ownId} ${does} on the database ${location}: each hub needs a dataDir of its own; ` +
      'remove the file hub-id from a dataDir that is a copy'
    );
  }
}
