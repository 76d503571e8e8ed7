/**
 * One process of an instance program that serves several instances of a configuration entry (version 2 of the instance
 * protocol). An instance joins it, and leaves it when it is stopped; the last one that leaves ends the process. Each job
 * has the instance's own cookie in its environment, by which its processes are told from those of other instances.
 */
import type { InstanceProfile } from '@workbench-hub/shared/domain/instance';
import {
  type InitializeResult,
  SHARED_PROTOCOL_VERSION,
} from '@workbench-hub/shared/instance-protocol/messages';
import type { Timer } from '@workbench-hub/shared/runtime/runtime';
import { type BatchRun, type ProgramEnd, type ProgramListener, ProgramLost } from '../core/ports/programs.js';
import { describeEnd } from '../core/program-end.js';
import type { TaskNames } from '../core/task-names.js';
import { JobProcesses } from './job-processes.js';
import type { ProcessCommand } from './launch.js';
import { COOKIE_VARIABLE } from './platform.js';
import { type ProcessOptions, ProgramProcess, servedProfile } from './program-process.js';
import { batchParams } from './sole-program.js';

/** An instance of a common process. */
export interface Member {
  readonly profile: InstanceProfile;
  readonly listener: ProgramListener;
  /** The instance has left the process, or the process has ended. */
  onLeft(end: ProgramEnd): void;
}

interface Seat {
  readonly member: Member;
  readonly jobs: JobProcesses;
  /** Rejects the call of the running job; null while it is idle. */
  abandonJob: ((error: Error) => void) | null;
  isStopping: boolean;
  /** Deadline after which the process is killed for this instance. */
  force: Timer | null;
}

/** Time in which the program ends an instance, after the processes of its job were killed and before the program itself is. */
const FORCE_AFTER_MS = 2000;

export class CommonProcess {
  readonly process: ProgramProcess;
  readonly launcher: Member;
  /** Settles with the answer to `initialize`. */
  readonly handshake: Promise<InitializeResult>;
  readonly #seats = new Map<string, Seat>();
  readonly #options: ProcessOptions;
  #initialized: InitializeResult | null = null;
  #isClosing = false;
  /** Instances that worked when the process exited. */
  #workingAtExit: ReadonlySet<string> = new Set();
  #killedFor: string | null = null;

