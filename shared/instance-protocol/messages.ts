/**
 * The messages between an agent and an instance program: JSON-RPC 2.0, one message a line, UTF-8, over the
 * program's standard input and output. The agent calls, the program answers and notifies `output`.
 *
 *   agent                           program
 *     | -- initialize ----------------> |  once, first; the answer makes the instance ready
 *     | -- simulateWork --------------> |  at most one of these two at a time
 *     | -- executeBatchJob -----------> |
 *     | <------------- output (note) -- |  what scripts print, while a job runs
 *     | -- cancel --------------------> |  the running job then answers with error -32800
 *     | -- shutdown ------------------> |  the program answers and exits with 0
 *
 * The end of standard input means the same as `shutdown` and wants no answer. The reference for authors of adapters
 * is packages/docs/instance-protocol.md.
 */
export const INSTANCE_PROTOCOL_VERSION = 1;

/** A longer line is a violation of the protocol: it bounds what a faulty program can make the agent hold. */
export const MAX_LINE_BYTES = 16 * 1024 * 1024;

/** Error codes of an answer. The first five are JSON-RPC's own. */
export const RPC_ERROR = {
  PARSE: -32700,
  INVALID_REQUEST: -32600,
  METHOD_NOT_FOUND: -32601,
  INVALID_PARAMS: -32602,
  INTERNAL: -32603,
  /** The job could not be run (a model that cannot be read, say); the message is shown to the task's owner. */
  JOB_FAILED: -32001,
  /** The job ended because `cancel` asked for it. */
  CANCELED: -32800,
} as const;

export interface InitializeParams {
  protocolVersion: typeof INSTANCE_PROTOCOL_VERSION;
  instance: { id: string; version: string; revision: string; labels: string[] };
}

export interface InitializeResult {
  protocolVersion: typeof INSTANCE_PROTOCOL_VERSION;
  /** What the program is, for logs: `workbench-runner`, `0.1.0`. */
  name: string;
  version: string;
}

export interface SimulateWorkParams {
  taskId: string;
  /** By which the request that created the task is known in logs; left out when the agent does not know it. */
  requestId?: string | undefined;
  durationMs: number;
}

export interface ExecuteBatchJobParams {
  taskId: string;
  /** As above. */
  requestId?: string | undefined;
  /** Absolute. Holds the additional files and the model; what is new or changed in it afterwards is the output. */
  workingDirectory: string;
  /** Absolute paths of the scripts, at least one, outside the working directory, to be run one after the other in it. */
  scripts: string[];
  /** Absolute path of the model, or null. */
  model: string | null;
  variables: Record<string, string>;
  /** To be added to the environment of every script: the injected variables that may go there, and WORKBENCH_*. */
  environment: Record<string, string>;
}

export interface ExecuteBatchJobResult {
  /** `OK`: every script ended well. `ERROR`: one did not, and later ones were not run. */
  status: 'OK' | 'ERROR';
  /** For `ERROR`: which script, and how it ended. Shown to the task's owner. */
  message?: string | undefined;
}

export interface CancelParams {
  taskId: string;
}

export type OutputStream = 'stdout' | 'stderr';

export interface OutputParams {
  taskId: string;
  stream: OutputStream;
  text: string;
}

/** The other side answered with an error, or this side wants to answer with one. */
export class RpcError extends Error {
  override readonly name = 'RpcError';
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}
