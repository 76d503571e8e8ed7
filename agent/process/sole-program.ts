/** An instance program with a process of its own. */
import type { InstanceProfile } from '@workbench-hub/shared/domain/instance';
import type { InitializeResult, OutputParams } from '@workbench-hub/shared/instance-protocol/messages';
import type {
  BatchRun,
  Program,
  ProgramEnd,
  ProgramIntroduction,
  ProgramListener,
} from '../core/ports/programs.js';
import type { PreparedDirectory } from '../core/ports/workspace.js';
import type { TaskNames } from '../core/task-names.js';
import { JobProcesses } from './job-processes.js';
import type { ProgramProcess } from './program-process.js';

export class SoleProgram implements Program {
  readonly isJoined = false;
  readonly ended: Promise<ProgramEnd>;
  readonly #profile: InstanceProfile;
  readonly #process: ProgramProcess;
  readonly #jobs: JobProcesses;
  readonly #initialized: InitializeResult | null;

  /** `initialized`: the answer of a process that is initialized already. */
  constructor(
    profile: InstanceProfile,
    process: ProgramProcess,
    initialized: InitializeResult | null = null,
  ) {
    this.#profile = profile;
    this.#process = process;
    this.#jobs = new JobProcesses(process.options);
    this.#initialized = initialized;
    this.ended = process.ended;
  }

  get pid(): number | undefined {
    return this.#process.pid;
  }

  get directory(): PreparedDirectory | null {
    return this.#process.options.sandbox?.directory ?? null;
  }

  async initialize(): Promise<ProgramIntroduction> {
    return this.#initialized ?? this.#process.initialize(this.#profile, false);
  }

  simulateWork({ taskId, requestId }: TaskNames, durationMs: number): Promise<void> {
    return this.#process.call(this.#process.host.simulateWork({ taskId, requestId, durationMs }));
  }

  async executeBatchJob(
    run: BatchRun,
  ): Promise<{ readonly status: 'OK' | 'ERROR'; readonly message: string | null }> {
    this.#jobs.begin();
    this.#process.options.group?.jobBegins();
    const { status, message, startedProcesses } = await this.#process.call(
      this.#process.host.executeBatchJob(batchParams(run)),
    );
    if (startedProcesses === false) this.#jobs.startedNone();
    return { status, message: message ?? null };
  }

  async endOrphans(taskId: string): Promise<void> {
    if (!this.#jobs.mayBeLeft) return;
    const { cookie, group, sweep } = this.#process.options;
    if (this.#jobs.hasBegun) await group?.endJob();
    await sweep(cookie, this.#jobs.of(taskId));
  }

  cancel(taskId: string): Promise<void> {
    return this.#process.call(this.#process.host.cancel(taskId));
  }

  shutdown(): void {
    this.#process.shutdown();
  }

  terminate(): void {
    this.#process.signal('SIGTERM');
  }

  kill(): void {
    this.#process.signal('SIGKILL');
  }
}

/** Parameters of `executeBatchJob`. */
export function batchParams({ points, ...run }: BatchRun) {
  return {
    ...run,
    ...(points && { points: [...points] }),
    scripts: [...run.scripts],
    variables: { ...run.variables },
    environment: { ...run.environment },
  };
}

/** Listener of a process for one instance. */
export function soleListener({ onOutput, onStderr }: ProgramListener) {
  return {
    onOutput: ({ taskId, stream, text }: OutputParams) => onOutput(taskId, stream, text),
    onLog: () => undefined,
    onStderr,
    onExit: () => undefined,
  };
}
