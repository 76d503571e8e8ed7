/** Agents as the engine sees them: their introduction, and the connection to them. */

import type { AgentUpdate } from '@workbench-hub/shared/domain/agent-update';
import type { Installation } from '@workbench-hub/shared/domain/installation';
import type {
  InstanceCommand,
  InstanceCrashes,
  InstanceLogType,
  InstanceReport,
} from '@workbench-hub/shared/domain/instance';
import type { Job, NamedFileRef } from '@workbench-hub/shared/domain/job';
import type { JoinedHub } from '@workbench-hub/shared/domain/joined-hub';
import type { LentRecipe, WantedInstances } from '@workbench-hub/shared/domain/lent-recipe';
import type { AttemptRef } from '@workbench-hub/shared/domain/task';
import type { TaskOrigin } from '../task.js';
import type { SignedText } from './text-signer.js';

/** An attempt that an agent says it has, with the proof of its assignment; null when it shows none. */
export interface ShownAttempt {
  readonly ref: AttemptRef;
  readonly proof: string | null;
}

/** Introduction of an agent that joins. */
export interface AgentIntroduction {
  readonly agent: {
    readonly id: string;
    /** Distinguishes a returning agent from another one with the same id. */
    readonly nodeId: string;
    readonly version: string;
    readonly revision: string;
    readonly installation: Installation;
  };
  /** Address of its host, as far as it is known. */
  readonly address: string | null;
  /** Its clock, in milliseconds since 1970; null when it did not send it. */
  readonly clockMs: number | null;
  /** The agent numbers its joins in ascending order, unless its clock was set back between two starts; null when it does not. */
  readonly joinNumber: number | null;
  readonly instances: readonly InstanceReport[];
  /** Only of a hub that joins as an agent. */
  readonly hub?: JoinedHub | undefined;
  /** Whether the version of the agent is on trial. */
  readonly isTrial: boolean;
  /** Running attempts. */
  readonly running: readonly ShownAttempt[];
  /** Ended attempts whose reports are not delivered yet. */
  readonly spooled: readonly ShownAttempt[];
}

/** Reason why an agent may not join. */
export interface JoinRefusal {
  readonly code: 'AGENT_ID_TAKEN' | 'INSTANCE_ID_TAKEN' | 'JOIN_OUTDATED' | 'HUB_CIRCLE';
  readonly message: string;
  /** Number of the agent's latest join, for `JOIN_OUTDATED`. */
  readonly latestJoin?: number;
}

/** A dispatched attempt for an agent. */
export interface Assignment {
  readonly ref: AttemptRef;
  readonly job: Job;
  readonly timeLimitMs: number | null;
  /** Hub that the task was handed in to, and its creator there; told to joined hubs only. */
  readonly origin: TaskOrigin;
  /** Name of the request that created the task, for the logs. */
  readonly requestId: string | null;
  /** Parent of the attempt's spans; null when its trace is not kept. */
  readonly traceContext: string | null;
  /** Shown by the agent when it joins with this attempt. */
  readonly proof: string;
  /** Checkpoint of an earlier attempt; absent for none. */
  readonly checkpoint?: readonly NamedFileRef[] | undefined;
}

/** A request to an agent. */
export type AgentRequest =
  | {
      readonly kind: 'instanceCommand';
      readonly instanceId: string;
      readonly command: InstanceCommand;
      /** Hub at which the command was given, and its user there; told to joined hubs only. */
      readonly asker?: TaskOrigin | undefined;
    }
  | { readonly kind: 'instanceLog'; readonly instanceId: string; readonly logType: InstanceLogType }
  | { readonly kind: 'instanceCrashes'; readonly instanceId: string }
  | { readonly kind: 'updateState' }
  | {
      readonly kind: 'update';
      readonly order: SignedText;
      /** Whether to try also a version that has failed there. */
      readonly again: boolean;
      /** Time within which the agent may restart for it; absent without a limit. */
      readonly withinMs?: number;
    }
  | { readonly kind: 'probe'; readonly nonce: string }
  | { readonly kind: 'proven' }
  /** Only to a joined hub: all that is wanted of its recipes; absent when only these are asked for. */
  | { readonly kind: 'bringHosts'; readonly wanted?: readonly WantedInstances[] | undefined }
  /** Only to the agent of an allocation: time from now until it stops by itself. */
  | { readonly kind: 'stopAfter'; readonly afterMs: number };

/** Response of an agent to a request. */
export interface AgentReply {
  /** Reason why the request failed. */
  readonly error: string | null;
  readonly text: string | null;
  /** Position of the first unit of a log's text, in UTF-16 units since the agent started; absent from older agents. */
  readonly offset?: number | undefined;
  readonly crashes?: InstanceCrashes | undefined;
  readonly update?: AgentUpdate | undefined;
  /** Recipes that a joined hub lends. */
  readonly recipes?: readonly LentRecipe[] | undefined;
}

/** One connection of an agent. No method throws; calls on an ended connection are ignored. */
export interface AgentConnection {
  /** Accepts the agent. `outputStorage` tells whether files for the output storage are accepted. */
  welcome(terms: { readonly outputStorage: boolean }): void;
  refuse(refusal: JoinRefusal): void;
  assign(assignment: Assignment): void;
  /** Tells that the attempt no longer counts: the agent ends it if it runs. */
  cancel(ref: AttemptRef): void;
  request(requestId: string, request: AgentRequest): void;
  /** Acknowledges a report, which is durable or did not count: the agent forgets it. */
  acknowledge(ref: AttemptRef, counted: boolean): void;
  /** Asks the agent to join another hub, of these addresses first; it takes along what it runs. False for an agent of an earlier
   *  version, which cannot be asked. */
  move(reason: string, to?: readonly string[]): boolean;
  close(reason: string): void;
  /** Ends the connection because the agent broke the protocol. */
  fail(fault: string): void;
}
