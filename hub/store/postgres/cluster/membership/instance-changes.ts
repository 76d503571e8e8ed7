/** Changes of instances that are not written yet, in order: of each instance, the latest. */
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { Loop } from '@workbench-hub/shared/runtime/loop';
import type { Timers } from '@workbench-hub/shared/runtime/runtime';
import type { StartedInstance } from '../../../../core/ports/presence.js';
import { DatabaseFault } from '../../connection/database-fault.js';
import type { Database } from '../../connection/pool.js';
import { rowsOf } from '../../connection/statement.js';
import { CHANGE, lentHostText, runsText } from './presence-statements.js';

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
  readonly #loop: Loop;
  /** By instance. */
  #waiting = new Map<string, Change>();

  constructor(options: InstanceChangesOptions) {
    this.#options = options;
    this.#loop = new Loop({ timers: options.timers, pass: () => this.#pass(), failed: () => RETRY_AFTER_MS });
  }

  add(agentId: string, epoch: number, report: StartedInstance): void {
    if (this.#loop.isStopped) return;
    this.#waiting.set(report.id, { agentId, epoch, report });
    this.#loop.wakeSoon();
  }

  /** Resolves when the changes so far are written, or could not be. */
  async written(): Promise<void> {
    if (this.#waiting.size > 0 || this.#loop.isPassing) await this.#loop.passed().catch(() => undefined);
  }

  /** Writes what waits, and nothing more. */
  close(): Promise<void> {
    return this.#loop.finish();
  }

  async #pass(): Promise<void> {
    const changes = this.#waiting;
    if (changes.size === 0) return;
    this.#waiting = new Map();
    try {
      await this.#write([...changes.values()]);
    } catch (error) {
      const isPassing = error instanceof DatabaseFault && error.kind !== 'REFUSED';
      if (this.#loop.isStopped || !isPassing) {
        this.#options.log.error({ err: error }, 'the states of instances could not be written');
        return;
      }
      // Later changes of the same instances count.
      this.#waiting = new Map([...changes, ...this.#waiting]);
      throw error;
    }
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
      lents: changes.map(({ report }) => report.lent ?? null),
      lentHosts: changes.map(({ report }) => lentHostText(report.lentHost)),
    });
  }
}
