/** The drained agents of the simulated hub, which outlast its processes. */
import type { AgentDrain, AgentDrainStore } from '@workbench-hub/hub/core/ports/agent-drains';

export function hubDrains(): AgentDrainStore {
  const drains = new Map<string, AgentDrain>();
  return {
    drain: async (drain) => {
      if (drains.has(drain.agentId)) return false;
      drains.set(drain.agentId, drain);
      return true;
    },
    undrain: async (agentId) => drains.delete(agentId),
    all: async () => [...drains.values()],
  };
}
