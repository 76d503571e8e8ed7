/** Drained agents: they keep what they run and begin no tasks until they are undrained. */

export interface AgentDrain {
  readonly agentId: string;
  readonly sinceMs: number;
  /** Name of the administrator, or for a command the account of the operating system. */
  readonly by: string;
}

/** Shared with the commands, which are processes of their own: every call reads the present state, and nothing is cached. An agent
 *  need not be known. Changes are durable when their promise resolves. All reject with HubError `STORE_UNAVAILABLE` or
 *  `STORAGE_FULL` when the store cannot be used, and then change nothing. */
export interface AgentDrainStore {
  /** False, and nothing changed, when the agent is drained already. */
  drain(drain: AgentDrain): Promise<boolean>;
  /** False when the agent is not drained. */
  undrain(agentId: string): Promise<boolean>;
  /** Ordered by agent. */
  all(): Promise<AgentDrain[]>;
}
