/** Instance programs of the simulated world: they take time, print, fail, crash and hang. */
import {
  type BatchRun,
  JobCanceled,
  JobFailed,
  type PointRun,
  type Program,
  type ProgramEnd,
  type ProgramIntroduction,
  type ProgramListener,
  ProgramLost,
  type ProgramSettings,
  type Programs,
} from '@workbench-hub/agent/core/ports/programs';
import type { TaskNames } from '@workbench-hub/agent/core/task-names';
import { lineOfPoint } from '@workbench-hub/shared/domain/point-results';
import type { AgentDisk } from './agent-disk.js';
import type { Process } from './process.js';
import type { World } from './world.js';

/** Result of a job whose script fails; its outputs count nevertheless. */
export const SCRIPT_FAILED = 'a simulated script failed';

/** Result of a job whose script wrote to a full disk. */
export const FOUND_NO_ROOM = 'a simulated script found the disk full';

/** Variable of jobs that take some milliseconds. */
export const SMALL = 'small';

const PASSED = { status: 'OK', message: null } as const;

export interface ProgramRules {
  /** Whether the task ends even if its program hangs; only such a one may hang. */
  mayHang(taskId: string): boolean;
  /** Whether the programs run points of studies in bundles. */
  readonly runsPoints?: boolean;
  /** Whether the task kills every program that runs it, also in a calm world. */
  kills?(taskId: string): boolean;
  /** Probabilities of failures, from 0 to 1. */
  readonly troubles: { crash: number; hang: number; fail: number; deaf: number; badStart: number };
}

/** Called when the job of a task ends with its process, perhaps because of the job of another instance. */
export type LostThroughOthers = (taskId: string, instanceId: string) => void;

/** Surroundings that the programs of an agent process share. */
interface Host {
  readonly agent: Process;
  readonly rules: ProgramRules;
  readonly disk: AgentDisk;
  readonly onLostThroughOthers: LostThroughOthers;
}

interface Job {
  readonly taskId: string;
  readonly hangs: boolean;
  /** Writes, and fails on a full disk; undefined for a job that writes nothing. */
  write?: () => void;
  reject(error: Error): void;
}

class SimulatedProgram implements Program {
  readonly pid: number;
  readonly isJoined: boolean;
  readonly directory = null;
  readonly ended: Promise<ProgramEnd>;
  readonly #settings: ProgramSettings;
  readonly #listener: ProgramListener;
  readonly #agent: Process;
  readonly #world: World;
  readonly #rules: ProgramRules;
  readonly #disk: AgentDisk;
  readonly #onLostThroughOthers: LostThroughOthers;
  /** Programs in the same process, this one included. */
  readonly #crowd: Set<SimulatedProgram>;
  /** True for a program that ends by force only. */
  readonly #isDeaf: boolean;
  #end!: (end: ProgramEnd) => void;
  #pending = new Set<(error: Error) => void>();
  #job: Job | null = null;
  #gone = false;

  constructor(
    pid: number,
    settings: ProgramSettings,
    listener: ProgramListener,
    crowd: Set<SimulatedProgram>,
    { agent, rules, disk, onLostThroughOthers }: Host,
  ) {
    this.#onLostThroughOthers = onLostThroughOthers;
    this.isJoined = crowd.size > 0;
    this.#crowd = crowd.add(this);
    this.pid = pid;
    this.#settings = settings;
    this.#listener = listener;
    this.#agent = agent;
    this.#world = agent.world;
    this.#rules = rules;
    this.#disk = disk;
    this.#isDeaf = this.#trouble('deaf');
    this.ended = new Promise((resolve) => {
      this.#end = resolve;
    });
  }

  get instanceId(): string {
    return this.#settings.instance.id;
  }

  get gone(): boolean {
    return this.#gone;
  }

