/**
 * A workload manager of the simulated world. Its jobs wait for a free host, run an agent, and end with it or with their time. It can be away or slow,
 * lose its answers, refuse jobs or not start them, forget those of the last seconds and give their ids again, forget cancels, and its hosts can vanish.
 */
import {
  type ManagedJob,
  type WorkloadManager,
  WorkloadManagerError,
} from '@workbench-hub/hub/core/ports/workload-manager';
import type { Process } from '../process.js';
import type { SimulatedAgent } from '../simulated-agent.js';
import type { World } from '../world.js';

interface Job {
  readonly name: string;
  readonly id: number;
  readonly submittedAtMs: number;
  state: ManagedJob['state'];
  reason: string | null;
  startedAtMs: number;
  endsAtMs: number;
  /** Time before which it does not start again. */
  waitsUntilMs: number;
  agent: SimulatedAgent | undefined;
  /** Whether its agent has begun. */
  hasAgent: boolean;
  /** Time at which its cancel was forgotten; undefined for others. */
  backSinceMs: number | undefined;
  /** Number of its starts: what was planned for an earlier one does not happen. */
  starts: number;
}

export interface ManagerSettingsOfWorld {
  readonly name: string;
  readonly hosts: number;
  readonly wallTimeMs: number;
  /** Probability that a job that starts has no agent that works. */
  readonly badStarts: number;
  readonly newAgent: (name: string) => SimulatedAgent;
  /** Called when a job is handed in, before it is known. */
  readonly onSubmit: (name: string) => void;
}

/** Time before its end at which an agent stops by itself. */
const STOP_BEFORE_MS = 60_000;
/** Time from a signal to end until a job is killed. */
const KILL_WAIT_MS = 30_000;
/** Time for which a job that was put back waits at least, so that the hub sees it wait. */
const PUT_BACK_MS = 30_000;
const KNOWN_FOR_MS = 120_000;
/** Jobs that are younger are forgotten by a controller that is killed. */
const FORGOTTEN_MS = 2000;
/** Longest time from a cancel to the death of a controller that forgets it. */
const FORGOTTEN_CANCEL_MS = 10_000;

export class SimulatedManager {
  readonly name: string;
  isAway = false;
  isSlow = false;
  losesAnswers = false;
  refuses = false;
  readonly #world: World;
  readonly #settings: ManagerSettingsOfWorld;
  /** Those that it knows, oldest first. */
  #jobs: Job[] = [];
  #nextId = 1;
  #forgetsNextCancel = false;
  #troubleAtMs = Number.NEGATIVE_INFINITY;

  constructor(world: World, settings: ManagerSettingsOfWorld) {
    this.#world = world;
    this.#settings = settings;
    this.name = settings.name;
  }

  /** Latest time at which it did not answer as it should; now while it does not. */
  get troubleAtMs(): number {
    const isTroubled = this.isAway || this.isSlow || this.losesAnswers || this.refuses;
    return isTroubled ? this.#world.nowMs : this.#troubleAtMs;
  }

