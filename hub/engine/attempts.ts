/** The end of attempts: reports of agents, and losses. Each becomes one fenced step in the store. */
import type { AttemptReport } from '@workbench-hub/shared/domain/attempt';
import { requirementKey } from '@workbench-hub/shared/domain/classifier';
import type { NamedFileRef } from '@workbench-hub/shared/domain/job';
import { mayTake } from '@workbench-hub/shared/domain/life';
import { type AttemptRef, sameAttempt } from '@workbench-hub/shared/domain/task';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Clock } from '@workbench-hub/shared/runtime/runtime';
import { ATTEMPT_LIFE, type AttemptState, attemptStateOf } from '../core/attempt-life.js';
import {
  type Consequence,
  consequenceOf,
  consequenceOfLoss,
  type LossKind,
  lossOf,
  type RetryLimits,
} from '../core/claims.js';
import type { TaskMetrics } from '../core/ports/metrics.js';
import type { TaskArchive, TaskQueue } from '../core/ports/task-store.js';
import { attemptOf, type Ending, type Task } from '../core/task.js';
import type { GivenBack } from './given-back.js';
import type { Results } from './results.js';
import type { Storage } from './storage.js';
import type { TaskOutput } from './task-output.js';
import type { TaskTraces } from './task-traces.js';

export interface AttemptsOptions {
  readonly queue: TaskQueue;
  readonly archive: TaskArchive;
  readonly storage: Storage;
  readonly results: Results;
  readonly output: TaskOutput;
  readonly limits: RetryLimits;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: TaskMetrics;
  readonly traces: TaskTraces;
  readonly givenBack: GivenBack;
  /** A task of this group waits again. */
  readonly onReturned: (requirementKey: string) => void;
  /** The task has finished: how long it took is a measure for others of its kind. */
  readonly onFinished: (task: Task, endedAtMs: number) => void;
}

export class Attempts {
  readonly #options: AttemptsOptions;
  /** Tasks that run on connected agents, as they were when they began, so that their end costs no look into the store. It
   *  is the store that decides whether the end counts. */
  readonly #begun = new Map<string, Task>();

  constructor(options: AttemptsOptions) {
    this.#options = options;
  }

  /** The task runs, and was handed to its agent. */
  begun(task: Task): void {
    this.#begun.set(task.id, task);
  }

  /** What was known of the task when it began may no longer be so: from now on the store is asked. */
  forget(taskId: string): void {
    this.#begun.delete(taskId);
  }

  /** The agent is away: its tasks may be given up meanwhile. */
  forgetAllOf(agentId: string): void {
    for (const { id, instance } of this.#begun.values()) {
      if (instance?.agentId === agentId) this.#begun.delete(id);
    }
  }

