/** An instance program, as `serveProgram` calls it. */
import type { JobKind } from '../domain/instance.js';
import type {
  ExecuteBatchJobParams,
  ExecuteBatchJobResult,
  InitializeParams,
  OutputStream,
  ServedInstanceProfile,
} from './messages.js';

/** Context of a job. */
export interface JobContext {
  /** Instance that runs it; each runs one job at a time. */
  readonly instanceId: string;
  /** Aborted by `cancel`, `shutdown` and the end of standard input: stop computing and end child processes. */
  signal: AbortSignal;
  /** Sends output of a script to the task's log. Await it: it holds back a script that prints faster than is read. */
  output(stream: OutputStream, text: string): Promise<void>;
  /** Writes a line with the task's name to the program's own log: standard error. */
  log(line: string): void;
}

export interface InstanceProgram {
  name: string;
  version: string;
  /** True: one process of it can serve several instances (version 2), and run a job of each at the same time. */
  isShareable?: boolean;
  /** True: each child process of it is a script, which it ends with its job. */
  startsScripts?: boolean;
  /** Kind of jobs that it runs, for the hub; absent when it does not say. */
  runs?: JobKind;
  /** Prepares the process (loads a library, checks a license), before any instance is used. */
  initialize?(params: InitializeParams): Promise<void>;
  /** Prepares an instance, which is used after it has resolved. */
  startInstance?(instance: ServedInstanceProfile): Promise<void>;
  /** Releases what an instance holds, after its job has ended. */
  stopInstance?(instanceId: string): Promise<void>;
  /** Resolves with the result of the scripts. Throw `new RpcError(RPC_ERROR.JOB_FAILED, message)` when they could not be run.
   *  After an abort, any result counts as canceled. */
  executeBatchJob(params: ExecuteBatchJobParams, context: JobContext): Promise<ExecuteBatchJobResult>;
  /** Releases resources before the process exits. */
  shutdown?(): Promise<void>;
}
