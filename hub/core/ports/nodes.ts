/** Agents and instances of all hubs of a store, as clients see them. All reject with HubError `STORE_UNAVAILABLE`. */
import type { Installation } from '@workbench-hub/shared/domain/installation';
import type {
  AgentStatus,
  InstanceProfile,
  InstanceStatus,
  LentState,
} from '@workbench-hub/shared/domain/instance';
import type { JoinedHub } from '@workbench-hub/shared/domain/joined-hub';
import type { LentHostEnd } from '../hosts/lent-host.js';
import type { AgentDrain } from './agent-drains.js';

export interface InstanceView {
  readonly profile: InstanceProfile;
  readonly agentId: string;
  readonly status: InstanceStatus;
  readonly startedAtMs: number | null;
  readonly working: boolean;
  /** Only of an instance that a joined hub lends, and KEPT of one that this hub lends for good. */
  readonly lent?: LentState | undefined;
  /** Only of one that a joined hub lends from a host that comes and goes. */
  readonly lentHost?: LentHostEnd | undefined;
  /** Null unless its agent is drained. */
  readonly drain: AgentDrain | null;
}

export interface AgentView {
  readonly id: string;
  readonly version: string;
  readonly revision: string;
  /** Address of its host; null when unknown. */
  readonly address: string | null;
  /** Only of a connected hub. */
  readonly hub?: JoinedHub | undefined;
  readonly status: AgentStatus;
  readonly seenAtMs: number;
  /** Lead of its clock over the hub's when it joined, in ms; null when it did not report its clock. */
  readonly clockOffsetMs: number | null;
  readonly installation: Installation;
  readonly drain: AgentDrain | null;
  /** By id. */
  readonly instances: readonly InstanceView[];
}

export interface Nodes {
  /** All instances, by id. */
  instances(): Promise<readonly InstanceView[]>;
  instance(instanceId: string): Promise<InstanceView | undefined>;
  /** All agents, by id. */
  agents(): Promise<readonly AgentView[]>;
  agent(agentId: string): Promise<AgentView | undefined>;
  /** Drains of agents, known or not, by agent. */
  drains(): Promise<readonly AgentDrain[]>;
}
