/**
 * The life of an agent as the hub sees it.
 *
 *   CONNECTED  there is a link; what it holds is being brought together with what the hub believes
 *   READY      moreover, it gets work
 *   AWAY       unreachable: it keeps what it runs, within its lease
 *   LOST       its lease is over: what it ran has been given out again
 */
import type { Life } from '@workbench-hub/shared/domain/life';

export type AgentState = '-' | 'CONNECTED' | 'READY' | 'AWAY' | 'LOST';

export const AGENT_LIFE = {
  remember: { from: ['-'], to: ['AWAY'], by: 'start of the hub' },
  join: {
    from: ['-', 'CONNECTED', 'READY', 'AWAY', 'LOST'],
    to: ['CONNECTED'],
    by: 'hello of the agent; its older connection, if there is one, is closed',
  },
  reconcile: { from: ['CONNECTED'], to: ['READY'], by: 'hub, when it knows what the agent holds' },
  leave: { from: ['CONNECTED', 'READY'], to: ['AWAY'], by: 'end of the connection, or silence' },
  lose: { from: ['AWAY', 'LOST'], to: ['LOST'], by: 'end of the lease' },
  forget: { from: ['AWAY', 'LOST'], to: ['-'], by: 'hub, when it was away for agents.forgetAfter' },
} as const satisfies Life<AgentState>;

export type AgentStep = keyof typeof AGENT_LIFE;
