/** The agents that the hubs of a store know, and their instances. An agent is connected to one hub at most. */
import type { Installation } from '@workbench-hub/shared/domain/installation';
import type {
  InstanceProfile,
  InstanceReport,
  InstanceStatus,
  LentState,
} from '@workbench-hub/shared/domain/instance';
import type { JoinedHub } from '@workbench-hub/shared/domain/joined-hub';
import type { LentHostEnd } from '../hosts/lent-host.js';
import type { JoinRefusal } from './agents.js';

export interface PresentInstance {
  readonly profile: InstanceProfile;
  /** UNKNOWN while its agent is disconnected. */
  readonly status: InstanceStatus;
  /** Null while its program does not run, or its agent is disconnected. */
  readonly startedAtMs: number | null;
  /** Only of an instance that a joined hub lends. */
  readonly lent?: LentState | undefined;
  /** Only of one that it lends from a host that comes and goes. */
  readonly lentHost?: LentHostEnd | undefined;
}

/** An instance as its agent reports it, with the start of its program, in milliseconds since 1970 by the store's clock: the hub of the agent
 *  computes it, and all hubs show the same. */
export interface StartedInstance extends InstanceReport {
  /** Null while its program does not run. */
  readonly startedAtMs: number | null;
  /** Only of one that a joined hub lends from a host that comes and goes: by the store's clock, too. */
  readonly lentHost?: LentHostEnd | undefined;
}

export interface KnownAgent {
  readonly id: string;
  readonly version: string;
  readonly revision: string;
  /** Time at which it joined or, once disconnected, left. */
  readonly seenAtMs: number;
  /** Lead of its clock over the store's when it joined; null when it did not send its time. */
  readonly clockOffsetMs: number | null;
  /** Absent for an agent that has not joined since hubs keep it. */
  readonly installation?: Installation | undefined;
}

export interface JoiningAgent extends KnownAgent {
  /** Distinguishes a returning agent from another one with the same id. */
  readonly nodeId: string;
  /** Number that the agent gives its joins in ascending order; null when it gives none. */
  readonly joinNumber: number | null;
  /** Address of its host, as far as it is known. */
  readonly address: string | null;
  /** Only of a hub that joins as an agent. */
  readonly hub?: JoinedHub | undefined;
  readonly instances: readonly StartedInstance[];
}

export interface PresentAgent extends KnownAgent {
  readonly address: string | null;
  /** Only of a connected hub. */
  readonly hub?: JoinedHub | undefined;
  readonly isConnected: boolean;
  /** By id. */
  readonly instances: readonly PresentInstance[];
}

/** An accepted join. */
export interface Joined {
  /** Number of the join, above those of all earlier joins of the agent. */
  readonly epoch: number;
}

/** Refusal of a join with a lower number than the agent's latest one. */
export function joinOutdated(agentId: string, latestJoin: number): JoinRefusal {
  const message = `agent ${agentId} has joined with a later number: this join was delayed, or the clock of its host was set back`;
  return { code: 'JOIN_OUTDATED', message, latestJoin };
}

/** A change by an epoch that is not the agent's latest, or of an agent that has left, has no effect. */
export interface Presence {
  /** Lets an agent join, in place of its earlier connection. Refused while the agent is connected from another node, or another
   *  connected agent has one of its instances; an instance of a disconnected agent becomes this one's. Refused also when a join of the agent
   *  with a higher number is known, even if that connection has ended. Rejects with HubError
   *  `STORE_UNAVAILABLE`; then it has not joined. Nor has it when the promise resolves with undefined, because the join had to wait and
   *  `isWanted` was false when it was its turn. */
  join(agent: JoiningAgent, isWanted?: () => boolean): Promise<Joined | JoinRefusal | undefined>;
  /** An instance has changed. */
  changed(agentId: string, epoch: number, report: StartedInstance): void;
  /** The agent is disconnected since this time. False when that has no effect. */
  leave(agentId: string, epoch: number, atMs: number): Promise<boolean>;
  /** Whether the agent is connected to this hub, and this is its latest join. */
  holds(agentId: string, epoch: number): Promise<boolean>;
  /** All known agents, by id. */
  all(): Promise<PresentAgent[]>;
  /** Forgets a disconnected agent; false, and nothing changed, when it is connected. */
  forget(agentId: string): Promise<boolean>;
}
