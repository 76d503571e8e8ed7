import { HubError } from '../../core/errors.js';
import type { AgentView, Instances, InstanceView } from '../../engine/instances.js';

/** Throws INSTANCE_NOT_FOUND. */
export function findInstance(instances: Instances, id: string): InstanceView {
  const instance = instances.find(id);
  if (instance) return instance;
  throw new HubError('INSTANCE_NOT_FOUND', `there is no instance with the id ${JSON.stringify(id)}`);
}

/** Throws AGENT_NOT_FOUND. */
export function findAgent(instances: Instances, id: string): AgentView {
  const agent = instances.findAgent(id);
  if (agent) return agent;
  throw new HubError('AGENT_NOT_FOUND', `there is no agent with the id ${JSON.stringify(id)}`);
}
