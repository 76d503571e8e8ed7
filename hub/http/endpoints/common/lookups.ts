import { HubError } from '../../../core/errors.js';
import { isOwnAgentId } from '../../../core/own-agent.js';
import type { AgentView, InstanceView, Nodes } from '../../../core/ports/nodes.js';

/** Rejects with INSTANCE_NOT_FOUND. */
export async function findInstance(nodes: Nodes, id: string): Promise<InstanceView> {
  const instance = await nodes.instance(id);
  if (instance) return instance;
  throw new HubError('INSTANCE_NOT_FOUND', `there is no instance with the id ${JSON.stringify(id)}`);
}

/** Agents, without the one of the hub's own instances. */
export async function listAgents(nodes: Nodes): Promise<AgentView[]> {
  return (await nodes.agents()).filter(({ id }) => !isOwnAgentId(id));
}

/** Rejects with AGENT_NOT_FOUND, also for the agent of the hub's own instances. */
export async function findAgent(nodes: Nodes, id: string): Promise<AgentView> {
  if (!isOwnAgentId(id)) return findServer(nodes, id);
  throw noAgent(id);
}

/** An agent, or the hub itself. Rejects with AGENT_NOT_FOUND. */
export async function findServer(nodes: Nodes, id: string): Promise<AgentView> {
  const agent = await nodes.agent(id);
  if (agent) return agent;
  throw noAgent(id);
}

function noAgent(id: string): HubError {
  return new HubError('AGENT_NOT_FOUND', `there is no agent with the id ${JSON.stringify(id)}`);
}
