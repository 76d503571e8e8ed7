/** Attempts that end: reports of agents, and losses. Each becomes one transition of its task. */
import type { AttemptReport } from '@workbench-hub/shared/domain/attempt';
import type { NamedFileRef } from '@workbench-hub/shared/domain/job';
import { canTransition } from '@workbench-hub/shared/domain/state-machine';
import { type AttemptRef, sameAttempt } from '@workbench-hub/shared/domain/task';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Clock } from '@workbench-hub/shared/runtime/runtime';
import { ATTEMPT_TRANSITIONS, type AttemptState, attemptStateOf } from '../core/attempt-states.js';
import type { TaskArchive } from '../core/ports/task-store.js';
import {
  type Consequence,
  consequenceOf,
  consequenceOfLoss,
  type LossKind,
  lossOf,
  type RetryLimits,
} from '../core/report-consequences.js';
import { attemptOf, type Completion, type Task } from '../core/task.js';
import type { TaskSubscriber } from '../core/task-events.js';
import type { AgentExclusions } from './agent-exclusions.js';
import type { Storage } from './storage.js';
import type { TaskTransitions } from './task-transitions.js';

export interface AttemptsOptions {
  readonly transitions: Pick<TaskTransitions, 'adopt' | 'end' | 'keepFiles' | 'requeue'>;
  readonly archive: Pick<TaskArchive, 'find'>;
  readonly storage: Storage;
  readonly limits: RetryLimits;
  readonly clock: Clock;
  readonly log: Logger;
  readonly exclusions: AgentExclusions;
}

export class Attempts {
  readonly #options: AttemptsOptions;
  /** Tasks that run on connected agents, as they were when they started, so that their end costs no look into the store. It
   *  is the store that decides whether the end counts. */
  readonly #started = new Map<string, Task>();

  constructor(options: AttemptsOptions) {
    this.#options = options;
  }

  readonly onTask: TaskSubscriber = {
    STARTED: ({ task }) => void this.#started.set(task.id, task),
    // The agent may still report of it: from now on the store is asked.
    CANCELED: ({ task }) => void this.#started.delete(task.id),
  };

  /** The agent is away: its tasks may be given up meanwhile. */
  forgetAllOf(agentId: string): void {
    for (const { id, instance } of this.#started.values()) {
      if (instance?.agentId === agentId) this.#started.delete(id);
    }
  }

