/**
 * The queue of tasks. Every change takes a list and tells for each item whether it took place, under the condition of its
 * fence ("still running, still attempt 2 on sim-1"). Changes are durable when their promise resolves, except
 * {@link TaskQueue.claim}. All reject with HubError `STORE_UNAVAILABLE` or `STORAGE_FULL` when the store cannot be
 * written, and then change nothing.
 */
import type { Job, NamedFileRef } from '@workbench-hub/shared/domain/job';
import type { AttemptRef, TaskStatus } from '@workbench-hub/shared/domain/task';
import type { LossKind } from '../attempt-consequences.js';
import type { WaitingTask } from '../match-tasks.js';
import type { Completion, ExecutingInstance, NewTask, Task, TaskFiles } from '../task.js';
import type { NamedObject } from './named-objects.js';

export interface Claim {
  readonly taskId: string;
  readonly instance: ExecutingInstance;
  readonly startedAtMs: number;
}

export interface ClaimedTask {
  readonly ref: AttemptRef;
  readonly agentId: string;
  /** The task in its running state. */
  readonly task: Task;
  readonly job: Job;
  /** Checkpoint of an earlier attempt; absent for none. */
  readonly checkpoint?: readonly NamedFileRef[];
}

export interface HeldAttempt {
  readonly ref: AttemptRef;
  readonly instance: ExecutingInstance;
  readonly startedAtMs: number;
  /** Whether the agent has proven that the attempt was assigned to it; without that, only one that the store knows is adopted. */
  readonly isProven: boolean;
  /** Join in which the agent shows it: nothing is adopted after a later one. Without effect in a store that has one hub only. */
  readonly epoch?: number | undefined;
}

/** An attempt that is active after its adoption. */
export interface AdoptedAttempt {
  /** Id of the queue group in which the task waited; null when it ran already. */
  readonly dequeuedFrom: number | null;
}

/** Conditions of what the scheduler does to an attempt; without effect in a store that has one hub only. */
export interface SchedulerFence {
  /** It takes place in this term of the scheduler's role only. */
  readonly term: number;
  /** Agent that must be connected to no hub then. */
  readonly awayAgentId?: string;
}

export interface EndedAttempt {
  readonly fence?: SchedulerFence | undefined;
  readonly ref: AttemptRef;
  readonly ending: Completion;
  readonly endedAtMs: number;
  /** Objects to be put into the output storage in the same transaction. */
  readonly storedFiles?: readonly NamedObject[];
}

/** The files of an attempt whose task was canceled while it ran. */
export interface CanceledAttempt {
  readonly ref: AttemptRef;
  readonly files: TaskFiles;
  readonly storedFiles: readonly NamedObject[];
}

export interface RequeuedAttempt {
  readonly fence?: SchedulerFence | undefined;
  readonly ref: AttemptRef;
  readonly loss: LossKind;
  /** Why it was lost or returned, in words. */
  readonly reason?: string | null;
  readonly requeuedAtMs?: number;
  /** Checkpoint that takes the place of the task's, which it keeps until it ends; absent when that stays. */
  readonly checkpoint?: readonly NamedFileRef[] | undefined;
}

/** The waiting tasks of one requirement. */
export interface QueueGroup {
  readonly groupId: number;
  readonly requirementKey: string;
}

export interface GroupPageQuery {
  /** 0 for the first page. */
  readonly afterGroupId: number;
  /** Groups that are examined at most, whether or not tasks wait in them. */
  readonly limit: number;
  /** Groups with longer keys are left out. */
  readonly maxKeyBytes: number;
}

export interface GroupPage {
  readonly groups: readonly QueueGroup[];
  /** Position at which the next page begins; null after the last one. */
  readonly nextAfterGroupId: number | null;
}

/** A running attempt, and the agent to which it was assigned. */
export interface RunningAttempt {
  readonly agentId: string;
  readonly ref: AttemptRef;
}

export interface TimeLimitBound {
  readonly timeLimitS: number;
  /** Whether tasks without a time limit count, too. */
  readonly withoutLimit: boolean;
}

export type QueuePlace = { readonly taskId: string } | { readonly newWithPriorityRank: number };

