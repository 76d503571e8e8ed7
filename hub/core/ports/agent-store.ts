/** What is remembered of agents between their connections and over a restart of the hub. */
import type { InstanceProfile } from '@workbench-hub/shared/domain/instance';

export interface AgentRecord {
  readonly id: string;
  readonly version: string;
  readonly revision: string;
  readonly seenAtMs: number;
  /** How far its clock was ahead of the hub's when it joined; null when it did not say. */
  readonly clockOffsetMs: number | null;
  readonly instances: readonly InstanceProfile[];
}

export interface AgentStore {
  save(agent: AgentRecord): Promise<void>;
  all(): Promise<AgentRecord[]>;
  forget(agentId: string): Promise<void>;
}
