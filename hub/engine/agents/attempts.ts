/** Ends of attempts, by reports and losses. Each becomes one transition of its task. */
import type { AttemptReport } from '@workbench-hub/shared/domain/attempt';
import type { NamedFileRef } from '@workbench-hub/shared/domain/job';
import { canTransition } from '@workbench-hub/shared/domain/state-machine';
import { type AttemptRef, sameAttempt } from '@workbench-hub/shared/domain/task';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Clock } from '@workbench-hub/shared/runtime/runtime';
import {
  type Consequence,
  consequenceOf,
  consequenceOfLoss,
  type LossKind,
  lossOf,
  type RetryLimits,
} from '../../core/attempt-consequences.js';
import { ATTEMPT_TRANSITIONS, type AttemptState, attemptStateOf } from '../../core/attempt-states.js';
import { asLoanFiles } from '../../core/loan-files.js';
import type { TaskArchive } from '../../core/ports/task-archive.js';
import type { SchedulerFence } from '../../core/ports/task-queue.js';
import { attemptOf, type Completion, type Task } from '../../core/task.js';
import type { TaskSubscriber } from '../../core/task-events.js';
import type { Storage } from '../storage/storage.js';
import type { TaskTransitions } from '../transitions/task-transitions.js';
import type { AgentExclusions } from './agent-exclusions.js';

export interface AttemptsOptions {
  readonly transitions: Pick<TaskTransitions, 'adopt' | 'end' | 'keepFiles' | 'requeue'>;
  readonly archive: Pick<TaskArchive, 'find'>;
  readonly storage: Storage;
  readonly limits: RetryLimits;
  readonly clock: Clock;
  readonly log: Logger;
  readonly exclusions: AgentExclusions;
}

/** An attempt that has ended, with or without its task. */
interface AttemptOver {
  readonly task: Task;
  readonly ref: AttemptRef;
  readonly loss: LossKind | null;
  /** Files for the output storage. */
  readonly stored: readonly NamedFileRef[];
  readonly freed: () => void;
  readonly fence?: SchedulerFence | undefined;
}

export class Attempts {
  readonly #options: AttemptsOptions;
  /** Running tasks of connected agents, as they started, which saves a read at their end. The store decides whether the end
   *  counts. */
  readonly #started = new Map<string, Task>();

  constructor(options: AttemptsOptions) {
    this.#options = options;
  }

  readonly onTask: TaskSubscriber = {
    STARTED: ({ task }) => void this.#started.set(task.id, task),
    // The agent may still report the attempt: from now on it is looked up in the store.
    CANCELED: ({ task }) => void this.#started.delete(task.id),
  };

  /** The agent has disconnected: its tasks may change meanwhile. */
  forgetAllOf(agentId: string): void {
    for (const { id, instance } of this.#started.values()) {
      if (instance?.agentId === agentId) this.#started.delete(id);
    }
  }

  /** Takes an agent's report of an attempt; false when it no longer counts, or the attempt is another agent's. Resolves when its
   *  consequence is durable. An attempt that is presumed lost must have been adopted by {@link adoptOnReport} before. Calls `onFreed`
   *  once: when a claim of the instance can no longer be refused because of this attempt. */
  async report(report: AttemptReport, agentId: string, onFreed: () => void): Promise<boolean> {
    let isFreed = false;
    const freed = () => {
      if (!isFreed) onFreed();
      isFreed = true;
    };
    try {
      return await this.#report(report, agentId, freed);
    } finally {
      freed();
    }
  }

  async #report(report: AttemptReport, agentId: string, freed: () => void): Promise<boolean> {
    const ref = refOf(report);
    const known = this.#known(ref);
    const task = known ?? (await this.#options.archive.find(ref.taskId));
    const state = attemptStateOf(ref, task);
    if (task?.status === 'CANCELED' && namesFiles(report)) {
      freed();
      return this.#keepFiles(task, ref, report, agentId);
    }
    if (!task || !canTransition<AttemptState>(ATTEMPT_TRANSITIONS.report, state))
      return this.#refused('report', ref, state);
    if (!isOf(agentId, task)) return this.#foreign(ref, agentId);
    const counting = countingOf(task, report);
    const consequence = consequenceOf(counting, task, this.#limitsOf(task));
    // Before the task waits again.
    if (lossOf(report) === 'HOST_FAULT') this.#options.exclusions.note(task, agentId, report.message ?? '');
    const { storedFiles: stored = [] } = counting;
    const counted = await this.#carryOut(
      { task, ref, loss: lossOf(report) ?? null, stored, freed },
      consequence,
    );
    if (counted || !known) return counted;
    // Another hub may have canceled the task since it started.
    const changed = await this.#options.archive.find(ref.taskId);
    if (changed?.status !== 'CANCELED' || !namesFiles(report)) return false;
    return this.#keepFiles(changed, ref, report, agentId);
  }

