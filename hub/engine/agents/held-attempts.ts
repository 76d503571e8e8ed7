/**
 * Comparison of the attempts that the agents of this hub have with those of the rows, after a time in which signals may have been lost:
 * assignments are made up for, and what no longer counts is canceled.
 */
import { type AttemptRef, attemptKey, sameAttempt } from '@workbench-hub/shared/domain/task';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { claimedTasks } from '../../core/claimed-tasks.js';
import type { TaskArchive } from '../../core/ports/task-archive.js';
import type { RunningAttempt } from '../../core/ports/task-queue.js';
import { byAgent } from '../instances/view-refresh.js';
import type { TaskTransitions } from '../transitions/task-transitions.js';
import type { AgentSessions, HeldByAgent } from './agent-sessions.js';

export interface HeldAttemptsOptions {
  readonly sessions: Pick<AgentSessions, 'agentIds' | 'isReconciled' | 'heldBy' | 'assign' | 'cancel'>;
  readonly archive: Pick<TaskArchive, 'find' | 'jobOf' | 'checkpointOf'>;
  readonly transitions: Pick<TaskTransitions, 'started'>;
  readonly log: Logger;
}

export class HeldAttempts {
  readonly #options: HeldAttemptsOptions;
  /** Attempts that agents had and no row, at the latest comparison: an end that was being written then is over now. */
  #unknown = new Set<string>();
  /** Attempts of rows that their agents did not have at the latest comparison: an assignment that was on its way has arrived now. */
  #missing = new Set<string>();

  constructor(options: HeldAttemptsOptions) {
    this.#options = options;
  }

  /** Rejects as the store does. */
  async compare(running: readonly RunningAttempt[]): Promise<void> {
    const { sessions } = this.#options;
    const rows = byAgent(running);
    const unknown = new Set<string>();
    const missing = new Set<string>();
    for (const agentId of sessions.agentIds) {
      // An attempt that the agent lacks is about to be requeued.
      if (!sessions.isReconciled(agentId)) continue;
      const held = sessions.heldBy(agentId);
      const refs = rows.get(agentId) ?? [];
      this.#cancelUnknown(agentId, held, refs, unknown);
      await this.#sendMissing(agentId, held, refs, missing);
    }
    this.#unknown = unknown;
    this.#missing = missing;
  }

  #cancelUnknown(
    agentId: string,
    held: readonly HeldByAgent[],
    rows: readonly AttemptRef[],
    unknown: Set<string>,
  ): void {
    const { sessions, log } = this.#options;
    const inForce = new Set(rows.map(attemptKey));
    for (const { ref, isSpooled } of held) {
      const name = attemptKey(ref);
      if (isSpooled || inForce.has(name)) continue;
      unknown.add(name);
      if (!this.#unknown.has(name)) continue;
      log.info({ agentId, ...ref }, 'an agent still has an attempt that no longer counts: it is told again');
      sessions.cancel(agentId, ref);
    }
  }

  async #sendMissing(
    agentId: string,
    held: readonly HeldByAgent[],
    rows: readonly AttemptRef[],
    missing: Set<string>,
  ): Promise<void> {
    const { log } = this.#options;
    const names = new Set(held.map(({ ref }) => attemptKey(ref)));
    for (const ref of rows) {
      const name = attemptKey(ref);
      if (names.has(name)) continue;
      missing.add(name);
      if (!this.#missing.has(name)) continue;
      log.warn({ agentId, ...ref }, 'an assignment did not reach this hub; it is sent again');
      await this.#send(ref, agentId);
    }
  }

  async #send(ref: AttemptRef, agentId: string): Promise<void> {
    const { archive, sessions, transitions } = this.#options;
    const [claimed] = await claimedTasks(archive, [ref.taskId]);
    if (!claimed || !sameAttempt(claimed.ref, ref) || claimed.agentId !== agentId) return;
    if (sessions.assign(claimed) === 'SENT') transitions.started(claimed, claimed.task.startedAtMs ?? 0);
  }
}
