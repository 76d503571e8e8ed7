/**
 * States of an attempt on its agent.
 *
 *   RUNNING      its files are staged, or its program works
 *   COLLECTING   the program has finished; its output is collected
 *   STOPPING     it was asked to end early: by a cancel, a time limit or the stop of the agent
 *   PENDING_ACK  its report is in the spool until a hub acknowledges it
 */
import type { StateMachine } from '@workbench-hub/shared/domain/state-machine';

export type AttemptPhase = '-' | 'RUNNING' | 'COLLECTING' | 'STOPPING' | 'PENDING_ACK';

export const ATTEMPT_TRANSITIONS = {
  begin: { from: ['-'], to: ['RUNNING'], by: 'hub: assigned to an instance that is ready' },
  decline: {
    from: ['-'],
    to: ['PENDING_ACK'],
    by: 'hub: assigned to an instance that is not ready; reported as RETURNED',
  },
  collect: { from: ['RUNNING'], to: ['COLLECTING'], by: 'program: finished' },
  cancel: { from: ['RUNNING', 'COLLECTING'], to: ['STOPPING'], by: 'hub: canceled' },
  timeLimit: { from: ['RUNNING'], to: ['STOPPING'], by: 'time limit of the task' },
  evict: { from: ['RUNNING'], to: ['STOPPING'], by: 'agent: stops, and drainTimeout is over' },
  report: {
    from: ['RUNNING', 'COLLECTING', 'STOPPING'],
    to: ['PENDING_ACK'],
    by: 'agent: the attempt has ended, with any outcome',
  },
  return: { from: ['STOPPING'], to: ['-'], by: 'agent: stops; reported without being spooled' },
  replace: {
    from: ['PENDING_ACK'],
    to: ['PENDING_ACK'],
    by: 'agent: blobs damaged on the disk; another report replaces this one',
  },
  acknowledge: { from: ['PENDING_ACK'], to: ['-'], by: 'hub: acknowledged' },
} as const satisfies StateMachine<AttemptPhase>;