  initialize(): Promise<ProgramIntroduction> {
    return new Promise((resolve, reject) => {
      this.#pending.add(reject);
      if (this.#trouble('badStart')) {
        if (this.#world.happens(0.5)) this.#agent.after(50, () => this.die('1'));
        return; // or hangs
      }
      this.#agent.after(this.#world.between(20, 800), () => {
        this.#pending.delete(reject);
        const runs = this.#rules.runsPoints ? { runs: { points: true } as const } : {};
        resolve({ name: 'simulated', version: '1', ...runs });
      });
    });
  }

  simulateWork({ taskId }: TaskNames, durationMs: number): Promise<void> {
    return this.#work(taskId, durationMs).then(() => undefined);
  }

  async executeBatchJob({
    taskId,
    variables,
    points,
  }: BatchRun): Promise<{ status: 'OK' | 'ERROR'; message: string | null }> {
    const [least, most] = variables[SMALL] === undefined ? [100, 40_000] : [1, 20];
    const verdict = await this.#work(taskId, this.#world.between(least, most) * (points?.length ?? 1), true);
    if (verdict === 'OK') {
      if (points) this.#disk.pointResults.set(taskId, this.#resultsOf(points));
      return { status: 'OK', message: null };
    }
    return { status: 'ERROR', message: verdict === 'NO_ROOM' ? FOUND_NO_ROOM : SCRIPT_FAILED };
  }

  /** Results of points, some of which have failed, and the last of which are perhaps left to tasks of their own. */
  #resultsOf(points: readonly PointRun[]): string {
    const ran = this.#trouble('fail') ? points.slice(0, this.#world.between(0, points.length - 1)) : points;
    return ran
      .map(({ number }, index) => {
        const fails = this.#trouble('fail');
        const end = fails ? ({ status: 'ERROR', message: SCRIPT_FAILED } as const) : PASSED;
        return lineOfPoint({ number, ...end, startedMs: index, endedMs: index + 1, outputs: [] });
      })
      .join('');
  }

  endOrphans(): Promise<void> {
    return this.#agent.wait(this.#world.between(0, 5));
  }

  cancel(taskId: string): Promise<void> {
    const job = this.#job;
    if (job?.taskId === taskId && !job.hangs && !this.#isDeaf) {
      this.#agent.after(this.#world.between(1, 300), () => job.reject(new JobCanceled('canceled')));
    }
    return Promise.resolve();
  }

  shutdown(): void {
    if (!this.#isDeaf && !this.#job?.hangs)
      this.#agent.after(this.#world.between(5, 300), () => this.#leave());
  }

  terminate(): void {
    if (this.#world.happens(0.7))
      this.#agent.after(5, () => (this.#isAlone ? this.die('SIGTERM') : this.#leave()));
  }

  /** A process that serves others is killed only if it does not end this instance. */
  kill(): void {
    this.#agent.after(this.#world.between(0, 10), () => {
      if (this.#isAlone) this.die('SIGKILL');
      else if (!this.#isDeaf && this.#world.happens(0.7)) this.#leave();
      else this.#agent.after(this.#world.between(0, 2000), () => this.#killForThis());
    });
  }

  /** Ends the process, with all instances that it serves. */
  die(how: string): void {
    if (this.#gone) return;
    const working = [...this.#crowd].filter((program) => program.#job !== null);
    const isSignal = how.startsWith('SIG');
    for (const program of [...this.#crowd]) {
      const othersWorked = working.filter((other) => other !== program).length;
      program.#disappear(how, {
        kind: 'EXITED',
        exitCode: isSignal ? null : Number(how),
        signal: isSignal ? how : null,
        ...(othersWorked > 0 ? { othersWorked } : {}),
      });
    }
  }

  get #isAlone(): boolean {
    return this.#crowd.size === 1;
  }

  /** Ends the instance, and its process if it serves no other. */
  #leave(): void {
    if (this.#isAlone) this.die('0');
    else this.#disappear('left its process', { kind: 'LEFT' });
  }

  #killForThis(): void {
    if (this.#gone) return;
    for (const program of [...this.#crowd]) {
      const killed = { kind: 'EXITED', exitCode: null, signal: 'SIGKILL' } as const;
      const killedForThis = { kind: 'KILLED_FOR', instanceId: this.instanceId } as const;
      program.#disappear('SIGKILL', program === this ? killed : killedForThis);
    }
  }

  #disappear(how: string, end: ProgramEnd): void {
    if (this.#gone) return;
    this.#gone = true;
    this.#crowd.delete(this);
    this.#world.tell(this.#agent.name, `program of ${this.instanceId} ended: ${how}`);
    const isThroughOthers =
      end.kind === 'KILLED_FOR' || (end.kind === 'EXITED' && end.othersWorked !== undefined);
    if (this.#job && isThroughOthers) this.#onLostThroughOthers(this.#job.taskId, this.instanceId);
    this.#job = null;
    for (const reject of this.#pending) reject(new ProgramLost('the program has ended'));
    this.#agent.after(this.#world.between(0, 30), () => this.#end(end));
  }

  /** Lets the job fill the disk and fail; false when there is no such job. */
  fillDisk(): boolean {
    const write = this.#job?.write;
    if (!write || this.#job?.hangs) return false;
    this.#disk.full = true;
    write();
    return true;
  }

  #work(taskId: string, durationMs: number, writes = false): Promise<'OK' | 'ERROR' | 'NO_ROOM'> {
    if (this.#gone) return Promise.reject(new ProgramLost('the program has ended'));
    const world = this.#world;
    if (this.#job) {
      world.violated(
        'one task at a time',
        `the program of ${this.instanceId} was given ${taskId} while it ran ${this.#job.taskId}`,
      );
    }
    return new Promise((resolve, reject) => {
      const settle = (settled: () => void) => {
        if (!this.#pending.delete(fail)) return;
        if (this.#job === job) this.#job = null;
        settled();
      };
      const fail = (error: Error) => settle(() => reject(error));
      this.#pending.add(fail);
      const hangs = this.#rules.mayHang(taskId) && this.#trouble('hang');
      const job: Job = { taskId, hangs, reject: fail };
      this.#job = job;
      world.tell(this.#agent.name, `${this.instanceId} runs ${taskId}${hangs ? ', and hangs' : ''}`);
      if (world.happens(0.5)) this.#print(taskId, durationMs / 2);
      if (hangs) return;
      if (writes) {
        job.write = () => {
          if (this.#job === job && this.#disk.full) settle(() => resolve('NO_ROOM'));
        };
        this.#agent.after(durationMs * world.random.next(), job.write);
      }
      if (this.#rules.kills?.(taskId) || this.#trouble('crash')) {
        this.#agent.after(durationMs * world.random.next(), () => this.#job === job && this.die('SIGSEGV'));
        return;
      }
      const fails = this.#trouble('fail');
      const isError = fails && world.happens(0.7);
      this.#agent.after(durationMs, () => {
        if (fails && !isError) fail(new JobFailed('a simulated failure'));
        else settle(() => resolve(isError ? 'ERROR' : 'OK'));
      });
    });
  }

  #print(taskId: string, afterMs: number): void {
    this.#agent.after(afterMs, () => {
      if (this.#job?.taskId !== taskId || this.#gone) return;
      void this.#listener.onOutput(taskId, 'stdout', `${taskId} at ${this.#world.nowMs}\n`);
    });
  }

  #trouble(kind: keyof ProgramRules['troubles']): boolean {
    return this.#world.turbulent && this.#world.happens(this.#rules.troubles[kind]);
  }
}

/** The instance programs of one agent process; they end with it. */
export class SimulatedPrograms implements Programs {
  readonly #host: Host;
  #running: SimulatedProgram[] = [];
  /** Programs in common processes by their name. */
  readonly #crowds = new Map<string, Set<SimulatedProgram>>();

  constructor(
    agent: Process,
    rules: ProgramRules,
    disk: AgentDisk,
    onLostThroughOthers: LostThroughOthers = () => undefined,
  ) {
    this.#host = { agent, rules, disk, onLostThroughOthers };
  }

  start(settings: ProgramSettings, listener: ProgramListener): Program {
    this.#running = this.running;
    const pid = this.#running.length + 1;
    const program = new SimulatedProgram(pid, settings, listener, this.#crowdOf(settings), this.#host);
    this.#running.push(program);
    return program;
  }

  #crowdOf({ commonProcess }: ProgramSettings): Set<SimulatedProgram> {
    if (commonProcess === null) return new Set();
    const crowd = this.#crowds.get(commonProcess) ?? new Set<SimulatedProgram>();
    this.#crowds.set(commonProcess, crowd);
    return crowd;
  }

  get running(): SimulatedProgram[] {
    return this.#running.filter(({ gone }) => !gone);
  }

  sweep(): Promise<number> {
    return Promise.resolve(0);
  }
}