  /** Takes an agent's report of an attempt; false when it no longer counts, or is not that agent's to make. Resolves when
   *  what follows is durable. An attempt that was taken for lost must have been {@link believe}d before. */
  async report(report: AttemptReport, agentId: string): Promise<boolean> {
    const ref = refOf(report);
    const task = this.#known(ref) ?? (await this.#options.archive.find(ref.taskId));
    const state = attemptStateOf(ref, task);
    if (task?.status === 'CANCELED' && namesFiles(report)) return this.#keepFiles(task, ref, report, agentId);
    if (!task || !canTransition<AttemptState>(ATTEMPT_TRANSITIONS.report, state))
      return this.#refused('report', ref, state);
    if (!isOf(agentId, task)) return this.#foreign(ref, agentId);
    const consequence = consequenceOf(report, task, this.#options.limits);
    // Before it waits again.
    if (lossOf(report) === 'HOST_FAULT') this.#options.exclusions.note(task, agentId, report.message ?? '');
    return this.#carryOut(task, ref, consequence, lossOf(report) ?? null, report.storedFiles);
  }

  /** An attempt that was taken for lost counts as long as no newer one has begun (contract 2.5). Resolves before its
   *  instance may be given anything else. */
  async believe(held: AttemptRef, agentId: string): Promise<void> {
    const { transitions, archive, clock } = this.#options;
    const ref = refOf(held);
    if (this.#known(ref)) return;
    const task = await archive.find(ref.taskId);
    if (
      !task?.instance ||
      !canTransition<AttemptState>(ATTEMPT_TRANSITIONS.believe, attemptStateOf(ref, task))
    )
      return;
    if (!isOf(agentId, task)) return;
    await transitions.adopt([{ ref, instance: task.instance, startedAtMs: clock.nowMs() }]);
  }

  /** The attempt of a running task is lost; it is given out again, or the task fails when that was its last. */
  async lose(task: Task, loss: LossKind, reason: string | null): Promise<void> {
    const ref = attemptOf(task);
    const consequence = consequenceOfLoss(loss, task, this.#options.limits, reason);
    if (ref) await this.#carryOut(task, ref, consequence, loss);
  }

  /** Adds the files of a canceled attempt to its task (contract 2.9); false when they do not count. */
  async #keepFiles(task: Task, ref: AttemptRef, report: AttemptReport, agentId: string): Promise<boolean> {
    if (!isOf(agentId, task)) return this.#foreign(ref, agentId);
    const { transitions, storage, clock } = this.#options;
    const { outputFiles, log, storedFiles = [] } = report;
    const kept = await transitions.keepFiles({
      ref,
      files: { outputFiles, log },
      storedFiles: storage.outputsOf(task, storedFiles, clock.nowMs()),
    });
    return kept || this.#refused('report', ref);
  }

  #known(ref: AttemptRef): Task | undefined {
    const task = this.#started.get(ref.taskId);
    const inForce = task && attemptOf(task);
    return inForce && sameAttempt(inForce, ref) ? task : undefined;
  }

  /** What an attempt cannot do any more is not done, and the log tells. */
  async #refused(
    step: keyof typeof ATTEMPT_TRANSITIONS,
    ref: AttemptRef,
    known?: AttemptState,
  ): Promise<false> {
    const state = known ?? attemptStateOf(ref, await this.#options.archive.find(ref.taskId));
    this.#options.log.info(
      { ...ref, step, state },
      'a step that an attempt cannot take any more was refused',
    );
    return false;
  }

  /** One agent does not speak for another: its credential is good for its own id only. */
  #foreign(ref: AttemptRef, agentId: string): false {
    this.#options.log.warn(
      { ...ref, agentId },
      'a report was refused: the attempt was given to another agent',
    );
    return false;
  }

  /** Performs the transition that follows from the attempt; false when it did not count. */
  #carryOut(
    task: Task,
    ref: AttemptRef,
    consequence: Consequence,
    loss: LossKind | null,
    stored: readonly NamedFileRef[] = [],
  ): Promise<boolean> {
    this.#started.delete(task.id);
    return consequence.kind === 'END'
      ? this.#end(task, ref, consequence.ending, loss, stored)
      : this.#requeue(task, ref, consequence.loss);
  }

  async #end(
    task: Task,
    ref: AttemptRef,
    ending: Completion,
    loss: LossKind | null,
    stored: readonly NamedFileRef[],
  ): Promise<boolean> {
    const { transitions, storage, clock, log } = this.#options;
    const endedAtMs = clock.nowMs();
    const storedFiles = storage.outputsOf(task, stored, endedAtMs);
    if (stored.length > storedFiles.length) {
      log.warn(
        { taskId: task.id, files: stored.length },
        'files that a task put into the output storage were dropped: it is not enabled (storage.output.enabled)',
      );
    }
    const ended = await transitions.end({ task, ref, ending, loss, endedAtMs, storedFiles });
    return ended || this.#refused('report', ref);
  }

  async #requeue(task: Task, ref: AttemptRef, loss: LossKind): Promise<boolean> {
    const requeued = await this.#options.transitions.requeue(task, ref, loss);
    return requeued || this.#refused(loss === 'LOSS' ? 'lose' : 'report', ref);
  }
}

/** Whether the latest attempt of the task was given to this agent. */
function isOf(agentId: string, { instance }: Task): boolean {
  return instance?.agentId === agentId;
}

function namesFiles({ outputFiles, storedFiles = [], log }: AttemptReport): boolean {
  return outputFiles.length + storedFiles.length > 0 || log !== null;
}

function refOf({ taskId, attempt, instanceId }: AttemptRef): AttemptRef {
  return { taskId, attempt, instanceId };
}
