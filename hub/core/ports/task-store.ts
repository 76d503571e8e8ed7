/**
 * Where tasks are kept. Every operation that changes something takes a list and says for each item whether it took
 * place: its WHERE carries the fence ("still running, still attempt 2 on sim-1"). What resolves is durable, with one
 * exception that {@link TaskQueue.claim} names. All reject with HubError `STORE_UNAVAILABLE` or `STORAGE_FULL` when
 * the store cannot be written; then nothing of the call has taken place.
 */
import type { Job } from '@workbench-hub/shared/domain/job';
import type { Priority } from '@workbench-hub/shared/domain/priority';
import type { AttemptRef, TaskStatus, TaskType } from '@workbench-hub/shared/domain/task';
import type { WaitingTask } from '../match-tasks.js';
import type { LossKind } from '../report-consequences.js';
import type { Completion, ExecutingInstance, NewTask, Task, TaskFiles } from '../task.js';
import type { NamedObject } from './storage.js';

export interface Claim {
  readonly taskId: string;
  readonly instance: ExecutingInstance;
  readonly startedAtMs: number;
}

export interface ClaimedTask {
  readonly ref: AttemptRef;
  readonly agentId: string;
  /** As it is now that it runs. */
  readonly task: Task;
  readonly job: Job;
}

export interface HeldAttempt {
  readonly ref: AttemptRef;
  readonly instance: ExecutingInstance;
  readonly startedAtMs: number;
}

export interface EndedAttempt {
  readonly ref: AttemptRef;
  readonly ending: Completion;
  readonly endedAtMs: number;
  /** What goes to the output storage with it. */
  readonly storedFiles?: readonly NamedObject[];
}

/** The files of an attempt whose task was canceled while it ran. */
export interface CanceledAttempt {
  readonly ref: AttemptRef;
  readonly files: TaskFiles;
  readonly storedFiles: readonly NamedObject[];
}

export interface RequeuedAttempt {
  readonly ref: AttemptRef;
  readonly loss: LossKind;
}

export type QueuePlace = { readonly taskId: string } | { readonly newWithPriorityRank: number };

/** The queue: what waits, what runs, and the steps between. */
export interface TaskQueue {
  /** Hands these to `waits` as soon as they can be claimed, no later than a look shows them, and before they are durable. */
  insert(tasks: readonly NewTask[], waits?: (waiting: readonly WaitingTask[]) => void): Promise<void>;
  /** The groups in which tasks wait, by their canonical requirement. */
  waitingGroups(): Promise<string[]>;
  /** The first tasks of each of these groups, at most `limit` of each, in order within a group. */
  heads(groups: readonly { requirementKey: string; limit: number }[]): Promise<WaitingTask[]>;
  /** How many waiting tasks of these groups come before a task: one that waits, or a new one of this priority. */
  countAhead(groups: readonly string[], of: QueuePlace): Promise<number>;
  /** WAITING to RUNNING; gives the tasks that were claimed. A claim may be lost with the machine's power (never with
   *  the hub's process): then the task waits again, and the agent that holds it is heard by {@link adopt}. */
  claim(claims: readonly Claim[]): Promise<ClaimedTask[]>;
  /** Takes over attempts that an agent holds though the task waits: true where the attempt is in force afterwards.
   *  That is so as long as no newer attempt has begun and its end was not heard, and never where the attempt is known
   *  to be another agent's. */
  adopt(held: readonly HeldAttempt[]): Promise<boolean[]>;
  end(ended: readonly EndedAttempt[]): Promise<boolean[]>;
  /** RUNNING to WAITING, at its old place in the queue. Only an attempt that was taken for lost can be adopted
   *  afterwards: that of any other has had its say, and the task names no instance any more. */
  requeue(released: readonly RequeuedAttempt[]): Promise<boolean[]>;
  /** To CANCELED, from one of `from`. */
  cancel(taskIds: readonly string[], from: readonly TaskStatus[], endedAtMs: number): Promise<boolean[]>;
  /** Adds the files of the canceled attempt to its task, once. */
  keepFiles(canceled: readonly CanceledAttempt[]): Promise<boolean[]>;
  /** The running tasks of an agent. */
  runningOn(agentId: string): Promise<Task[]>;
  /** The agents that have running tasks. */
  agentsWithRunning(): Promise<string[]>;
}

export type TaskOrder = 'NEWEST_FIRST' | 'NEXT_TO_RUN_FIRST' | 'LONGEST_RUNNING_FIRST';

export interface TaskQuery {
  /** Counted from 0. */
  readonly page: number;
  readonly size: number;
  /** `id`, `name` and `creator` may hold wildcards; `name` is compared without regard to case. */
  readonly id?: string | undefined;
  readonly name?: string | undefined;
  readonly creator?: string | undefined;
  readonly type?: TaskType | undefined;
  readonly priority?: Priority | undefined;
  /** Any of these; empty for all. */
  readonly statuses: readonly TaskStatus[];
  /** By time of the request (when left out), by place in the queue, or by time of the start. The last costs the more,
   *  the more tasks match: it is for those that run. */
  readonly order?: TaskOrder;
}

/** Who asks for a list. Askers have equal shares of what lists cost. */
export interface ListClient {
  readonly name: string;
  /** Aborted when nobody waits for the list any more. */
  readonly signal: AbortSignal;
}

export interface TaskPage {
  readonly tasks: readonly Task[];
  readonly totalElements: number;
}

/** Reading and removing tasks. */
export interface TaskArchive {
  find(taskId: string): Promise<Task | undefined>;
  filesOf(taskId: string): Promise<TaskFiles>;
  /** Without an asker, for the hub itself. Rejects with OVERLOADED when too many lists of this asker, or of all, are not answered
   *  yet, and with INVALID_INPUT when the asker has gone. */
  list(query: TaskQuery, asker?: ListClient): Promise<TaskPage>;
  /** Removes tasks that have ended, with all that belongs to them. */
  remove(taskIds: readonly string[]): Promise<boolean[]>;
  /** Tasks that ended before this moment, oldest first. */
  endedBefore(timeMs: number, limit: number): Promise<string[]>;
}
