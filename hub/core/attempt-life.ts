/**
 * The life of an attempt as the hub sees it. An attempt has no row of its own: what it is follows from its task.
 *
 *   IN_FORCE   its task runs in it: what its agent reports counts
 *   GIVEN_UP   taken for lost, and its task waits: it is believed as long as no newer one begins
 *   FORGOTTEN  its claim was lost with the power of the hub's machine: the same
 *   OVER       its end was heard, a newer one has begun, or its task has ended: nothing that it does counts
 */
import type { Life } from '@workbench-hub/shared/domain/life';
import { type AttemptRef, sameAttempt } from '@workbench-hub/shared/domain/task';
import { attemptOf, type Task } from './task.js';

export type AttemptState = '-' | 'IN_FORCE' | 'GIVEN_UP' | 'FORGOTTEN' | 'OVER';

export const ATTEMPT_LIFE = {
  claim: { from: ['-'], to: ['IN_FORCE'], by: 'scheduler' },
  keep: {
    from: ['IN_FORCE'],
    to: ['IN_FORCE'],
    by: 'agent that comes back and still holds it',
  },
  adopt: {
    from: ['GIVEN_UP', 'FORGOTTEN'],
    to: ['IN_FORCE'],
    by: 'agent that comes back and still holds it',
  },
  believe: { from: ['GIVEN_UP'], to: ['IN_FORCE'], by: 'report of an agent that was there all the time' },
  report: { from: ['IN_FORCE'], to: ['OVER'], by: 'report: well, failed, died or given back' },
  lose: {
    from: ['IN_FORCE'],
    to: ['GIVEN_UP', 'OVER'],
    by: 'end of the lease, or agent that comes back without it; OVER with the last loss that the task may have',
  },
  forget: {
    from: ['IN_FORCE'],
    to: ['FORGOTTEN'],
    by: "loss of power of the hub's machine just after the claim",
  },
  supersede: { from: ['GIVEN_UP', 'FORGOTTEN'], to: ['OVER'], by: 'scheduler: a newer attempt begins' },
  cancel: { from: ['IN_FORCE', 'GIVEN_UP', 'FORGOTTEN'], to: ['OVER'], by: 'client that cancels the task' },
} as const satisfies Life<AttemptState>;

/** What an attempt is that some agent holds, by what its task is now; undefined: there is no such task any more. */
export function attemptStateOf(ref: AttemptRef, task: Task | undefined): Exclude<AttemptState, '-'> {
  const inForce = task && attemptOf(task);
  if (inForce) return sameAttempt(inForce, ref) ? 'IN_FORCE' : 'OVER';
  if (task?.status !== 'WAITING') return 'OVER';
  if (ref.attempt === task.attempt + 1) return 'FORGOTTEN';
  return ref.attempt === task.attempt && ref.instanceId === task.instance?.id ? 'GIVEN_UP' : 'OVER';
}
