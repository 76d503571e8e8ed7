/**
 * The life of an attempt on its agent.
 *
 *   WORKING      its files are fetched, or its program works
 *   WORKED       the program has done its work; what it left is collected
 *   ENDING       it is to end before its time, and its program has been told
 *   OUTSTANDING  its report is in the spool, and goes to each hub that is joined until one has settled it
 */
import type { Life } from '@workbench-hub/shared/domain/life';

export type AttemptPhase = '-' | 'WORKING' | 'WORKED' | 'ENDING' | 'OUTSTANDING';

export const ATTEMPT_LIFE = {
  begin: { from: ['-'], to: ['WORKING'], by: 'assign of the hub, to an instance that is ready' },
  decline: {
    from: ['-'],
    to: ['OUTSTANDING'],
    by: 'assign of the hub, to an instance that is not ready: RETURNED',
  },
  worked: { from: ['WORKING'], to: ['WORKED'], by: 'answer of the program' },
  cancel: { from: ['WORKING', 'WORKED'], to: ['ENDING'], by: 'cancel of the hub' },
  timeLimit: { from: ['WORKING'], to: ['ENDING'], by: 'time limit of the task' },
  surrender: { from: ['WORKING'], to: ['ENDING'], by: 'stop of the agent, when its drainTimeout is over' },
  report: {
    from: ['WORKING', 'WORKED', 'ENDING'],
    to: ['OUTSTANDING'],
    by: 'end of the work, whatever it came to',
  },
  giveBack: { from: ['ENDING'], to: ['-'], by: 'agent that stops: the hub is told, and nothing is kept' },
  replace: {
    from: ['OUTSTANDING'],
    to: ['OUTSTANDING'],
    by: 'cancel of the hub, or contents that are damaged on the disk: another report',
  },
  settle: { from: ['OUTSTANDING'], to: ['-'], by: 'settled of the hub' },
} as const satisfies Life<AttemptPhase>;