export interface KeyedInsertion {
  /** The inserted task, or the one that was inserted with this key before. */
  readonly taskId: string;
}

/** Waiting and running tasks, and their transitions. */
export interface TaskQueue {
  /** Calls `waits` as soon as the tasks can be claimed, no later than reads show them, and before they are durable. */
  insert(tasks: readonly NewTask[], waits?: (waiting: readonly WaitingTask[]) => void): Promise<void>;
  /** Does the same with one task, unless its creator has inserted one with this key, which may be removed by now. */
  insertOnce(
    task: NewTask,
    key: string,
    waits?: (waiting: readonly WaitingTask[]) => void,
  ): Promise<KeyedInsertion>;
  /** Forgets the keys of tasks that were requested before this time; resolves with their number. */
  forgetKeys(requestedBeforeMs: number): Promise<number>;
  /** One page of the groups in which tasks wait, by group id. */
  waitingGroups(page: GroupPageQuery): Promise<GroupPage>;
  /** The first tasks of each queue group, at most `limit`, in order within a group. */
  heads(groups: readonly { readonly groupId: number; readonly limit: number }[]): Promise<WaitingTask[]>;
  /** The tasks among these that wait. */
  waiting(taskIds: readonly string[]): Promise<WaitingTask[]>;
  /** Number of waiting tasks of these groups that come before a task: one that waits, or a new one of this priority. Counts up
   *  to `limit`. */
  countAhead(groupIds: readonly number[], place: QueuePlace, limit: number): Promise<number>;
  /** Removes the groups of one page that no task belongs to any more; resolves with the id after which the next page begins, or
   *  null after the last. A group id is never reused. */
  removeUnusedGroups(page: Pick<GroupPageQuery, 'afterGroupId' | 'limit'>): Promise<number | null>;
  /** WAITING to RUNNING; resolves with the claimed tasks. A loss of power, not a crash of the hub, may undo a claim: then the
   *  task waits again, and {@link adopt} accepts the attempt of an agent that proves its assignment. Claims nothing in a term of the scheduler's role
   *  that has ended. */
  claim(claims: readonly Claim[], term?: number): Promise<ClaimedTask[]>;
  /** Adopts attempts that an agent holds while the task waits; null where the attempt is not active afterwards. It becomes
   *  active if no newer attempt has begun, its end was not reported, and it is known as this agent's. One that the store does not know,
   *  the next of its task, is the agent's if `isProven`. */
  adopt(held: readonly HeldAttempt[]): Promise<(AdoptedAttempt | null)[]>;
  /** Calls `freed`, if at all before the promise settles, when a later claim of the instances can no longer be refused because of
   *  these attempts: at once in a store that writes in the order of the calls, after the commit in any other. */
  end(ended: readonly EndedAttempt[], freed?: () => void): Promise<boolean[]>;
  /** RUNNING to WAITING, at the old position in the queue. Only a lost attempt can be adopted afterwards: any other has
   *  reported, and the task no longer names its instance. Calls `freed` as {@link end} does. */
  requeue(released: readonly RequeuedAttempt[], freed?: () => void): Promise<boolean[]>;
  /** To CANCELED from one of the statuses `from`. */
  cancel(taskIds: readonly string[], from: readonly TaskStatus[], endedAtMs: number): Promise<boolean[]>;
  /** Adds the files of the canceled attempt to its task, once. */
  keepFiles(canceled: readonly CanceledAttempt[]): Promise<boolean[]>;
  /** Number of tasks that wait in this group and have at most this time limit, of the first `limit` in the order of the queue: others are not looked
   *  at, however few are counted. */
  countWithin(groupId: number, within: TimeLimitBound, limit: number): Promise<number>;
  /** The same for one group by the creators of the tasks, empty for those without one: of the first `limit` in the order of the queue, and of
   *  the last `limit`, so that the many tasks of one creator do not hide all that follow. */
  countByCreator(
    groupId: number,
    within: TimeLimitBound,
    limit: number,
  ): Promise<ReadonlyMap<string, number>>;
  runningOn(agentId: string): Promise<Task[]>;
  /** The attempts of all running tasks. */
  running(): Promise<RunningAttempt[]>;
}
