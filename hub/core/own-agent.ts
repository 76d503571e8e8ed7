/** Id of the agent that holds the hub's own instances. Clients do not see it: these instances belong to the hub. */
export const OWN_AGENT_ID = 'workbench-hub';

/** Agent id of an instance as clients see it: null for an instance of the hub's own. */
export function shownAgentId(agentId: string): string | null {
  return agentId === OWN_AGENT_ID ? null : agentId;
}
