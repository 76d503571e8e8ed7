/**
 * States of an attempt on the hub. They are derived from the task; an attempt has no row of its own.
 *
 *   ACTIVE         the current attempt of its task; its report counts
 *   PRESUMED_LOST  regarded as lost, and its task waits; its report counts until a newer attempt begins
 *   UNCONFIRMED    its claim was lost in a power failure; its report counts until a newer attempt begins
 *   CLOSED         reported, superseded or canceled; only the files of a canceled one are still kept (`keepFiles` of the task)
 */
import type { StateMachine } from '@workbench-hub/shared/domain/state-machine';
import { type AttemptRef, sameAttempt } from '@workbench-hub/shared/domain/task';
import { attemptOf, type Task } from './task.js';

export type AttemptState = '-' | 'ACTIVE' | 'PRESUMED_LOST' | 'UNCONFIRMED' | 'CLOSED';

export const ATTEMPT_TRANSITIONS = {
  claim: { from: ['-'], to: ['ACTIVE'], by: 'scheduler' },
  keep: {
    from: ['ACTIVE'],
    to: ['ACTIVE'],
    by: 'agent that rejoins and still holds the attempt',
  },
  adopt: {
    from: ['PRESUMED_LOST', 'UNCONFIRMED'],
    to: ['ACTIVE'],
    by: 'agent that rejoins and still holds the attempt',
  },
  adoptOnReport: {
    from: ['PRESUMED_LOST'],
    to: ['ACTIVE'],
    by: 'report of an agent that was connected all the time',
  },
  report: { from: ['ACTIVE'], to: ['CLOSED'], by: 'report of the agent, with any outcome' },
  lose: {
    from: ['ACTIVE'],
    to: ['PRESUMED_LOST', 'CLOSED'],
    by: 'end of the lease, or agent that rejoins without it; CLOSED when the task may not be lost again',
  },
  forget: {
    from: ['ACTIVE'],
    to: ['UNCONFIRMED'],
    by: "power failure of the hub's machine before the claim was durable",
  },
  supersede: {
    from: ['PRESUMED_LOST', 'UNCONFIRMED'],
    to: ['CLOSED'],
    by: 'scheduler: a newer attempt begins',
  },
  cancel: {
    from: ['ACTIVE', 'PRESUMED_LOST', 'UNCONFIRMED'],
    to: ['CLOSED'],
    by: 'client that cancels the task',
  },
} as const satisfies StateMachine<AttemptState>;

/** State of an attempt that an agent holds. `task` is undefined when it no longer exists. */
export function attemptStateOf(ref: AttemptRef, task: Task | undefined): Exclude<AttemptState, '-'> {
  const active = task && attemptOf(task);
  if (active) return sameAttempt(active, ref) ? 'ACTIVE' : 'CLOSED';
  if (task?.status !== 'WAITING') return 'CLOSED';
  if (ref.attempt === task.attempt + 1) return 'UNCONFIRMED';
  return ref.attempt === task.attempt && ref.instanceId === task.instance?.id ? 'PRESUMED_LOST' : 'CLOSED';
}