  /** Names of the jobs that wait or run. */
  get live(): string[] {
    return [...new Set(this.#jobs.filter(({ state }) => state !== 'ENDED').map(({ name }) => name))];
  }

  /** The same without jobs whose cancel was forgotten. */
  get wanted(): string[] {
    return this.live.filter(
      (name) => !this.#jobs.some((job) => job.name === name && job.backSinceMs !== undefined),
    );
  }

  /** Number of jobs that wait, or run without an agent as yet, and were not canceled. */
  get coming(): number {
    return this.#jobs.filter(
      ({ state, hasAgent, backSinceMs }) =>
        backSinceMs === undefined && (state === 'QUEUED' || (state === 'RUNNING' && !hasAgent)),
    ).length;
  }

  /** Names of the jobs that wait or run though they were canceled, which was forgotten before this time. */
  backBefore(timeMs: number): string[] {
    const isBack = ({ state, backSinceMs = timeMs }: Job) => state !== 'ENDED' && backSinceMs < timeMs;
    return this.#jobs.filter(isBack).map(({ name }) => name);
  }

  /** The job of this name that runs. */
  running(name: string): { readonly startedAtMs: number; readonly endsAtMs: number } | undefined {
    return this.#jobs.find((job) => job.name === name && job.state === 'RUNNING');
  }

  /** Takes note of trouble that is over. */
  mended(): void {
    this.#troubleAtMs = this.#world.nowMs;
  }

  /** The workload manager as a process of the hub reaches it. */
  portFor(process: Process): WorkloadManager {
    const ask = <T>(act: () => T): Promise<T> => this.#ask(process, act);
    return {
      submit: ({ name }) => ask(() => this.#submit(name)),
      jobs: (names) => ask(() => this.#list(names)),
      cancel: (name) => ask(() => this.#cancel(name)),
      output: () => ask(() => 'printed'),
      remove: () => ask(() => undefined),
      check: () => ask(() => null),
    };
  }

  // ---- faults

  /** It is killed: it forgets the youngest jobs, of which some run on, and gives their ids again. */
  forgetYoungest(): void {
    const world = this.#world;
    const kept = this.#jobs.filter(({ submittedAtMs }) => world.nowMs - submittedAtMs > FORGOTTEN_MS);
    const forgotten = this.#jobs.filter((job) => !kept.includes(job));
    this.#jobs = kept;
    for (const job of forgotten) {
      this.#nextId = Math.min(this.#nextId, job.id);
      if (job.state !== 'RUNNING' || world.happens(0.5)) this.#end(job, 'forgotten');
    }
  }

  /** It is killed soon after the next cancel of a job that waits, which waits again then. */
  forgetNextCancel(): void {
    this.#forgetsNextCancel = true;
  }

  #forgetCancel(job: Job): void {
    const world = this.#world;
    this.#forgetsNextCancel = false;
    world.after(world.between(1000, FORGOTTEN_CANCEL_MS), () => {
      this.mended();
      job.state = 'QUEUED';
      job.reason = 'Priority';
      job.backSinceMs = world.nowMs;
      if (!this.#jobs.includes(job)) this.#jobs.push(job);
      world.tell(this.name, `has forgotten that ${job.name} was canceled`);
      this.#schedule();
    });
  }

  /** A job that runs is ended without a warning. */
  preempt(): void {
    const job = this.#anyRunning();
    if (job) this.#end(job, 'preempted');
  }

  /** The oldest job that waits does not start any more. */
  stick(): void {
    const job = this.#jobs.find(({ state }) => state === 'QUEUED');
    if (!job) return;
    job.state = 'STUCK';
    job.reason = 'it could not be started';
    this.#world.tell(this.name, `${job.name} is stuck`);
  }

  /** A job that runs waits again. */
  putBack(): void {
    const job = this.#anyRunning();
    if (!job) return;
    this.#endAgent(job);
    job.state = 'QUEUED';
    job.reason = 'put back';
    job.waitsUntilMs = this.#world.nowMs + PUT_BACK_MS;
    this.#world.after(PUT_BACK_MS, () => this.#schedule());
  }

  /** A host vanishes, which is noticed later. */
  loseHost(): void {
    const job = this.#anyRunning();
    if (!job) return;
    const { starts } = job;
    this.#endAgent(job);
    this.#world.after(this.#world.between(5000, 90_000), () => {
      if (job.starts === starts) this.#end(job, 'the host has failed');
    });
  }

  // ---- answers

  #ask<T>(process: Process, act: () => T): Promise<T> {
    const world = this.#world;
    const tookMs = this.isSlow ? world.between(3000, 20_000) : world.between(20, 800);
    return new Promise((resolve, reject) => {
      world.after(tookMs / 2, () => {
        let answer: () => void;
        try {
          if (this.isAway) throw new WorkloadManagerError('UNAVAILABLE', 'it does not answer');
          const result = act();
          const isLost = this.losesAnswers && world.happens(0.5);
          answer = () =>
            isLost ? reject(new WorkloadManagerError('UNAVAILABLE', 'the answer was lost')) : resolve(result);
        } catch (error) {
          answer = () => reject(error);
        }
        process.after(tookMs / 2, answer);
      });
    });
  }

  #submit(name: string): string {
    const world = this.#world;
    if (this.refuses) throw new WorkloadManagerError('REFUSED', 'the account has no hours left');
    this.#settings.onSubmit(name);
    if (this.wanted.includes(name))
      world.violated('no host too many', `${name} is handed in again, though it waits or runs`);
    const job: Job = {
      ...{ name, id: this.#nextId++, submittedAtMs: world.nowMs, state: 'QUEUED', reason: 'Resources' },
      ...{ startedAtMs: 0, endsAtMs: 0, waitsUntilMs: 0, agent: undefined, hasAgent: false, starts: 0 },
      ...{ backSinceMs: undefined },
    };
    this.#jobs.push(job);
    world.tell(this.name, `takes ${name} as job ${job.id}`);
    this.#schedule();
    return String(job.id);
  }

  #list(names: readonly string[]): ManagedJob[] {
    return this.#jobs
      .filter(({ name }) => names.includes(name))
      .map(({ name, id, state, endsAtMs, reason }) => ({
        ...{ name, jobId: String(id), state, reason },
        remainingMs: state === 'RUNNING' ? endsAtMs - this.#world.nowMs : null,
      }));
  }

