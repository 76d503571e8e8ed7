/**
 * Recall of loans for which tasks of this hub wait longer than the site allows. Once a second, it looks at the first waiting tasks that the
 * occupied instances fit. Each task gets one loan back; since the instance may take a while to become idle, another follows only minutes
 * later, if the task still waits.
 */
import { requirementOfKey } from '@workbench-hub/shared/domain/classifier';
import { fits } from '@workbench-hub/shared/domain/matching';
import { hasEnded } from '@workbench-hub/shared/domain/task';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { Loop } from '@workbench-hub/shared/runtime/loop';
import type { Clock, Timers } from '@workbench-hub/shared/runtime/runtime';
import { classKey } from '../../core/idle-instances.js';
import type { WaitingTask } from '../../core/match-tasks.js';
import type { InstanceView } from '../../core/ports/nodes.js';
import type { TaskArchive } from '../../core/ports/task-archive.js';
import type { TaskQueue } from '../../core/ports/task-queue.js';
import type { AgentExclusions } from '../agents/agent-exclusions.js';
import type { Instances } from '../instances/instances.js';
import type { HostEnds } from '../scheduling/host-ends.js';
import { readHeads } from '../scheduling/read-heads.js';
import type { Scheduler } from '../scheduling/scheduler.js';
import type { TaskTransitions } from '../transitions/task-transitions.js';

/** A loan that occupies an instance of this hub. */
export interface OccupyingLoan {
  /** Id of the task here. Ids grow with time. */
  readonly taskId: string;
  readonly instanceId: string;
  /** Whether it is being ended, so that the instance will be free. */
  readonly isEnding: boolean;
  /** Time for which a task of this hub waits before the loan is recalled for it; null for ever. */
  readonly takeBackMs: number | null;
}

export interface LoanRecallOptions {
  /** Loans that occupy instances, of all upstreams. */
  readonly loans: () => readonly OccupyingLoan[];
  /** Whether no task may begin here. */
  readonly isPaused: () => boolean;
  readonly scheduler: Pick<Scheduler, 'groupsFor'>;
  readonly queue: Pick<TaskQueue, 'heads'>;
  readonly exclusions: Pick<AgentExclusions, 'isAllowed'>;
  readonly hostEnds: Pick<HostEnds, 'isAllowed'>;
  readonly archive: Pick<TaskArchive, 'find' | 'formerAttempts'>;
  readonly transitions: Pick<TaskTransitions, 'cancel'>;
  readonly instances: Pick<Instances, 'classes' | 'find'>;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: Pick<Logger, 'info' | 'warn'>;
}

const EVERY_MS = 1000;
/** Waiting tasks that are looked at in a pass. */
const MAX_TASKS = 100;
/** Tasks that are looked at beyond the number of loans: a task that no loan helps does not hide those behind it. */
const PASSED_OVER = 20;
/** Shortest time between two recalls for one task: that of a slow start of an instance. */
const AGAIN_AFTER_MS = 300_000;

interface Occupied extends OccupyingLoan {
  readonly view: InstanceView;
}

export class LoanRecall {
  readonly #options: LoanRecallOptions;
  readonly #loop: Loop;
  /** Monotonic times of the latest recalls, by the task that waits. */
  readonly #recalls = new Map<string, number>();

