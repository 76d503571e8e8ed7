/** Changes of instances that are not written yet, in order: of each instance, the latest. */
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Timers } from '@workbench-hub/shared/runtime/runtime';
import type { StartedInstance } from '../../../../core/ports/presence.js';
import { DatabaseFault } from '../../connection/database-fault.js';
import type { Database } from '../../connection/pool.js';
import { rowsOf } from '../../connection/statement.js';
import { Rest } from '../common/rest.js';
import { CHANGE, runsText } from './presence-statements.js';

const RETRY_AFTER_MS = 500;

export interface InstanceChangesOptions {
  readonly hubId: string;
  readonly incarnation: string;
  readonly database: Database;
  readonly timers: Timers;
  readonly log: Logger;
}

interface Change {
  readonly agentId: string;
  readonly epoch: number;
  readonly report: StartedInstance;
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

  add(agentId: string, epoch: number, report: StartedInstance): void {
    if (this.#isClosed) return;
    this.#waiting.set(report.id, { agentId, epoch, report });
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
        this.#waiting = new Map([...changes, ...this.#waiting]);
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
    const { database, hubId, incarnation } = this.#options;
    await rowsOf(database, CHANGE, {
      hubId,
      incarnation,
      agentIds: changes.map(({ agentId }) => agentId),
      epochs: changes.map(({ epoch }) => epoch),
      instanceIds: changes.map(({ report }) => report.id),
      statuses: changes.map(({ report }) => report.status),
      startedAts: changes.map(({ report }) => report.startedAtMs),
      runs: changes.map(({ report }) => runsText(report.runs)),
    });
  }
}