  constructor(launcher: Member, command: ProcessCommand, options: ProcessOptions) {
    this.launcher = launcher;
    this.#options = options;
    this.join(launcher);
    const listeners = () => [...this.#seats.values()].map(({ member }) => member.listener);
    this.process = new ProgramProcess(
      command,
      {
        onOutput: ({ instanceId = launcher.profile.id, taskId, stream, text }) =>
          this.#seats.get(instanceId)?.member.listener.onOutput(taskId, stream, text),
        onLog: ({ instanceId, text }) => this.#seats.get(instanceId)?.member.listener.onStderr(text),
        onStderr: (text) => {
          for (const listener of listeners()) listener.onStderr(text);
        },
        onExit: () => {
          const working = [...this.#seats.values()].filter(({ abandonJob }) => abandonJob !== null);
          this.#workingAtExit = new Set(working.map(({ member }) => member.profile.id));
        },
      },
      options,
    );
    this.handshake = this.process.initialize(launcher.profile, true).then((answer) => {
      this.#initialized = answer;
      // Processes so far are the program's own.
      if (answer.protocolVersion === SHARED_PROTOCOL_VERSION) options.group?.jobBegins();
      else this.#isClosing = true;
      return answer;
    });
    // Each instance awaits it.
    this.handshake.catch(() => undefined);
    void this.process.ended.then((end) => this.#onEnded(end));
  }

  /** Whether instances can join. */
  get isOpen(): boolean {
    return !this.#isClosing;
  }

  /** Whether the program has turned out to serve one instance only. */
  get isForOne(): boolean {
    return this.#initialized !== null && this.#initialized.protocolVersion !== SHARED_PROTOCOL_VERSION;
  }

  join(member: Member): void {
    const jobs = new JobProcesses(this.#options);
    this.#seats.set(member.profile.id, { member, jobs, abandonJob: null, isStopping: false, force: null });
  }

  /** Removes an instance that uses a process of its own; kills the process if it then serves none. */
  release(member: Member): void {
    this.#seats.delete(member.profile.id);
    if (this.#seats.size === 0) this.process.signal('SIGKILL');
  }

  async startInstance({ profile }: Member): Promise<void> {
    await this.process.call(this.process.host.startInstance(servedProfile(profile)));
  }

  simulateWork({ profile }: Member, { taskId, requestId }: TaskNames, durationMs: number): Promise<void> {
    const params = { instanceId: profile.id, taskId, requestId, durationMs };
    return this.#work(profile.id, () => this.process.host.simulateWork(params));
  }

  async executeBatchJob(
    { profile }: Member,
    run: BatchRun,
  ): Promise<{ readonly status: 'OK' | 'ERROR'; readonly message: string | null }> {
    const jobs = this.#seats.get(profile.id)?.jobs;
    jobs?.begin();
    const params = batchParams(run);
    params.environment[COOKIE_VARIABLE] = this.#cookieOf(profile.id);
    const { status, message, startedProcesses } = await this.#work(profile.id, () =>
      this.process.host.executeBatchJob({ instanceId: profile.id, ...params }),
    );
    if (startedProcesses === false) jobs?.startedNone();
    return { status, message: message ?? null };
  }

  cancel({ profile }: Member, taskId: string): Promise<void> {
    return this.process.call(this.process.host.cancel(taskId, profile.id));
  }

  /** Ends processes that a job of the instance left running. */
  async endOrphans({ profile }: Member, taskId: string): Promise<void> {
    const seat = this.#seats.get(profile.id);
    if (!seat?.jobs.mayBeLeft) return;
    const { group, sweep } = this.#options;
    if (seat.jobs.hasBegun) {
      if (this.#othersWork(profile.id)) await group?.endAllBut((pid) => this.#isSpared(pid, profile.id));
      else await group?.endJob();
    }
    await sweep(this.#cookieOf(profile.id), seat.jobs.of(taskId));
  }

  /** Ends an instance, and with the last one the process. */
  stop({ profile }: Member): void {
    const seat = this.#seats.get(profile.id);
    if (!seat || seat.isStopping) return;
    seat.isStopping = true;
    // Errors end in a deadline of the caller, or in the end of the process.
    this.#stop(seat).catch(() => undefined);
  }

  /** Sends SIGTERM when it serves no other instance; otherwise ends the processes of the instance's job. */
  terminate({ profile }: Member): void {
    if (this.#isClosing || this.#seats.size === 1) this.process.signal('SIGTERM');
    else void this.#options.sweep(this.#cookieOf(profile.id));
  }

  /** Ends an instance by force: the processes of its job at once, the process when that does not help. */
  kill(member: Member): void {
    const seat = this.#seats.get(member.profile.id);
    if (!seat) return;
    if (this.#initialized === null || this.#isClosing || this.#seats.size === 1) {
      this.process.signal('SIGKILL');
      return;
    }
    void this.#options.sweep(this.#cookieOf(member.profile.id));
    this.stop(member);
    seat.force ??= this.#options.runtime.timers.after(FORCE_AFTER_MS, () => {
      this.#killedFor = member.profile.id;
      this.process.signal('SIGKILL');
    });
  }

  async #stop(seat: Seat): Promise<void> {
    const { profile } = seat.member;
    if (this.#initialized !== null) {
      await this.process.call(this.process.host.stopInstance(profile.id));
      await this.#options.sweep(this.#cookieOf(profile.id));
    }
    if (this.#seats.get(profile.id) !== seat) return;
    if (this.#seats.size === 1) {
      this.#isClosing = true;
      this.process.shutdown();
      return;
    }
    this.#leave(seat, { kind: 'LEFT' });
  }

  #leave(seat: Seat, end: ProgramEnd): void {
    seat.force?.cancel();
    seat.abandonJob?.(new ProgramLost(`the instance program ${describeEnd(end)}`));
    this.#seats.delete(seat.member.profile.id);
    seat.member.onLeft(end);
  }

  #onEnded(end: ProgramEnd): void {
    this.#isClosing = true;
    for (const seat of [...this.#seats.values()]) {
      this.#leave(seat, this.#endFor(seat.member.profile.id, end));
    }
  }

  /** End of the process as an instance sees it. */
  #endFor(instanceId: string, end: ProgramEnd): ProgramEnd {
    if (this.#killedFor === instanceId) return end;
    if (this.#killedFor !== null) return { kind: 'KILLED_FOR', instanceId: this.#killedFor };
    if (end.kind !== 'EXITED' && end.kind !== 'VIOLATION') return end;
    const othersWorked = this.#workingAtExit.size - (this.#workingAtExit.has(instanceId) ? 1 : 0);
    return othersWorked > 0 ? { ...end, othersWorked } : end;
  }

  /** Calls the program for a job of the instance. */
  #work<T>(instanceId: string, call: () => Promise<T>): Promise<T> {
    const seat = this.#seats.get(instanceId);
    if (!seat) return Promise.reject(new ProgramLost('the instance has left the process'));
    return new Promise<T>((resolve, reject) => {
      seat.abandonJob = reject;
      this.process
        .call(call())
        .finally(() => {
          seat.abandonJob = null;
        })
        .then(resolve, reject);
    });
  }

  #othersWork(instanceId: string): boolean {
    for (const { member, abandonJob } of this.#seats.values())
      if (abandonJob !== null && member.profile.id !== instanceId) return true;
    return false;
  }

  /**
   * Whether a process outlives the end of this instance's job, because it belongs to the program or to the job of another
   * instance, by its environment or that of a process above it. A process that hides from both is ended with the first job that ends.
   */
  async #isSpared(pid: number, instanceId: string): Promise<boolean> {
    const { platform, cookie } = this.#options;
    const owner = await platform.ownerOf(pid, cookie, this.process.pid);
    if (owner === 'PROGRAM') return true;
    if (owner === 'CHILD') return this.#initialized?.startsScripts === true;
    if (owner === undefined) return false;
    const id = owner.slice(cookie.length);
    return id !== instanceId && (this.#seats.get(id)?.abandonJob ?? null) !== null;
  }

  #cookieOf(instanceId: string): string {
    return `${this.#options.cookie}${instanceId}`;
  }
}
