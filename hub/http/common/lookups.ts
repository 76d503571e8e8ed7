import { HubError } from '../../core/errors.js';
import { OWN_AGENT_ID } from '../../core/own-agent.js';
import type { AgentView, InstanceView } from '../../engine/agent-views.js';
import type { Instances } from '../../engine/instances.js';

/** Throws INSTANCE_NOT_FOUND. */
export function findInstance(instances: Instances, id: string): InstanceView {
  const instance = instances.find(id);
  if (instance) return instance;
  throw new HubError('INSTANCE_NOT_FOUND', `there is no instance with the id ${JSON.stringify(id)}`);
}

/** Agents, without the one of the hub's own instances. */
export function listAgents(instances: Instances): AgentView[] {
  return instances.agents().filter(({ id }) => id !== OWN_AGENT_ID);
}

/** Throws AGENT_NOT_FOUND, also for the agent of the hub's own instances. */
export function findAgent(instances: Instances, id: string): AgentView {
  if (id !== OWN_AGENT_ID) return findServer(instances, id);
  throw noAgent(id);
}

/** An agent, or the hub itself. Throws AGENT_NOT_FOUND. */
export function findServer(instances: Instances, id: string): AgentView {
  const agent = instances.findAgent(id);
  if (agent) return agent;
  throw noAgent(id);
}

function noAgent(id: string): HubError {
  return new HubError('AGENT_NOT_FOUND', `there is no agent with the id ${JSON.stringify(id)}`);
}
