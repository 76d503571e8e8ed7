/** Recall of loans for which tasks of this hub wait longer than the site allows. */
import { requirementOfKey } from '@workbench-hub/shared/domain/classifier';
import type { InstanceProfile } from '@workbench-hub/shared/domain/instance';
import { fits } from '@workbench-hub/shared/domain/matching';
import { hasEnded } from '@workbench-hub/shared/domain/task';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Clock, Timer, Timers } from '@workbench-hub/shared/runtime/runtime';
import { classKey } from '../../core/idle-instances.js';
import type { TaskArchive } from '../../core/ports/task-archive.js';
import type { TaskQueue } from '../../core/ports/task-queue.js';
import type { Instances } from '../instances/instances.js';
import type { Scheduler } from '../scheduling/scheduler.js';
import type { TaskTransitions } from '../transitions/task-transitions.js';

/** A loan that occupies an instance of this hub. */
export interface OccupyingLoan {
  readonly taskId: string;
  readonly instanceId: string;
}

export interface LoanRecallOptions {
  /** Time for which a task of this hub waits before a loan is recalled for it; null for ever. */
  readonly afterMs: number | null;
  /** Loans that occupy instances, in the order in which they began. */
  readonly loans: () => readonly OccupyingLoan[];
  readonly scheduler: Pick<Scheduler, 'groupsFor'>;
  readonly queue: Pick<TaskQueue, 'heads'>;
  readonly archive: Pick<TaskArchive, 'find'>;
  readonly transitions: Pick<TaskTransitions, 'cancel'>;
  readonly instances: Pick<Instances, 'classes' | 'find'>;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: Logger;
}

const EVERY_MS = 1000;

interface Occupied extends OccupyingLoan {
  readonly profile: InstanceProfile;
}

export class LoanRecall {
  readonly #options: LoanRecallOptions;
  /** Tasks of loans that have been recalled and still occupy their instances. */
  #recalled: ReadonlySet<string> = new Set();
  #timer: Timer | undefined;
  #isStopped = false;

  constructor(options: LoanRecallOptions) {
    this.#options = options;
  }

  start(): void {
    if (this.#options.afterMs !== null) this.#next();
  }

  stop(): void {
    this.#isStopped = true;
    this.#timer?.cancel();
  }

  #next(): void {
    if (this.#isStopped) return;
    this.#timer = this.#options.timers.after(EVERY_MS, () => {
      this.#pass()
        .catch((error: unknown) => {
          this.#options.log.warn(
            { err: error },
            'the tasks that wait for loans could not be read; trying again',
          );
        })
        .finally(() => this.#next());
    });
  }

  /** Recalls one loan for each queue group whose first task has waited for too long. */
  async #pass(): Promise<void> {
    const occupied = this.#occupied();
    const taskIds = new Set(occupied.map(({ taskId }) => taskId));
    this.#recalled = new Set([...this.#recalled].filter((taskId) => taskIds.has(taskId)));
    if (occupied.length === 0) return;
    for (const requirementKey of await this.#overdue(occupied)) {
      const requirement = requirementOfKey(requirementKey);
      const fitting = occupied.filter(({ profile }) => fits(requirement, profile));
      if (fitting.some(({ taskId }) => this.#recalled.has(taskId))) continue;
      // The one that began last has done the least.
      const last = fitting.at(-1);
      if (last) await this.#recall(last);
    }
  }

  #occupied(): Occupied[] {
    const { loans, instances } = this.#options;
    return loans().flatMap((loan) => {
      const profile = instances.find(loan.instanceId)?.profile;
      return profile ? [{ ...loan, profile }] : [];
    });
  }

  /** Requirements of the first tasks of queue groups that have waited for too long, and that an instance with a loan fits. */
  async #overdue(occupied: readonly Occupied[]): Promise<string[]> {
    const { scheduler, queue, archive, instances, clock, afterMs } = this.#options;
    const keys = new Set(occupied.map(({ profile }) => classKey(profile)));
    const classes = instances.classes.filter((instanceClass) => keys.has(classKey(instanceClass)));
    const groups = await scheduler.groupsFor(classes);
    const heads = await queue.heads(groups.map((groupId) => ({ groupId, limit: 1 })));
    const overdue: string[] = [];
    for (const { taskId, requirementKey } of heads) {
      const task = await archive.find(taskId);
      if (task?.status !== 'WAITING') continue;
      if (clock.nowMs() - task.requestedAtMs >= (afterMs ?? 0)) overdue.push(requirementKey);
    }
    return overdue;
  }

  async #recall({ taskId, instanceId }: Occupied): Promise<void> {
    const { archive, transitions, log } = this.#options;
    const task = await archive.find(taskId);
    if (!task || hasEnded(task.status) || this.#isStopped) return;
    this.#recalled = new Set([...this.#recalled, taskId]);
    log.info({ taskId, instanceId }, 'a loan is taken back: a task of this hub waits for its instance');
    await transitions.cancel(task, true);
  }
}
