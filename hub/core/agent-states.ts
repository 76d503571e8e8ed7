/**
 * States of an agent on the hub.
 *
 *   CONNECTED     it has joined; its attempts are being reconciled with those of the hub
 *   READY         it is connected and gets tasks
 *   DISCONNECTED  unreachable; within its lease it keeps its attempts
 *   LOST          its lease has ended, and its tasks were requeued
 */
import type { StateMachine } from '@workbench-hub/shared/domain/state-machine';

export type AgentState = '-' | 'CONNECTED' | 'READY' | 'DISCONNECTED' | 'LOST';

export const AGENT_TRANSITIONS = {
  remember: { from: ['-'], to: ['DISCONNECTED'], by: 'start of the hub' },
  join: {
    from: ['-', 'CONNECTED', 'READY', 'DISCONNECTED', 'LOST'],
    to: ['CONNECTED'],
    by: 'hello of the agent; an older connection is closed',
  },
  reconcile: { from: ['CONNECTED'], to: ['READY'], by: 'hub, once it knows which attempts the agent holds' },
  disconnect: { from: ['CONNECTED', 'READY'], to: ['DISCONNECTED'], by: 'end of the connection, or silence' },
  lose: { from: ['DISCONNECTED', 'LOST'], to: ['LOST'], by: 'end of the lease' },
  forget: { from: ['DISCONNECTED', 'LOST'], to: ['-'], by: 'hub, after agents.forgetAfter' },
} as const satisfies StateMachine<AgentState>;

export type AgentTransition = keyof typeof AGENT_TRANSITIONS;
