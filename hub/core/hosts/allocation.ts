/**
 * States of an allocation: a job of a workload manager that runs an agent.
 *
 *   WANTED     its row is written; the workload manager was not asked, or its answer is not known
 *   SUBMITTED  the workload manager has taken it
 *   QUEUED     it waits there
 *   STARTED    it runs there, and its agent has not joined
 *   JOINED     its agent has joined
 *   DRAINING   its agent begins no more tasks, and it is given back when none runs
 *   ENDED      it is over
 *   LOST       it is gone, though the hub had not given it back
 */
import { canTransition, type StateMachine } from '@workbench-hub/shared/domain/state-machine';
import { reasonOf } from './end-message.js';

export const OPEN_ALLOCATION_STATES = [
  'WANTED',
  'SUBMITTED',
  'QUEUED',
  'STARTED',
  'JOINED',
  'DRAINING',
] as const;
export type OpenAllocationState = (typeof OPEN_ALLOCATION_STATES)[number];
export type AllocationState = OpenAllocationState | 'ENDED' | 'LOST';

export const ALLOCATION_TRANSITIONS = {
  want: { from: ['-'], to: ['WANTED'], by: 'tasks that wait, and fit its recipe' },
  submit: { from: ['WANTED'], to: ['SUBMITTED'], by: 'workload manager that takes the job' },
  queue: { from: ['WANTED', 'SUBMITTED'], to: ['QUEUED'], by: 'workload manager: the job waits' },
  start: { from: ['WANTED', 'SUBMITTED', 'QUEUED'], to: ['STARTED'], by: 'workload manager: the job runs' },
  requeue: { from: ['STARTED'], to: ['QUEUED'], by: 'workload manager that puts the job back' },
  join: {
    from: ['WANTED', 'SUBMITTED', 'QUEUED', 'STARTED'],
    to: ['JOINED'],
    by: 'hello of its agent',
  },
  drain: {
    from: ['WANTED', 'SUBMITTED', 'QUEUED', 'STARTED', 'JOINED'],
    to: ['DRAINING'],
    by: 'hub: it is not needed any more, its time is nearly over, its job is stuck, its agent does not join, or an administrator',
  },
  end: {
    from: ['WANTED', 'SUBMITTED', 'QUEUED', 'STARTED', 'JOINED', 'DRAINING'],
    to: ['ENDED'],
    by: 'workload manager: it refuses the job, the job has ended, or it no longer knows a job that was given back',
  },
  lose: {
    from: ['SUBMITTED', 'QUEUED', 'STARTED', 'JOINED'],
    to: ['LOST'],
    by: 'workload manager that twice does not know the job, while its agent is silent',
  },
  remove: { from: ['ENDED', 'LOST'], to: ['-'], by: 'end of the time for which allocations are kept' },
} as const satisfies StateMachine<AllocationState | '-'>;

export type AllocationTransition = keyof typeof ALLOCATION_TRANSITIONS;

/**
 * Reasons for which an allocation is given back, or is over. NOT_NEEDED: no tasks wait for it. IDLE: it has had no task for a while. TIME: the end of
 * its time. NOT_JOINED: its agent did not join in time. REFUSED: the workload manager does not take it, or does not start it. ENDED_EARLY: the workload
 * manager ended it before its time. GONE: the workload manager does not know it any more. ASKED: by an administrator.
 */
export const ALLOCATION_CAUSES = [
  'NOT_NEEDED',
  'IDLE',
  'TIME',
  'NOT_JOINED',
  'REFUSED',
  'ENDED_EARLY',
  'GONE',
  'ASKED',
] as const;
export type AllocationCause = (typeof ALLOCATION_CAUSES)[number];

export interface Allocation {
  /** Name of its job, and id of its agent. */
  readonly id: string;
  /** Name of its recipe. */
  readonly recipe: string;
  readonly state: AllocationState;
  /** Id of its job, as the workload manager gave it. */
  readonly jobId: string | null;
  /** Why it was wanted, in words. */
  readonly reason: string;
  /** User for whose tasks it was wanted, empty for tasks without a creator; null unless a recipe has bounds by user. */
  readonly forUser: string | null;
  /** Why it is given back, or over; null before. */
  readonly cause: AllocationCause | null;
  /** Latest statement of the workload manager, or the way in which it ended, in words. */
  readonly message: string | null;
  readonly wantedAtMs: number;
  readonly startedAtMs: number | null;
  readonly joinedAtMs: number | null;
  /** Time at which the workload manager ends it; null before its start, or when it has no end. */
  readonly endsAtMs: number | null;
  readonly endedAtMs: number | null;
}

/** Fields that a transition may change. */
export type AllocationChange = Partial<
  Omit<Allocation, 'id' | 'recipe' | 'state' | 'reason' | 'forUser' | 'wantedAtMs'>
>;

/** The allocation after a transition; undefined when its state does not permit it. */
export function changed(
  allocation: Allocation,
  transition: Exclude<AllocationTransition, 'want' | 'remove'>,
  change: AllocationChange = {},
): Allocation | undefined {
  const permitted = ALLOCATION_TRANSITIONS[transition];
  if (!canTransition<AllocationState | '-'>(permitted, allocation.state)) return undefined;
  return { ...allocation, ...change, state: permitted.to[0] };
}

export function isOpen({ state }: Pick<Allocation, 'state'>): boolean {
  return state !== 'ENDED' && state !== 'LOST';
}

/** Whether it has not started, as far as the hub knows. */
export function isQueued({ state }: Pick<Allocation, 'state'>): boolean {
  return state === 'WANTED' || state === 'SUBMITTED' || state === 'QUEUED';
}

/** Whether the job ended before its time, and the workload manager does not say that another job took its place. Some know nothing of jobs that
 *  have ended. */
export function endedByItself({ cause, message }: Pick<Allocation, 'cause' | 'message'>): boolean {
  return (cause === 'ENDED_EARLY' || cause === 'GONE') && !/preempt/i.test(reasonOf(message ?? ''));
}
