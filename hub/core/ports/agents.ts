/** Agents as the engine knows them: what they say of themselves, and the connection over which it talks to them. */
import type { InstanceCommand, InstanceLogType, InstanceReport } from '@workbench-hub/shared/domain/instance';
import type { Job } from '@workbench-hub/shared/domain/job';
import type { AttemptRef } from '@workbench-hub/shared/domain/task';

/** Introduction of an agent that joins. */
export interface AgentIntroduction {
  readonly agent: {
    readonly id: string;
    /** Tells an agent that comes back from another one with the same id. */
    readonly nodeId: string;
    readonly version: string;
    readonly revision: string;
  };
  /** Address of its host, as far as it is known. */
  readonly address: string | null;
  /** The time that its clock shows, in milliseconds since 1970; null when it did not say. */
  readonly clockMs: number | null;
  readonly instances: readonly InstanceReport[];
  /** Attempts that run now. */
  readonly running: readonly AttemptRef[];
  /** Attempts that have ended and whose reports are still to come. */
  readonly spooled: readonly AttemptRef[];
}

/** Why an agent may not join. */
export interface JoinRefusal {
  readonly code: 'AGENT_ID_TAKEN' | 'INSTANCE_ID_TAKEN';
  readonly message: string;
}

/** A task for an agent. */
export interface Assignment {
  readonly ref: AttemptRef;
  readonly job: Job;
  readonly timeLimitMs: number | null;
  /** Name of the request that created the task, for the logs. */
  readonly requestId: string | null;
  /** Parent of the attempt's spans; null when its trace is not kept. */
  readonly traceContext: string | null;
}

/** A question to an agent. */
export type AgentRequest =
  | { readonly kind: 'instanceCommand'; readonly instanceId: string; readonly command: InstanceCommand }
  | { readonly kind: 'instanceLog'; readonly instanceId: string; readonly logType: InstanceLogType };

/** One connection of an agent. No method throws; nothing is sent on a connection that has ended. */
export interface AgentConnection {
  /** The agent has joined. `outputStorage`: whether files for the output storage are taken. */
  welcome(terms: { readonly outputStorage: boolean }): void;
  refuse(refusal: JoinRefusal): void;
  assign(assignment: Assignment): void;
  /** The attempt no longer counts: the agent is to end it if it runs. */
  cancel(ref: AttemptRef): void;
  request(requestId: string, request: AgentRequest): void;
  /** The report of this attempt is durable, or was dropped because it did not count: the agent may forget it. */
  acknowledge(ref: AttemptRef, counted: boolean): void;
  close(reason: string): void;
  /** Ends the connection because the agent broke the protocol. */
  fail(fault: string): void;
}
