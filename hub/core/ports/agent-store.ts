/** Records of agents, which outlast their connections and restarts of the hub. */
import type { Installation } from '@workbench-hub/shared/domain/installation';
import type { InstanceProfile } from '@workbench-hub/shared/domain/instance';

export interface AgentRecord {
  readonly id: string;
  readonly version: string;
  readonly revision: string;
  readonly seenAtMs: number;
  /** Lead of its clock over the hub's when it joined; null when it did not send its time. */
  readonly clockOffsetMs: number | null;
  /** Absent for an agent that has not joined since hubs keep it. */
  readonly installation?: Installation | undefined;
  readonly instances: readonly InstanceProfile[];
}

export interface AgentStore {
  save(agent: AgentRecord): Promise<void>;
  all(): Promise<AgentRecord[]>;
  forget(agentId: string): Promise<void>;
}
