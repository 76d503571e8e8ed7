/** The hub as the agent sees it: one that can be joined, and tells what to do while it is. */
import type { AttemptReport } from '@workbench-hub/shared/domain/attempt';
import type {
  InstanceCommand,
  InstanceLogType,
  InstanceProfile,
  ReportedInstanceStatus,
} from '@workbench-hub/shared/domain/instance';
import type { FileRef, Job } from '@workbench-hub/shared/domain/job';
import type { AttemptRef } from '@workbench-hub/shared/domain/task';

export interface InstanceState extends InstanceProfile {
  readonly status: ReportedInstanceStatus;
  /** For how long it has been up, null when it is not. */
  readonly upForMs: number | null;
}

/** Introduction of an agent that joins. */
export interface Introduction {
  readonly instances: readonly InstanceState[];
  /** Attempts that run now. */
  readonly running: readonly AttemptRef[];
  /** Attempts that have ended and whose report is not settled. */
  readonly spooled: readonly AttemptRef[];
}

export interface Assignment {
  readonly ref: AttemptRef;
  readonly timeLimitMs: number | null;
  readonly job: Job;
  /** By which the request that created the task is known in the logs, as far as the hub says. */
  readonly requestId?: string | undefined;
  /** What the spans of the attempt follow from; left out when its trace is not kept. */
  readonly traceContext?: string | undefined;
}

export type HubRequest =
  | { readonly kind: 'instanceCommand'; readonly instanceId: string; readonly command: InstanceCommand }
  | { readonly kind: 'instanceLog'; readonly instanceId: string; readonly logType: InstanceLogType };

/** The answer to a request: `error` says in words why it cannot be done. */
export interface Reply {
  readonly error: string | null;
  readonly text: string | null;
}

export interface HubListener {
  /** What is said of this agent at the moment of joining. */
  introduce(): Introduction;
  onJoined(connection: HubConnection): void;
  onAssign(assignment: Assignment): void;
  onCancel(ref: AttemptRef): void;
  /** The hub needs no more of this report. */
  onAcknowledged(ref: AttemptRef, counted: boolean): void;
  onRequest(request: HubRequest): Reply;
}

/** A hub that was joined. Everything sent after its end is dropped. */
export interface HubConnection {
  /** Aborted when the connection has ended. */
  readonly ended: AbortSignal;
  readonly files: FileTransfer;
  /** Whether the hub takes files for its output storage. */
  readonly storesOutputs: boolean;
  /** True when much of what was sent has not left yet: what may be left out should be. */
  isCongested(): boolean;
  sendInstance(instance: InstanceState): void;
  /** `offset` counts UTF-16 units since the attempt began. */
  sendOutput(ref: AttemptRef, offset: number, text: string): void;
  sendReport(report: AttemptReport): void;
  /** Sends what is queued, says good-bye; resolves when the connection is closed. */
  close(reason: string): Promise<void>;
}

/** Contents that lie with the hub. All reject with {@link TransferFailed}, or with what the source or sink threw. */
export interface FileTransfer {
  /** Fetches a content from `fromByte` on; a hub that knows no parts sends the whole. */
  download(digest: string, fromByte: number, signal: AbortSignal): Promise<Download>;
  /** Asks how much of a content the hub has. */
  look(digest: string, signal: AbortSignal): Promise<'WHOLE' | { readonly keptBytes: number }>;
  /** Sends the bytes of a content from `fromByte` on. */
  upload(
    file: FileRef,
    content: AsyncIterable<Uint8Array>,
    fromByte: number,
    signal: AbortSignal,
  ): Promise<void>;
}

export interface Download {
  /** Where `content` begins. */
  readonly fromByte: number;
  readonly content: AsyncIterable<Uint8Array>;
}

export interface Hub {
  /** Where it can be joined: more than one for a cluster. */
  readonly addresses: readonly string[];
  /** One try. Resolves with the reason when a connection that was joined has ended; rejects with {@link JoinFailed}. */
  join(address: string, listener: HubListener, signal: AbortSignal): Promise<string>;
}

/** The hub was not joined; the message says why and what can be done about it. */
export class JoinFailed extends Error {
  override readonly name = 'JoinFailed';
}

/** Why a transfer failed: the hub has no such content, what came to it is another content than its digest says, it
 *  refuses for another reason, or it cannot be reached. */
export type TransferFailure = 'MISSING' | 'MISMATCH' | 'REFUSED' | 'UNREACHABLE';

export class TransferFailed extends Error {
  override readonly name = 'TransferFailed';
  readonly failure: TransferFailure;

  constructor(failure: TransferFailure, message: string, options?: ErrorOptions) {
    super(message, options);
    this.failure = failure;
  }
}