  /** Takes an agent's report of an attempt; false when it no longer counts, or is not that agent's to make. Resolves when
   *  what follows is durable. An attempt that was taken for lost must have been {@link believe}d before. */
  async report(report: AttemptReport, agentId: string): Promise<boolean> {
    const ref = refOf(report);
    const task = this.#known(ref) ?? (await this.#options.archive.find(ref.taskId));
    const state = attemptStateOf(ref, task);
    if (!task || !mayTake<AttemptState>(ATTEMPT_LIFE.report, state))
      return this.#refused('report', ref, state);
    if (!isOf(agentId, task)) return this.#foreign(ref, agentId);
    const consequence = consequenceOf(report, task, this.#options.limits);
    // Before it waits again.
    if (lossOf(report) === 'HOST_FAULT') this.#options.givenBack.note(task, agentId, report.message ?? '');
    const counted = await this.#carryOut(task, ref, consequence, report.storedFiles);
    if (counted) this.#countLoss(lossOf(report));
    return counted;
  }

  /** An attempt that was taken for lost counts as long as no newer one has begun (contract 2.5). Resolves before its
   *  instance may be given anything else. */
  async believe(held: AttemptRef, agentId: string): Promise<void> {
    const { queue, archive, clock } = this.#options;
    const ref = refOf(held);
    if (this.#known(ref)) return;
    const task = await archive.find(ref.taskId);
    if (!task?.instance || !mayTake<AttemptState>(ATTEMPT_LIFE.believe, attemptStateOf(ref, task))) return;
    if (!isOf(agentId, task)) return;
    await queue.adopt([{ ref, instance: task.instance, startedAtMs: clock.nowMs() }]);
  }

  /** The attempt of a running task is lost; it is given out again, or the task fails when that was its last. */
  async lose(task: Task, loss: LossKind, reason: string | null): Promise<void> {
    const ref = attemptOf(task);
    const consequence = consequenceOfLoss(loss, task, this.#options.limits, reason);
    if (ref && (await this.#carryOut(task, ref, consequence))) this.#countLoss(loss);
  }

  #known(ref: AttemptRef): Task | undefined {
    const task = this.#begun.get(ref.taskId);
    const inForce = task && attemptOf(task);
    return inForce && sameAttempt(inForce, ref) ? task : undefined;
  }

  #countLoss(loss: LossKind | undefined): void {
    if (loss !== undefined) this.#options.metrics.attemptLost(loss);
  }

  /** What an attempt cannot do any more is not done, and the log tells. */
  async #refused(step: keyof typeof ATTEMPT_LIFE, ref: AttemptRef, known?: AttemptState): Promise<false> {
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

  #carryOut(
    task: Task,
    ref: AttemptRef,
    consequence: Consequence,
    stored: readonly NamedFileRef[] = [],
  ): Promise<boolean> {
    this.forget(task.id);
    return consequence.kind === 'END'
      ? this.#end(task, ref, consequence.ending, stored)
      : this.#release(task, ref, consequence.loss);
  }

  async #end(task: Task, ref: AttemptRef, ending: Ending, stored: readonly NamedFileRef[]): Promise<boolean> {
    const { queue, storage, results, output, clock, log, metrics, traces, givenBack, onFinished } =
      this.#options;
    const endedAtMs = clock.nowMs();
    const storedFiles = storage.outputsOf(task, stored, endedAtMs);
    if (stored.length > storedFiles.length) {
      log.warn(
        { taskId: task.id, files: stored.length },
        'files that a task put into the output storage were dropped: it is not enabled (storage.output.enabled)',
      );
    }
    const [counted] = await queue.end([{ ref, ending, endedAtMs, storedFiles }]);
    if (!counted) return this.#refused('report', ref);
    metrics.ended(task.type, ending.status, endedAtMs - (task.startedAtMs ?? endedAtMs));
    if (ending.status === 'FINISHED') onFinished(task, endedAtMs);
    log.debug({ ...ref, requestId: task.requestId, status: ending.status }, 'task ended');
    traces.ended(task, ref, ending.status, endedAtMs);
    output.forget(task.id);
    givenBack.forget(task.id);
    results.announce(task.id);
    return true;
  }

  async #release(task: Task, ref: AttemptRef, loss: LossKind): Promise<boolean> {
    const { queue, output, clock, log, traces, onReturned } = this.#options;
    const [released] = await queue.release([{ ref, loss }]);
    if (!released) return this.#refused(loss === 'LOSS' ? 'lose' : 'report', ref);
    log.info({ ...ref, requestId: task.requestId, loss }, 'task is given out again');
    traces.released(task, ref, loss, clock.nowMs());
    output.forget(task.id);
    onReturned(requirementKey(task.requirement));
    return true;
  }
}

/** Whether the latest attempt of the task was given to this agent. */
function isOf(agentId: string, { instance }: Task): boolean {
  return instance?.agentId === agentId;
}

function refOf({ taskId, attempt, instanceId }: AttemptRef): AttemptRef {
  return { taskId, attempt, instanceId };
}
