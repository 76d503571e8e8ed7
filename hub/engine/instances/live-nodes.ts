/** Nodes from the live views of a hub, once they show what other hubs have shown before. */
import type { Nodes } from '../../core/ports/nodes.js';
import type { Instances } from './instances.js';

/** `caughtUp` resolves when the views are up to date. */
export function liveNodes(
  instances: Pick<Instances, 'list' | 'find' | 'agents' | 'findAgent' | 'drains'>,
  caughtUp: () => Promise<void>,
): Nodes {
  const current = async <T>(read: () => T): Promise<T> => {
    await caughtUp();
    return read();
  };
  return {
    instances: () => current(() => instances.list()),
    instance: (instanceId) => current(() => instances.find(instanceId)),
    agents: () => current(() => instances.agents()),
    agent: (agentId) => current(() => instances.findAgent(agentId)),
    drains: () => current(() => [...instances.drains]),
  };
}
