/** Id of the agent that holds the own instances of a hub alone, and the beginning of those of several hubs. Clients do not see them: these
 *  instances belong to their hub. */
export const OWN_AGENT_ID = 'workbench-hub';

/** Id of the agent of a hub's own instances; `hubId` is null for a hub that has its store alone. */
export function ownAgentIdOf(hubId: string | null): string {
  return hubId === null ? OWN_AGENT_ID : `${OWN_AGENT_ID}.${hubId}`;
}

/** Whether this is the agent of a hub's own instances. */
export function isOwnAgentId(agentId: string): boolean {
  return agentId === OWN_AGENT_ID || agentId.startsWith(`${OWN_AGENT_ID}.`);
}

/** Agent id of an instance as clients see it: undefined for an instance of a hub's own. */
export function shownAgentId(agentId: string): string | undefined {
  return isOwnAgentId(agentId) ? undefined : agentId;
}