  /** Adopts an attempt that is presumed lost, as long as no newer one has begun (contract 2.5). Call it before its instance is
   *  released. */
  async adoptOnReport(held: AttemptRef, agentId: string): Promise<void> {
    const { transitions, archive, clock } = this.#options;
    const ref = refOf(held);
    if (this.#known(ref)) return;
    const task = await archive.find(ref.taskId);
    if (
      !task?.instance ||
      !canTransition<AttemptState>(ATTEMPT_TRANSITIONS.adoptOnReport, attemptStateOf(ref, task))
    )
      return;
    if (!isOf(agentId, task)) return;
    await transitions.adopt([{ ref, instance: task.instance, startedAtMs: clock.nowMs(), isProven: false }]);
  }

  /** The attempt of a running task is lost; the task is requeued, or fails after its last permitted loss. False when the attempt no
   *  longer counts, or the scheduler may not do this any more. */
  async lose(task: Task, loss: LossKind, reason: string | null, fence?: SchedulerFence): Promise<boolean> {
    const ref = attemptOf(task);
    const consequence = consequenceOfLoss(loss, task, this.#limitsOf(task), reason);
    const freed = () => undefined;
    if (!ref) return false;
    return this.#carryOut({ task, ref, loss, stored: [], freed, fence }, consequence);
  }

  /** The home of a loan counts its losses. */
  #limitsOf({ loan }: Task): RetryLimits {
    return loan ? UNLIMITED : this.#options.limits;
  }

  /** Adds the files of a canceled attempt to its task (contract 2.9); false when they do not count. */
  async #keepFiles(task: Task, ref: AttemptRef, report: AttemptReport, agentId: string): Promise<boolean> {
    if (!isOf(agentId, task)) return this.#foreign(ref, agentId);
    const { transitions, storage, clock } = this.#options;
    const { outputFiles, log, storedFiles = [] } = countingOf(task, report);
    const kept = await transitions.keepFiles({
      ref,
      files: { outputFiles, log },
      storedFiles: storage.outputsOf(task, storedFiles, clock.nowMs()),
    });
    return kept || this.#refused('report', ref);
  }

  #known(ref: AttemptRef): Task | undefined {
    const task = this.#started.get(ref.taskId);
    const active = task && attemptOf(task);
    return active && sameAttempt(active, ref) ? task : undefined;
  }

  /** Logs a transition that the state of the attempt does not permit. */
  async #refused(
    transition: keyof typeof ATTEMPT_TRANSITIONS,
    ref: AttemptRef,
    known?: AttemptState,
  ): Promise<false> {
    const state = known ?? attemptStateOf(ref, await this.#options.archive.find(ref.taskId));
    this.#options.log.info(
      { ...ref, transition, state },
      'a transition that the attempt no longer permits was refused',
    );
    return false;
  }

  /** Refuses a report of another agent's attempt. */
  #foreign(ref: AttemptRef, agentId: string): false {
    this.#options.log.warn(
      { ...ref, agentId },
      'a report was refused: the attempt was assigned to another agent',
    );
    return false;
  }

  /** Performs the transition of the task; false when the attempt no longer counts. */
  #carryOut(over: AttemptOver, consequence: Consequence): Promise<boolean> {
    this.#started.delete(over.task.id);
    return consequence.kind === 'END'
      ? this.#end(over, consequence.ending)
      : this.#requeue(over, consequence);
  }

  async #end({ task, ref, loss, stored, freed, fence }: AttemptOver, ending: Completion): Promise<boolean> {
    const { transitions, storage, clock, log } = this.#options;
    const endedAtMs = clock.nowMs();
    const storedFiles = storage.outputsOf(task, stored, endedAtMs);
    if (stored.length > storedFiles.length) {
      log.warn(
        { taskId: task.id, files: stored.length },
        'files for the output storage were dropped: it is not enabled (storage.output.enabled)',
      );
    }
    const ended = await transitions.end({ task, ref, ending, loss, endedAtMs, storedFiles, fence }, freed);
    return ended || this.#refused('report', ref);
  }

  async #requeue(
    { task, ref, freed, fence }: AttemptOver,
    { loss, reason, checkpoint }: Extract<Consequence, { kind: 'REQUEUE' }>,
  ): Promise<boolean> {
    const requeue = { task, ref, loss, reason, checkpoint, fence };
    const requeued = await this.#options.transitions.requeue(requeue, freed);
    return requeued || this.#refused(loss === 'LOSS' ? 'lose' : 'report', ref);
  }
}

const UNLIMITED: RetryLimits = { maxAttempts: Number.POSITIVE_INFINITY, maxLosses: Number.POSITIVE_INFINITY };

/** The report as it counts here: the files of a loan are all outputs. */
function countingOf({ loan }: Task, report: AttemptReport): AttemptReport {
  if (!loan) return report;
  const { outputFiles, storedFiles = [] } = report;
  return { ...report, outputFiles: asLoanFiles(outputFiles, storedFiles), storedFiles: [] };
}

/** Whether the latest attempt of the task was assigned to this agent. */
function isOf(agentId: string, { instance }: Task): boolean {
  return instance?.agentId === agentId;
}

function namesFiles({ outputFiles, storedFiles = [], log }: AttemptReport): boolean {
  return outputFiles.length + storedFiles.length > 0 || log !== null;
}

function refOf({ taskId, attempt, instanceId }: AttemptRef): AttemptRef {
  return { taskId, attempt, instanceId };
}
