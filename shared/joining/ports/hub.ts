/** The hub as the agent sees it: it can be joined, and then assigns attempts. */
import type { AgentUpdate } from '../../domain/agent-update.js';
import type { AttemptReport } from '../../domain/attempt.js';
import type {
  InstanceCommand,
  InstanceCrashes,
  InstanceLogType,
  InstanceProfile,
  LentHost,
  LentState,
  ReportedInstanceStatus,
} from '../../domain/instance.js';
import type { FileRef, Job, NamedFileRef } from '../../domain/job.js';
import type { JoinedHub } from '../../domain/joined-hub.js';
import type { LentRecipe, WantedInstances } from '../../domain/lent-recipe.js';
import type { AttemptRef } from '../../domain/task.js';

export interface InstanceState extends InstanceProfile {
  readonly status: ReportedInstanceStatus;
  /** Uptime; null when it is not up. */
  readonly upForMs: number | null;
  /** Only of an instance that a hub lends. */
  readonly lent?: LentState | undefined;
  /** Only of an instance that a hub lends, on a host that comes and goes. */
  readonly host?: LentHost | undefined;
}

/** An attempt that this agent has, with the proof of its assignment; absent when the hub gave none. */
export interface HeldAttempt extends AttemptRef {
  readonly proof?: string | undefined;
}

/** Introduction of an agent that joins. */
export interface Introduction {
  readonly instances: readonly InstanceState[];
  /** Attempts that are running. */
  readonly running: readonly HeldAttempt[];
  /** Attempts whose report is not acknowledged. */
  readonly spooled: readonly HeldAttempt[];
  /** Only of a hub that joins as an agent. */
  readonly hub?: JoinedHub | undefined;
  /** Whether this version of the agent is on trial. */
  readonly isTrial?: boolean;
}

export interface Assignment {
  readonly ref: AttemptRef;
  readonly timeLimitMs: number | null;
  readonly job: Job;
  /** Hub that the task was handed in to, and its creator there; only for hubs. */
  readonly origin?: { readonly hub: string; readonly user: string | null } | undefined;
  /** Id of the request that created the task, for the logs; absent when the hub does not say. */
  readonly requestId?: string | undefined;
  /** Parent of the attempt's spans; absent when its trace is not sampled. */
  readonly traceContext?: string | undefined;
  /** Proof of the assignment, for each hub that is joined; absent when the hub gave none. */
  readonly proof?: string | undefined;
  /** Checkpoint of an earlier attempt; absent for none. */
  readonly checkpoint?: readonly NamedFileRef[] | undefined;
}

export type HubRequest = InstanceRequest | UpdateRequest | HostsRequest | StopRequest;

export type InstanceRequest =
  | {
      readonly kind: 'instanceCommand';
      readonly instanceId: string;
      readonly command: InstanceCommand;
      /** Hub at which the command was given, and its user there; only for hubs. */
      readonly asker?: { readonly hub: string; readonly user: string | null } | undefined;
    }
  | { readonly kind: 'instanceLog'; readonly instanceId: string; readonly logType: InstanceLogType }
  | { readonly kind: 'instanceCrashes'; readonly instanceId: string };

/** Requests about the version of the agent (decision 0092). */
export type UpdateRequest =
  | { readonly kind: 'updateState' }
  | {
      readonly kind: 'update';
      readonly order: SignedOrder;
      /** Whether to try also a version that has failed on this host. */
      readonly again: boolean;
      /** Time within which the agent may restart for it; absent without a limit. */
      readonly withinMs?: number | undefined;
    }
  | { readonly kind: 'probe'; readonly nonce: string }
  | { readonly kind: 'proven' };

/** Request to a hub for hosts of its recipes (decision 0099). */
export interface HostsRequest {
  readonly kind: 'bringHosts';
  /** Absent when only the recipes are asked for. */
  readonly wanted?: readonly WantedInstances[] | undefined;
}

/** Request to an agent to stop by itself at another time, since its host ends then (decision 0100). */
export interface StopRequest {
  readonly kind: 'stopAfter';
  /** Time from now until it stops. */
  readonly afterMs: number;
}

/** An order to update with the signature of the hub. */
export interface SignedOrder {
  readonly protected: string;
  readonly payload: string;
  readonly signature: string;
}

/** Response to a request; `error` says why it failed. */
export interface Reply {
  readonly error: string | null;
  readonly text: string | null;
  /** Position of the first unit of a log's text, in UTF-16 units since the agent started. */
  readonly offset?: number;
  readonly crashes?: InstanceCrashes;
  readonly update?: AgentUpdate;
  /** Recipes that a hub lends. */
  readonly recipes?: readonly LentRecipe[];
}

