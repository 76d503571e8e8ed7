/** Instance programs: processes that are started, spoken to, and ended together with all that they started. */
import type { InstanceProfile } from '@workbench-hub/shared/domain/instance';
import type { SandboxSettings } from '../sandbox.js';
import type { TaskNames } from '../task-names.js';
import type { PreparedDirectory } from './workspace.js';

export interface ProgramSettings {
  readonly instance: InstanceProfile;
  /** The program and its arguments. */
  readonly command: readonly string[];
  /** Added to the environment that the program inherits. */
  readonly env: Readonly<Record<string, string>>;
  /** Null: the program runs as the agent does. */
  readonly sandbox: SandboxSettings | null;
}

export interface ProgramListener {
  /** What a script printed while a job ran. A promise holds the program back until it is settled. */
  onOutput(taskId: string, stream: 'stdout' | 'stderr', text: string): Promise<void> | undefined;
  /** What the program itself wrote to its standard error. */
  onStderr(text: string): void;
}

/** How a program came to its end. */
export type ProgramEnd =
  /** There is no such program. */
  | { readonly kind: 'NOT_FOUND'; readonly program: string }
  /** The system did not let it be started. */
  | { readonly kind: 'NOT_STARTED'; readonly program: string; readonly reason: string }
  /** It sent what is no message of the protocol, and was killed. */
  | { readonly kind: 'VIOLATION'; readonly fault: string }
  | { readonly kind: 'EXITED'; readonly exitCode: number | null; readonly signal: string | null };

export interface BatchRun extends TaskNames {
  /** Absolute, as are all paths here. */
  readonly workingDirectory: string;
  readonly scripts: readonly string[];
  readonly model: string | null;
  readonly variables: Readonly<Record<string, string>>;
  readonly environment: Readonly<Record<string, string>>;
}

export interface Program {
  /** Undefined when it could not be started. */
  readonly pid: number | undefined;
  /** The working directory of its only job, when it runs in a sandbox. It is to be ended after that job. Null: it runs jobs
   *  in any directory, one after the other. */
  readonly directory: PreparedDirectory | null;
  /** Resolves when the process and everything that it started are gone and all that it printed was handed on. */
  readonly ended: Promise<ProgramEnd>;
  /** Calls. All but `initialize` and `shutdown` reject with JobFailed, JobCanceled or ProgramLost. */
  initialize(): Promise<{ readonly name: string; readonly version: string }>;
  simulateWork(task: TaskNames, durationMs: number): Promise<void>;
  executeBatchJob(
    run: BatchRun,
  ): Promise<{ readonly status: 'OK' | 'ERROR'; readonly message: string | null }>;
  /** Ends what the scripts of a task left running, also in sessions of their own. Never rejects. */
  endOrphans(taskId: string): Promise<void>;
  /** Asks it to end its job; the job's call then rejects with JobCanceled. */
  cancel(taskId: string): Promise<void>;
  /** Asks it to end: by message, and by the end of its standard input. */
  shutdown(): void;
  /** Tells the whole group of its processes to end (SIGTERM). */
  terminate(): void;
  /** Ends the whole group of its processes (SIGKILL). */
  kill(): void;
}

export interface Programs {
  /** Never throws: a program that cannot be started has ended. */
  start(settings: ProgramSettings, listener: ProgramListener): Program;
  /** Ends what is left of programs of an earlier run of this agent; gives how many processes there were. */
  sweep(): Promise<number>;
}

/** The program could not run the job; the message is for the task's owner. */
export class JobFailed extends Error {
  override readonly name = 'JobFailed';
}

/** The program ended the job because it was asked to. */
export class JobCanceled extends Error {
  override readonly name = 'JobCanceled';
}

/** The program ended, or broke the protocol, under the call. */
export class ProgramLost extends Error {
  override readonly name = 'ProgramLost';
}
