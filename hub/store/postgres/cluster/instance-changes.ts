/** Changes of instances that are not written yet, in order: of each instance, the latest. */
import type { InstanceReport } from '@workbench-hub/shared/domain/instance';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Clock, Timers } from '@workbench-hub/shared/runtime/runtime';
import { DatabaseFault } from '../database-fault.js';
import type { Database } from '../pool.js';
import { rowsOf } from '../statement.js';
import { CHANGE } from './presence-statements.js';
import { Rest } from './rest.js';

const RETRY_AFTER_MS = 500;

export interface InstanceChangesOptions {
  readonly hubId: string;
  readonly incarnation: string;
  readonly database: Database;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: Logger;
}

interface Change {
  readonly agentId: string;
  readonly epoch: number;
  readonly report: InstanceReport;
  /** Whether its process ended between two changes that were gathered. */
  readonly resets: boolean;
  readonly atMs: number;
}

export class InstanceChanges {
  readonly #options: InstanceChangesOptions;
  readonly #rest: Rest;
  /** By instance. */
  #waiting = new Map<string, Change>();
  #work: Promise<void> | undefined;
  /** Calls that wait until the changes so far are written. */
  #waiters: (() => void)[] = [];
  #isClosed = false;

  constructor(options: InstanceChangesOptions) {
    this.#options = options;
    this.#rest = new Rest(options.timers);
  }

  add(agentId: string, epoch: number, report: InstanceReport): void {
    if (this.#isClosed) return;
    const former = this.#waiting.get(report.id);
    const isSame = former?.agentId === agentId && former.epoch === epoch;
    const resets = isSame && (former.resets || former.report.upForMs === null);
    const atMs = this.#options.clock.monotonicMs();
    this.#waiting.set(report.id, { agentId, epoch, report, resets, atMs });
    this.#work ??= this.#writeAll();
  }

  /** Resolves when the changes so far are written, or could not be. */
  async written(): Promise<void> {
    if (this.#work !== undefined) await new Promise<void>((resolve) => void this.#waiters.push(resolve));
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#rest.wake();
    await this.#work;
  }

  async #writeAll(): Promise<void> {
    const { timers, log } = this.#options;
    // Lets the other changes of this turn join.
    await new Promise<void>((resolve) => timers.soon(resolve));
    while (this.#waiting.size > 0) {
      const [changes, waiters] = [this.#waiting, this.#waiters];
      this.#waiting = new Map();
      this.#waiters = [];
      let hasFailed = false;
      try {
        await this.#write([...changes.values()]);
      } catch (error) {
        if (this.#isClosed || !(error instanceof DatabaseFault) || error.kind === 'REFUSED') {
          log.error({ err: error }, 'the states of instances could not be written');
          continue;
        }
        // Later changes of the same instances count.
        this.#waiting = merged(changes, this.#waiting);
        hasFailed = true;
      } finally {
        for (const resolve of waiters) resolve();
      }
      if (hasFailed) await this.#rest.wait(RETRY_AFTER_MS);
    }
    this.#work = undefined;
    for (const resolve of this.#waiters.splice(0)) resolve();
  }

  async #write(changes: readonly Change[]): Promise<void> {
    const { database, hubId, incarnation, clock } = this.#options;
    const nowMs = clock.monotonicMs();
    await rowsOf(database, CHANGE, {
      hubId,
      incarnation,
      agentIds: changes.map(({ agentId }) => agentId),
      epochs: changes.map(({ epoch }) => epoch),
      instanceIds: changes.map(({ report }) => report.id),
      statuses: changes.map(({ report }) => report.status),
      upFors: changes.map(({ report: { upForMs }, atMs }) =>
        upForMs === null ? null : Math.round(upForMs + nowMs - atMs),
      ),
      resets: changes.map(({ resets }) => resets),
    });
  }
}

function merged(
  earlier: ReadonlyMap<string, Change>,
  later: ReadonlyMap<string, Change>,
): Map<string, Change> {
  const all = new Map(earlier);
  for (const [id, change] of later) {
    const former = all.get(id);
    const isSame = former?.agentId === change.agentId && former.epoch === change.epoch;
    const resets = change.resets || (isSame && (former.resets || former.report.upForMs === null));
    all.set(id, { ...change, resets });
  }
  return all;
}