/** Request of a hub to join another one. */
export interface MoveRequest {
  readonly reason: string;
  /** Addresses of the hubs that are to be tried first. */
  readonly to: readonly string[];
}

export interface HubListener {
  /** Awaited when the hub has accepted the connection, before the introduction; by default, that follows at once. */
  onConnected?(): Promise<void>;
  /** Called when the agent joins. */
  introduce(): Introduction;
  onJoined(connection: HubConnection): void;
  onAssign(assignment: Assignment): void;
  onCancel(ref: AttemptRef): void;
  /** The hub has acknowledged this report. */
  onAcknowledged(ref: AttemptRef, counted: boolean): void;
  onRequest(request: HubRequest): Reply | Promise<Reply>;
  /** The addresses of the other hubs of the cluster, when the agent joins and whenever they have changed. */
  onHubs(addresses: readonly string[]): void;
  onMove(request: MoveRequest): void;
}

/** Connection to a joined hub. Messages after its end are dropped. */
export interface HubConnection {
  /** Aborted when the connection has ended. */
  readonly ended: AbortSignal;
  readonly files: FileTransfer;
  /** Whether the hub accepts files for its output storage. */
  readonly isOutputStorageOn: boolean;
  /** Maximum size of all blobs that are sent with a report; 0 when the hub takes none. */
  readonly inlineBlobBytes: number;
  /** True when much unsent data is buffered: optional messages should be omitted. */
  isCongested(): boolean;
  sendInstance(instance: InstanceState): void;
  /** `offset` counts UTF-16 units since the attempt began. */
  sendOutput(ref: AttemptRef, offset: number, text: string): void;
  /** `blobs` of the report are sent with it; the others must have been uploaded. */
  sendReport(report: AttemptReport, blobs?: readonly Buffer[]): void;
  /** Leaves the hub for another one. The connection counts as ended at once; resolves when it is closed, and all that the hub has sent
   *  before is processed. */
  leave(): Promise<void>;
  /** Sends all queued messages and resolves when the connection is closed. */
  close(reason: string): Promise<void>;
}

/** Transfer of blobs. All methods reject with {@link TransferFailed}, or with the error of the source or sink. */
export interface FileTransfer {
  /** Downloads a blob from `fromByte` on; a hub without resume sends all of it. */
  download(digest: string, fromByte: number, signal: AbortSignal): Promise<Download>;
  /** Asks how much of a blob the hub has. */
  uploadedBytes(digest: string, signal: AbortSignal): Promise<'WHOLE' | { readonly keptBytes: number }>;
  /** Uploads the bytes of a blob from `fromByte` on. */
  upload(
    file: FileRef,
    content: AsyncIterable<Uint8Array>,
    fromByte: number,
    signal: AbortSignal,
  ): Promise<void>;
}

export interface Download {
  /** Offset at which `content` begins. */
  readonly fromByte: number;
  readonly content: AsyncIterable<Uint8Array>;
}

export interface Hub {
  /** Configured addresses at which it can be joined: more than one for a cluster. */
  readonly addresses: readonly string[];
  /** Identity of the agent's data directory. */
  readonly nodeId: string;
  /** Tries to join once. Resolves with the reason when the joined connection has ended; rejects with {@link JoinFailed}. */
  join(address: string, listener: HubListener, signal: AbortSignal): Promise<string>;
}

/** The hub was not joined; the message gives the reason and the remedy. */
export class JoinFailed extends Error {
  override readonly name = 'JoinFailed';
  /** Whether the hub has refused the token or credential. */
  readonly isUnauthorized: boolean;

  constructor(message: string, options: ErrorOptions & { readonly isUnauthorized?: boolean } = {}) {
    super(message, options);
    this.isUnauthorized = options.isUnauthorized ?? false;
  }
}

/** Reason of a failed transfer: the hub has no such blob, received bytes with another digest, cannot use its store for now, refused
 *  for another reason, or cannot be reached. */
export type TransferFailure = 'MISSING' | 'MISMATCH' | 'UNAVAILABLE' | 'REFUSED' | 'UNREACHABLE';

export class TransferFailed extends Error {
  override readonly name = 'TransferFailed';
  readonly failure: TransferFailure;

  constructor(failure: TransferFailure, message: string, options?: ErrorOptions) {
    super(message, options);
    this.failure = failure;
  }
}
