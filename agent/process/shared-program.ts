/**
 * The program of an instance that may use a common process. The first instance of an entry launches the process and offers
 * version 2 of the protocol; the others wait for its answer. If the program speaks version 1 only, the first one keeps the
 * process, and each other instance starts one of its own.
 */
import type { InstanceProfile } from '@workbench-hub/shared/domain/instance';
import {
  type BatchRun,
  type Program,
  type ProgramEnd,
  type ProgramIntroduction,
  type ProgramListener,
  ProgramLost,
  type ProgramSettings,
} from '../core/ports/programs.js';
import { describeEnd } from '../core/program-end.js';
import type { TaskNames } from '../core/task-names.js';
import type { CommonProcess, Member } from './common-process.js';
import { SoleProgram } from './sole-program.js';

/** Starts processes for {@link SharedProgram}. */
export interface ProcessStarter {
  /** Common process of that name, or undefined. */
  find(name: string): CommonProcess | undefined;
  /** Launches a common process; it is found by its name until it has ended. */
  launch(launcher: Member, settings: ProgramSettings): CommonProcess;
  /** Starts a program with a process of its own. */
  startSole(settings: ProgramSettings, listener: ProgramListener): Program;
}

export class SharedProgram implements Program, Member {
  readonly profile: InstanceProfile;
  readonly listener: ProgramListener;
  readonly directory = null;
  readonly ended: Promise<ProgramEnd>;
  readonly #settings: ProgramSettings;
  readonly #starter: ProcessStarter;
  /** Resolves when the instance has a process. */
  readonly #placed: Promise<void>;
  #common: CommonProcess | null = null;
  #sole: Program | null = null;
  #end: ProgramEnd | null = null;
  #resolveEnded!: (end: ProgramEnd) => void;

  constructor(settings: ProgramSettings, listener: ProgramListener, starter: ProcessStarter) {
    this.profile = settings.instance;
    this.listener = listener;
    this.#settings = settings;
    this.#starter = starter;
    this.ended = new Promise((resolve) => {
      this.#resolveEnded = resolve;
    });
    const closing = this.#place();
    this.#placed = closing === null ? Promise.resolve() : this.#placeAfter(closing);
  }

  get pid(): number | undefined {
    return this.#sole?.pid ?? this.#common?.process.pid;
  }

  get isJoined(): boolean {
    return this.#common !== null && this.#common.launcher !== this;
  }

  async initialize(): Promise<ProgramIntroduction> {
    await this.#placed;
    if (this.#end !== null) throw this.#lost(this.#end);
    const common = this.#common;
    if (common === null) return this.#ownProgram.initialize();
    const answer = await common.handshake;
    if (this.#end !== null) throw this.#lost(this.#end);
    if (!common.isForOne) {
      await common.startInstance(this);
      return answer;
    }
    this.#common = null;
    if (common.launcher === this) {
      this.#sole = new SoleProgram(this.profile, common.process, answer);
      return answer;
    }
    common.release(this);
    this.#startSole();
    this.listener.onStarted();
    return this.#ownProgram.initialize();
  }

  simulateWork(task: TaskNames, durationMs: number): Promise<void> {
    return (
      this.#common?.simulateWork(this, task, durationMs) ?? this.#ownProgram.simulateWork(task, durationMs)
    );
  }

  executeBatchJob(
    run: BatchRun,
  ): Promise<{ readonly status: 'OK' | 'ERROR'; readonly message: string | null }> {
    return this.#common?.executeBatchJob(this, run) ?? this.#ownProgram.executeBatchJob(run);
  }

  endOrphans(taskId: string): Promise<void> {
    return this.#common?.endOrphans(this, taskId) ?? this.#ownProgram.endOrphans(taskId);
  }

  cancel(taskId: string): Promise<void> {
    return this.#common?.cancel(this, taskId) ?? this.#ownProgram.cancel(taskId);
  }

  shutdown(): void {
    if (this.#sole) this.#sole.shutdown();
    else if (this.#common) this.#common.stop(this);
    else this.onLeft({ kind: 'LEFT' });
  }

  terminate(): void {
    if (this.#sole) this.#sole.terminate();
    else this.#common?.terminate(this);
  }

  kill(): void {
    if (this.#sole) this.#sole.kill();
    else if (this.#common) this.#common.kill(this);
    else this.onLeft({ kind: 'LEFT' });
  }

  onLeft(end: ProgramEnd): void {
    this.#end ??= end;
    this.#resolveEnded(this.#end);
  }

  /** Finds or launches a process; if the present one is ending, returns that. */
  #place(): CommonProcess | null {
    const { commonProcess } = this.#settings;
    const present = this.#starter.find(commonProcess ?? '');
    if (present?.isForOne) this.#startSole();
    else if (present?.isOpen) {
      present.join(this);
      this.#common = present;
    } else if (present) return present;
    else this.#common = this.#starter.launch(this, this.#settings);
    return null;
  }

  async #placeAfter(closing: CommonProcess): Promise<void> {
    for (let next: CommonProcess | null = closing; next !== null; next = this.#place()) {
      await next.process.ended;
      if (this.#end !== null) return;
    }
    this.listener.onStarted();
  }

  #startSole(): void {
    this.#sole = this.#starter.startSole(this.#settings, this.listener);
    void this.#sole.ended.then((end) => this.onLeft(end));
  }

  get #ownProgram(): Program {
    if (this.#sole === null) throw this.#lost(this.#end ?? { kind: 'LEFT' });
    return this.#sole;
  }

  #lost(end: ProgramEnd): ProgramLost {
    return new ProgramLost(`the instance program ${describeEnd(end)}`);
  }
}
