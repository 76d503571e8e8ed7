/** Nodes of a hub that has its store alone, from its live views. */
import type { Nodes } from '../core/ports/nodes.js';
import type { Instances } from './instances.js';

export function liveNodes(
  instances: Pick<Instances, 'list' | 'find' | 'agents' | 'findAgent' | 'drains'>,
): Nodes {
  return {
    instances: async () => instances.list(),
    instance: async (instanceId) => instances.find(instanceId),
    agents: async () => instances.agents(),
    agent: async (agentId) => instances.findAgent(agentId),
    drains: async () => [...instances.drains],
  };
}