  constructor(options: LoanRecallOptions) {
    this.#options = options;
    this.#loop = new Loop({
      timers: options.timers,
      pass: async () => {
        await this.#pass();
        return EVERY_MS;
      },
      failed: (error) => {
        options.log.warn({ err: error }, 'loans could not be recalled for tasks that wait; trying again');
        return EVERY_MS;
      },
      isStopped: true,
    });
  }

  start(): void {
    this.#loop.start(EVERY_MS);
  }

  /** Resolves when nothing is read or written any more. */
  stop(): Promise<void> {
    return this.#loop.stop();
  }

  async #pass(): Promise<void> {
    this.#forget();
    const occupied = this.#options.isPaused() ? [] : this.#occupied();
    if (occupied.length === 0) return;
    const free = new Set(occupied);
    for (const waiting of await this.#waiting(occupied)) {
      if (this.#loop.isStopped) return;
      await this.#help(waiting, free);
    }
  }

  /** Instances with a loan that this hub could use if the loan were ended. */
  #occupied(): Occupied[] {
    const { loans, instances } = this.#options;
    return loans().flatMap((loan) => {
      const view = instances.find(loan.instanceId);
      return view?.status === 'UP' && view.drain === null ? [{ ...loan, view }] : [];
    });
  }

  /** The first waiting tasks that such instances may fit. */
  async #waiting(occupied: readonly Occupied[]): Promise<readonly WaitingTask[]> {
    const { scheduler, queue, instances, timers } = this.#options;
    const keys = new Set(occupied.map(({ view }) => classKey(view.profile)));
    const classes = instances.classes.filter((instanceClass) => keys.has(classKey(instanceClass)));
    const groups = await scheduler.groupsFor(classes);
    if (groups.length === 0) return [];
    return (await readHeads(queue, timers, groups, Math.min(occupied.length + PASSED_OVER, MAX_TASKS))).heads;
  }

  /** Recalls a loan for the task if it has waited for long enough. `free` has the instances that no other task gets, and loses one. */
  async #help(waiting: WaitingTask, free: Set<Occupied>): Promise<void> {
    const { taskId } = waiting;
    const fitting = [...free]
      .filter(({ view }) => this.#mayBegin(waiting, view))
      // The loan that began last has the least to lose.
      .sort((a, b) => Number(b.isEnding) - Number(a.isEnding) || (a.taskId < b.taskId ? 1 : -1));
    const [first] = fitting;
    if (first?.isEnding) {
      free.delete(first);
      return;
    }
    if (first === undefined || this.#recalls.has(taskId)) return;
    const waitedMs = await this.#waitedMs(taskId);
    const recalled = fitting.find(({ takeBackMs }) => takeBackMs !== null && waitedMs >= takeBackMs);
    if (!recalled) return;
    free.delete(recalled);
    if (await this.#recall(recalled, taskId)) this.#recalls.set(taskId, this.#options.clock.monotonicMs());
  }

  /** Whether the task may begin on the instance once it is free. */
  #mayBegin(waiting: WaitingTask, view: InstanceView): boolean {
    const { exclusions, hostEnds } = this.#options;
    return (
      fits(requirementOfKey(waiting.requirementKey), view.profile) &&
      exclusions.isAllowed(waiting.taskId, view.agentId) &&
      hostEnds.isAllowed(waiting, { agentId: view.agentId, lentHost: view.lentHost ?? null })
    );
  }

  /** Time since the task was created, or was put back into the queue; negative when it does not wait. */
  async #waitedMs(taskId: string): Promise<number> {
    const { archive, clock } = this.#options;
    const task = await archive.find(taskId);
    if (task?.status !== 'WAITING') return -1;
    const last = task.attempt === 0 ? undefined : (await archive.formerAttempts(taskId)).at(-1);
    return clock.nowMs() - Math.max(task.requestedAtMs, last?.endedAtMs ?? 0);
  }

  /** Resolves with whether the loan is ended by this. */
  async #recall({ taskId, instanceId }: Occupied, waitingTaskId: string): Promise<boolean> {
    const { archive, transitions, log } = this.#options;
    const task = await archive.find(taskId);
    if (!task || hasEnded(task.status)) return false;
    log.info({ taskId, instanceId, waitingTaskId }, 'a loan is taken back for a task of this hub');
    return transitions.cancel(task, true);
  }

  /** Forgets recalls after which another may follow. */
  #forget(): void {
    const nowMs = this.#options.clock.monotonicMs();
    for (const [taskId, atMs] of this.#recalls) {
      if (nowMs - atMs >= AGAIN_AFTER_MS) this.#recalls.delete(taskId);
    }
  }
}
