/** Instance programs: processes that are started, called, and ended together with all their descendants. */
import type { InstanceProfile, JobKind } from '@workbench-hub/shared/domain/instance';
import type { ResourceLimits } from '../resource-limits.js';
import type { SandboxSettings } from '../sandbox.js';
import type { TaskNames } from '../task-names.js';
import type { PreparedDirectory } from './workspace.js';

export interface ProgramSettings {
  readonly instance: InstanceProfile;
  /** Program and arguments. */
  readonly command: readonly string[];
  /** Added to the inherited environment. */
  readonly env: Readonly<Record<string, string>>;
  /** Null: no sandbox. */
  readonly sandbox: SandboxSettings | null;
  /** Null: no limits. */
  readonly limits: ResourceLimits | null;
  /** Name of the common process that serves the instance together with others of the same name, command and environment, if the
   *  program can do that. Null: a process of its own. */
  readonly commonProcess: string | null;
}

export interface ProgramListener {
  /** The process of the program was started after `start` had returned. */
  onStarted(): void;
  /** Output of a script. A returned promise blocks the program until it is settled. */
  onOutput(taskId: string, stream: 'stdout' | 'stderr', text: string): Promise<void> | undefined;
  /** Standard error of the program itself. */
  onStderr(text: string): void;
}

/** End of a program. */
export type ProgramEnd =
  /** The program does not exist. */
  | { readonly kind: 'NOT_FOUND'; readonly program: string }
  /** The system could not start it. */
  | { readonly kind: 'NOT_STARTED'; readonly program: string; readonly reason: string }
  /** It sent an invalid message, and was killed. */
  | ({ readonly kind: 'VIOLATION'; readonly fault: string } & EndedTogether)
  | ({
      readonly kind: 'EXITED';
      readonly exitCode: number | null;
      readonly signal: string | null;
    } & EndedTogether)
  /** The common process has ended this instance as requested, and serves others. */
  | { readonly kind: 'LEFT' }
  /** The common process was killed, because it did not end another instance. */
  | { readonly kind: 'KILLED_FOR'; readonly instanceId: string };

/** End of a common process. */
export interface EndedTogether {
  /** Number of other instances of the process that worked; absent for none. Any of them may have caused the end. */
  readonly othersWorked?: number;
}

export interface BatchRun extends TaskNames {
  /** Absolute, as are all paths here. */
  readonly workingDirectory: string;
  readonly scripts: readonly string[];
  readonly model: string | null;
  readonly variables: Readonly<Record<string, string>>;
  readonly environment: Readonly<Record<string, string>>;
  /** Points of a bundle; absent for a job of its own. */
  readonly points?: readonly PointRun[];
  readonly pointLimitMs?: number | undefined;
}

/** A point of a bundle, with what it has in addition to the run. */
export interface PointRun extends Pick<BatchRun, 'variables' | 'environment'> {
  readonly number: number;
}

/** What a program says of itself when it is ready. */
export interface ProgramIntroduction {
  readonly name: string;
  readonly version: string;
  /** Kind of jobs that it runs; absent when it does not say. */
  readonly runs?: JobKind | undefined;
}

export interface Program {
  /** Undefined when it could not be started, or not yet. */
  readonly pid: number | undefined;
  /** Whether its process had been started for another instance. */
  readonly isJoined: boolean;
  /** Working directory of its only job, when it runs in a sandbox; it must be ended after that job. Null: it runs any number of
   *  jobs, each in its own directory. */
  readonly directory: PreparedDirectory | null;
  /** Resolves when the process and its descendants are gone and all output was delivered; in a common process, when those of this
   *  instance are. */
  readonly ended: Promise<ProgramEnd>;
  /** Calls of the instance protocol. All but `initialize` and `shutdown` reject with JobFailed, JobCanceled or ProgramLost. */
  initialize(): Promise<ProgramIntroduction>;
  simulateWork(task: TaskNames, durationMs: number): Promise<void>;
  executeBatchJob(
    run: BatchRun,
  ): Promise<{ readonly status: 'OK' | 'ERROR'; readonly message: string | null }>;
  /** Ends processes that the scripts of a task left running, also in other sessions. Never rejects. */
  endOrphans(taskId: string): Promise<void>;
  /** Asks the program to end its job; the job's call then rejects with JobCanceled. */
  cancel(taskId: string): Promise<void>;
  /** Asks the program to end: by message, and by the end of its standard input. */
  shutdown(): void;
  /** Sends SIGTERM to its process group. In a common process, ends the processes of this instance's job. */
  terminate(): void;
  /** Sends SIGKILL to its process group. In a common process, first ends the processes of this instance's job, and kills the whole
   *  process only if it does not end the instance soon. */
  kill(): void;
}

export interface Programs {
  /** Starts a program. Never throws: a program that cannot be started has ended. */
  start(settings: ProgramSettings, listener: ProgramListener): Program;
  /** Ends programs of an earlier run of this agent; returns the number of processes. */
  sweep(): Promise<number>;
}

/** The program could not run the job; the message is for the task's owner. */
export class JobFailed extends Error {
  override readonly name = 'JobFailed';
}

/** The program ended the job as requested. */
export class JobCanceled extends Error {
  override readonly name = 'JobCanceled';
}

/** The program ended, or broke the protocol, during the call. */
export class ProgramLost extends Error {
  override readonly name = 'ProgramLost';
  /** True: perhaps because of another instance in the same process, which is no fault of the job. */
  readonly isOfOthers: boolean;

  constructor(
    message: string,
    { isOfOthers = false, ...options }: ErrorOptions & { isOfOthers?: boolean } = {},
  ) {
    super(message, options);
    this.isOfOthers = isOfOthers;
  }
}