  #cancel(name: string): void {
    const world = this.#world;
    world.tell(this.name, `is told to cancel ${name}`);
    for (const job of this.#jobs.filter((each) => each.name === name)) {
      if (job.state === 'QUEUED' || job.state === 'STUCK') {
        this.#end(job, 'canceled');
        if (this.#forgetsNextCancel) this.#forgetCancel(job);
      }
      if (job.state !== 'RUNNING') continue;
      if (!job.agent?.alive) this.#end(job, 'canceled');
      else job.agent.stop();
      world.after(KILL_WAIT_MS, () => this.#end(job, 'canceled'));
    }
  }

  // ---- jobs

  #anyRunning(): Job | undefined {
    const running = this.#jobs.filter(({ state }) => state === 'RUNNING');
    return running.length === 0 ? undefined : this.#world.random.of(running);
  }

  /** Starts the oldest job that waits after a moment, while a host is free. */
  #schedule(): void {
    const world = this.#world;
    world.after(world.between(200, 10_000), () => {
      const busy = this.#jobs.filter(({ state }) => state === 'RUNNING').length;
      const next = this.#jobs.find(
        ({ state, waitsUntilMs }) => state === 'QUEUED' && waitsUntilMs <= world.nowMs,
      );
      if (next && busy < this.#settings.hosts) this.#start(next);
    });
  }

  #start(job: Job): void {
    const world = this.#world;
    const { wallTimeMs, newAgent, badStarts } = this.#settings;
    job.state = 'RUNNING';
    job.reason = null;
    job.startedAtMs = world.nowMs;
    job.endsAtMs = world.nowMs + wallTimeMs;
    job.hasAgent = false;
    const start = ++job.starts;
    const then = (delayMs: number, action: () => void) =>
      world.after(delayMs, () => {
        if (job.state === 'RUNNING' && job.starts === start) action();
      });
    world.tell(this.name, `starts ${job.name}`);
    const agent = newAgent(job.name);
    job.agent = agent;
    agent.onEnd = () => this.#end(job, 'the agent has ended');
    const begin = () => {
      job.hasAgent = true;
      agent.start();
    };
    if (!world.happens(badStarts)) then(world.between(200, 4000), begin);
    else if (world.happens(0.5)) then(world.between(200, 4000), () => this.#end(job, 'exit code 1'));
    then(wallTimeMs - STOP_BEFORE_MS, () => agent.stop());
    then(wallTimeMs, () => this.#end(job, 'its time is over'));
  }

  #endAgent({ agent }: Job): void {
    if (!agent) return;
    agent.onEnd = () => undefined;
    agent.kill();
  }

  #end(job: Job, reason: string): void {
    if (job.state === 'ENDED') return;
    job.state = 'ENDED';
    job.reason = reason;
    this.#world.tell(this.name, `${job.name} has ended: ${reason}`);
    this.#endAgent(job);
    this.#schedule();
    this.#world.after(KNOWN_FOR_MS, () => {
      this.#jobs = this.#jobs.filter((each) => each !== job || each.state !== 'ENDED');
    });
  }
}
