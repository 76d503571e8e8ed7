/** Rules for orders to update (decision 0092). */
import type { UpdateOrder } from './ports/update-orders.js';

/** Agent that an order must fit. */
export interface UpdatedAgent {
  readonly agentId: string;
  readonly system: string;
  /** Version of the installed file, if that runs. */
  readonly version: string;
  /** Best version of the agent protocol that this agent speaks. */
  readonly protocol: number;
}

/** A hub and an agent that are further apart may not understand each other. */
const MAX_PROTOCOL_STEPS = 1;

/** Reason why an order is not for this agent; undefined when it is. */
export function orderFault(order: UpdateOrder, agent: UpdatedAgent): string | undefined {
  if (order.agentId !== agent.agentId) return `the order is for agent ${order.agentId}`;
  if (order.system !== agent.system)
    return `the order is for ${order.system}, and this agent runs on ${agent.system}`;
  if (Math.abs(order.protocol - agent.protocol) <= MAX_PROTOCOL_STEPS) return undefined;
  return (
    `version ${order.version} speaks version ${order.protocol} of the agent protocol, and this agent ${agent.protocol}: ` +
    'update over a version in between'
  );
}
