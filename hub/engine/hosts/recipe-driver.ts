/**
 * The driver of a recipe: it hands in the allocations that are wanted, follows them at the workload manager, and gives back those that
 * are drained and empty. A question that fails changes nothing. An allocation is over when the workload manager says that its job has
 * ended, or twice does not know it, and its agent is silent.
 */
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { Loop } from '@workbench-hub/shared/runtime/loop';
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import {
  type Allocation,
  type AllocationCause,
  type AllocationChange,
  isQueued,
} from '../../core/hosts/allocation.js';
import { withOutput } from '../../core/hosts/end-message.js';
import { isFailedStart } from '../../core/hosts/failed-starts.js';
import { toldEndMs } from '../../core/hosts/host-end.js';
import type { HostRecipe } from '../../core/hosts/host-recipe.js';
import { overdueMessage } from '../../core/hosts/overdue-job.js';
import type { Allocations } from '../../core/ports/allocations.js';
import type { RecipeMetrics } from '../../core/ports/metrics.js';
import type { ManagedJob, WorkloadManager } from '../../core/ports/workload-manager.js';
import { WorkloadManagerError } from '../../core/ports/workload-manager.js';
import type { AllocationBook } from './allocation-book.js';
import type { EndedAllocations } from './ended-allocations.js';
import { ASK_ENDED_MS, EndedJobs } from './ended-jobs.js';
import { LeftFiles } from './left-files.js';
import { ManagerAnswers } from './manager-answers.js';
import type { ToldEnds } from './told-ends.js';

export interface RecipeDriverOptions {
  readonly recipe: HostRecipe;
  readonly manager: WorkloadManager;
  readonly book: AllocationBook;
  /** Secret of the agent of this allocation. */
  readonly credentialOf: (id: string) => string;
  /** Whether an agent of this id is connected to any hub. */
  readonly isConnected: (id: string) => boolean;
  /** Whether no task begins on the agent. */
  readonly isDrained: (id: string) => boolean;
  /** Number of tasks that run on the agent. Rejects as the store does. */
  readonly runningOn: (id: string) => Promise<number>;
  readonly ended: Pick<EndedAllocations, 'add'>;
  /** Ends of hosts, for their agents. */
  readonly toldEnds: Pick<ToldEnds, 'tell' | 'forget'>;
  readonly allocations: Pick<Allocations, 'note' | 'latest'>;
  readonly metrics: RecipeMetrics;
  readonly runtime: Pick<Runtime, 'clock' | 'timers'>;
  readonly log: Logger;
}

/** Interval of the questions while there are allocations. */
const ASK_MS = 2000;
/** Delay after a failure of the store. */
const RETRY_MS = 5000;
/** Time between the first and the second answer by which a job is unknown. */
const UNKNOWN_FOR_MS = 5000;
/** Time between the first and a later answer by which a job is stuck. */
const STUCK_FOR_MS = 60_000;
/** The same by which a job waits for another reason than before. */
const OTHER_REASON_FOR_MS = 30_000;
/** Time after the end of its time for which a job that was canceled may still be in the list. */
const OVERDUE_MS = 5 * 60_000;
/** Time after which an end is asked for again. */
const CANCEL_AGAIN_MS = 15_000;
/** Jobs that are handed in, canceled, or over, and are acted on at the same time. */
const AT_A_TIME = 4;
/** Time after which the others of them have to wait for the next pass. */
const TURN_MS = 10_000;
/** Difference by which an end is the one that is known. */
const SAME_END_MS = 5000;
/** Time from the start of a term for which agents that had joined are expected to join again. */
const REJOIN_MS = 60_000;
/** Time before the end of its time from which an allocation counts as ended by it. */
const NEAR_END_MS = 90_000;

/** States of a job that is not over; of several of one name, the first of these counts. */
const LIVE_STATES = ['RUNNING', 'QUEUED', 'STUCK'] as const;

/** The time of a question, by both clocks. */
interface Asking {
  readonly atMs: number;
  readonly monotonicMs: number;
}

export class RecipeDriver {
  readonly #options: RecipeDriverOptions;
  readonly #loop: Loop;
  /** Allocations about which nothing is known but their row: they may have been handed in. */
  readonly #doubtful = new Set<string>();
  /** Time since which an allocation is unknown to the workload manager. */
  readonly #unknownSinceMs = new Map<string, number>();
  /** Time since which the job of an allocation is stuck. */
  readonly #stuckSinceMs = new Map<string, number>();
  /** Time since which an allocation waits for another reason than is kept. */
  readonly #otherReasonSinceMs = new Map<string, number>();
  readonly #canceledAtMs = new Map<string, number>();
  /** Time since which a job that was canceled goes on after the end of its time. */
  readonly #overdueSinceMs = new Map<string, number>();
  /** Allocations that were handed in, or may have been, in this term, or whose jobs were seen in it. */
  readonly #handedIn = new Set<string>();
  /** Allocations that were drained when their job was put back into the queue. */
  readonly #putBack = new Set<string>();
  readonly #endedJobs: EndedJobs;
  /** Start of the term. */
  #startedAtMs = 0;
  readonly #leftFiles: LeftFiles;
  readonly #answers: ManagerAnswers;
  readonly #changeSubscribers: (() => void)[] = [];

  constructor(options: RecipeDriverOptions) {
    this.#options = options;
    const { recipe, manager, allocations, metrics, log } = options;
    const { clock, timers } = options.runtime;
    const isOverdue = ({ jobId, message }: Allocation) =>
      jobId !== null && message === overdueMessage(recipe.manager, jobId);
    this.#endedJobs = new EndedJobs({ recipe: recipe.name, allocations, isOverdue, clock });
    this.#leftFiles = new LeftFiles({ manager, timers, log });
    this.#loop = new Loop({
      timers,
      pass: () => this.#pass(),
      failed: (error) => {
        // A pass that a stop has cut off is no failure.
        if (!this.#loop.isStopped)
          log.error({ err: error, recipe: recipe.name }, 'the allocations of a recipe could not be driven');
        return RETRY_MS;
      },
      isStopped: true,
    });
    this.#answers = new ManagerAnswers({
      ...{ recipe: recipe.name, allocations, metrics, clock, log },
      again: () => {
        if (!this.#loop.isStopped) this.#loop.wake(RETRY_MS);
      },
    });
  }

  /** Adds a subscriber, which is called when an allocation has changed. */
  onChange(subscriber: () => void): void {
    this.#changeSubscribers.push(subscriber);
  }

  #changed(): void {
    for (const subscriber of this.#changeSubscribers) subscriber();
  }

  start(): void {
    this.#startedAtMs = this.#options.runtime.clock.monotonicMs();
    this.#answers.reset();
    this.#putBack.clear();
    this.#doubtful.clear();
    this.#unknownSinceMs.clear();
    this.#stuckSinceMs.clear();
    this.#otherReasonSinceMs.clear();
    this.#canceledAtMs.clear();
    this.#overdueSinceMs.clear();
    this.#handedIn.clear();
    this.#endedJobs.reset();
    for (const { id, state } of this.#mine) if (state === 'WANTED') this.#doubtful.add(id);
    this.#loop.start();
    this.#leftFiles.start();
  }

  async stop(): Promise<void> {
    await this.#loop.stop();
    await this.#leftFiles.stop();
  }

  wake(): void {
    if (!this.#loop.isStopped) this.#loop.wakeSoon();
  }

  get #mine(): Allocation[] {
    return this.#options.book.of(this.#options.recipe.name);
  }

  async #pass(): Promise<number | undefined> {
    const endedJobs = this.#endedJobs;
    await endedJobs.read();
    if (!this.#mine.some(({ state }) => state === 'WANTED')) this.#answers.submitted();
    if (this.#mine.length === 0 && endedJobs.isEmpty) {
      this.#answers.answered();
      return undefined;
    }
    if (await this.#follow()) await this.#submitWanted();
    await this.#giveBack();
    if (this.#mine.length > 0) return ASK_MS;
    return endedJobs.isEmpty ? undefined : ASK_ENDED_MS;
  }

  /** Asks for the jobs, and takes note of what has changed. Resolves with false when the workload manager was asked and did not answer. */
  async #follow(): Promise<boolean> {
    const { manager } = this.#options;
    const asked = this.#mine.filter(({ id, state }) => state !== 'WANTED' || this.#mayBeHandedIn(id));
    const ended = this.#endedJobs.due;
    if (asked.length === 0 && ended.length === 0) return true;
    // The remaining time counts from the request: a slow answer must not make an end later than it is.
    const { clock } = this.#options.runtime;
    const asking = { atMs: clock.nowMs(), monotonicMs: clock.monotonicMs() };
    const jobs = await this.#answers.of(() => manager.jobs([...asked.map(({ id }) => id), ...ended]));
    if (jobs === undefined) {
      this.#endedJobs.unanswered();
      return false;
    }
    const jobsOf = (id: string) => jobs.filter(({ name }) => name === id);
    const isLive = ({ id }: Allocation) => jobs.some(({ name, state }) => name === id && state !== 'ENDED');
    for (const allocation of asked.filter(isLive)) {
      if (this.#loop.isStopped) break;
      await this.#note(allocation.id, jobsOf(allocation.id), asking);
    }
    // The output of each is read, and its files are removed, which takes long when their disk hangs.
    const others = asked.filter((allocation) => !isLive(allocation));
    await this.#inTurn(others, ({ id }) => this.#note(id, jobsOf(id), asking));
    for (const { job, isFirst } of this.#endedJobs.answered(ended, jobs)) {
      if (this.#loop.isStopped) break;
      await this.#cancelAgain(job, isFirst);
    }
    return true;
  }

  /** Cancels a job whose allocation is over: the workload manager has forgotten its end. */
  async #cancelAgain({ name, jobId }: ManagedJob, isFirst: boolean): Promise<void> {
    const { manager, recipe, log } = this.#options;
    if (isFirst)
      log.warn(
        { allocation: name, recipe: recipe.name, jobId },
        'the workload manager has a job again whose allocation is over; the hub cancels it',
      );
    await this.#answers.of(() => manager.cancel(name));
  }

  async #note(id: string, jobs: readonly ManagedJob[], asking: Asking): Promise<void> {
    const job = LIVE_STATES.map((state) => jobs.find((each) => each.state === state)).find((each) => each);
    if (job?.state !== 'STUCK') this.#stuckSinceMs.delete(id);
    if (job) {
      this.#unknownSinceMs.delete(id);
      if (this.#doubtful.delete(id)) this.#answers.submitted();
      this.#handedIn.add(id);
      if (job.state === 'RUNNING') return this.#runs(id, job, asking);
      await this.#waits(id, job);
      if (job.state === 'STUCK') await this.#giveUpStuck(id, job.reason);
      return;
    }
    const [ended] = jobs;
    if (await this.#isInUse(id)) return;
    if (ended) return this.#over(id, ended.reason);
    if (this.#isForLong(this.#unknownSinceMs, id, UNKNOWN_FOR_MS)) await this.#unknown(id);
  }

  /** Whether its agent is there, and may run tasks. */
  async #isInUse(id: string): Promise<boolean> {
    const { book, isConnected, runningOn, runtime } = this.#options;
    const allocation = book.get(id);
    if (!isConnected(id)) {
      // After the start of a hub, agents need a moment to join again.
      const forMs = runtime.clock.monotonicMs() - this.#startedAtMs;
      const mayJoin = (allocation?.joinedAtMs ?? null) !== null && !this.#canceledAtMs.has(id);
      return mayJoin && forMs < REJOIN_MS;
    }
    return allocation?.state !== 'DRAINING' || (await runningOn(id)) > 0;
  }

  async #runs(id: string, { jobId, remainingMs }: ManagedJob, asking: Asking): Promise<void> {
    const { book, runtime, toldEnds, recipe } = this.#options;
    const known = book.get(id);
    if (!known) return;
    this.#putBack.delete(id);
    const startedAtMs = known.startedAtMs ?? runtime.clock.nowMs();
    const endsAtMs =
      toldEndMs(remainingMs, asking.atMs, known.endsAtMs) ??
      known.endsAtMs ??
      startedAtMs + recipe.wallTimeMs;
    if (remainingMs !== null) toldEnds.tell(id, remainingMs, asking.monotonicMs);
    if (isQueued(known)) {
      if (await book.move(id, 'start', { jobId, startedAtMs, endsAtMs, message: null })) this.#changed();
      return;
    }
    if (this.#isOverdue(known, endsAtMs)) return this.#endOverdue(id, jobId);
    // The agent may have been faster than this answer, and the time may have been changed.
    const isSame = Math.abs((known.endsAtMs ?? 0) - endsAtMs) < SAME_END_MS;
    if (isSame && known.startedAtMs !== null && known.jobId === jobId) return;
    await book.note(id, { jobId, startedAtMs, endsAtMs });
    this.#changed();
  }

  /** Whether a job that was canceled goes on long after the end of its time: its host cannot be reached, say. */
  #isOverdue({ id, state }: Allocation, endsAtMs: number): boolean {
    const { isConnected, runtime } = this.#options;
    const isCanceled = state === 'DRAINING' && this.#canceledAtMs.has(id) && !isConnected(id);
    if (isCanceled && runtime.clock.nowMs() >= endsAtMs)
      return this.#isForLong(this.#overdueSinceMs, id, OVERDUE_MS);
    this.#overdueSinceMs.delete(id);
    return false;
  }

  /** Ends an allocation whose job is overdue, so that it counts no more host-hours. */
  async #endOverdue(id: string, jobId: string): Promise<void> {
    const { recipe, log } = this.#options;
    const message = overdueMessage(recipe.manager, jobId);
    log.warn({ allocation: id, recipe: recipe.name, jobId }, message);
    await this.#end(id, 'end', { message });
    // Canceled for long, and in vain.
    this.#endedJobs.remove(id);
  }

  async #waits(id: string, { jobId, reason }: ManagedJob): Promise<void> {
    const { book, isConnected } = this.#options;
    const state = book.get(id)?.state;
    const change = { jobId, message: reason };
    if (state === 'QUEUED') return this.#waitsOn(id, change);
    if (state === 'STARTED') await book.move(id, 'requeue', { ...change, startedAtMs: null, endsAtMs: null });
    else if (state === 'JOINED' && !isConnected(id))
      await book.move(id, 'drain', {
        cause: 'ENDED_EARLY',
        message: 'the workload manager has put the job back',
      });
    else if (state === 'DRAINING') {
      if (book.get(id)?.joinedAtMs !== null && !isConnected(id)) this.#putBack.add(id);
      return;
    } else if (!(await book.move(id, 'queue', change))) return;
    this.#changed();
  }

  /** Keeps the reason why a job goes on to wait, when it is another one for a while. */
  async #waitsOn(id: string, change: Pick<AllocationChange, 'jobId' | 'message'>): Promise<void> {
    const { book } = this.#options;
    if (change.message === book.get(id)?.message) {
      this.#otherReasonSinceMs.delete(id);
      return;
    }
    if (!this.#isForLong(this.#otherReasonSinceMs, id, OTHER_REASON_FOR_MS)) return;
    this.#otherReasonSinceMs.delete(id);
    await book.note(id, change);
    this.#changed();
  }

  /** Gives back a job that does not start by itself: its start has failed. */
  async #giveUpStuck(id: string, reason: string | null): Promise<void> {
    const { book } = this.#options;
    const allocation = book.get(id);
    if (!allocation || !(isQueued(allocation) && this.#isForLong(this.#stuckSinceMs, id, STUCK_FOR_MS)))
      return;
    const message = `the workload manager does not start it: ${reason ?? 'it gives no reason'}`;
    if (await book.move(id, 'drain', { cause: 'REFUSED', message })) this.#changed();
  }

  /** Whether a condition held in two answers this far apart; `since` keeps the time of the first one by allocation. */
  #isForLong(since: Map<string, number>, id: string, forMs: number): boolean {
    const nowMs = this.#options.runtime.clock.monotonicMs();
    const sinceMs = since.get(id);
    if (sinceMs === undefined) since.set(id, nowMs);
    return sinceMs !== undefined && nowMs - sinceMs >= forMs;
  }

  /** The workload manager does not know the job. */
  async #unknown(id: string): Promise<void> {
    const { book } = this.#options;
    const { state, cause } = book.get(id) ?? {};
    if (state === 'WANTED') {
      // It was not handed in: that is done now.
      this.#doubtful.delete(id);
      this.#handedIn.delete(id);
      this.#unknownSinceMs.delete(id);
      return;
    }
    if (state === 'DRAINING') return this.#end(id, 'end', { cause: cause ?? 'ASKED' });
    const message = await this.#withOutputOf(id, 'the workload manager does not know the job any more');
    await this.#end(id, 'lose', { cause: 'GONE', message });
  }

  /** The job has ended. */
  async #over(id: string, reason: string | null): Promise<void> {
    const { book, runtime } = this.#options;
    const allocation = book.get(id);
    if (!allocation) return;
    if (allocation.state === 'DRAINING') return this.#end(id, 'end', {});
    const { endsAtMs, joinedAtMs } = allocation;
    const isAtEnd = endsAtMs !== null && runtime.clock.nowMs() >= endsAtMs - NEAR_END_MS;
    const cause = isAtEnd && joinedAtMs !== null ? 'TIME' : 'ENDED_EARLY';
    const ended = reason ?? 'the job has ended';
    // Output explains nothing about a job that ended with its time.
    const message = cause === 'TIME' ? ended : await this.#withOutputOf(id, ended);
    await this.#end(id, 'end', { cause, message });
  }

  async #end(
    id: string,
    transition: 'end' | 'lose',
    change: { cause?: AllocationCause; message?: string | null },
  ): Promise<void> {
    const { book, runtime, ended, metrics } = this.#options;
    // First, so that a hub that is killed in between does it again.
    await this.#leftFiles.remove(id);
    const moved = await book.move(id, transition, { ...change, endedAtMs: runtime.clock.nowMs() });
    // It may be over though the answer of the store was lost.
    const over = moved ?? (await book.overInStore(id));
    this.#forget(id);
    if (!over) return;
    this.#endedJobs.add(id);
    if (isFailedStart(over)) metrics.startFailed();
    this.#changed();
    await ended.add(over);
  }

  #forget(id: string): void {
    this.#options.toldEnds.forget(id);
    this.#doubtful.delete(id);
    this.#unknownSinceMs.delete(id);
    this.#stuckSinceMs.delete(id);
    this.#otherReasonSinceMs.delete(id);
    this.#canceledAtMs.delete(id);
    this.#overdueSinceMs.delete(id);
    this.#handedIn.delete(id);
    this.#putBack.delete(id);
  }

  /** Whether the workload manager may have a job of it: it may not be handed in again. In this term, the store may not have taken that it was. */
  #mayBeHandedIn(id: string): boolean {
    return this.#doubtful.has(id) || this.#handedIn.has(id);
  }

  async #submitWanted(): Promise<void> {
    if (!this.#answers.maySubmit) return;
    const wanted = this.#mine.filter(({ id, state }) => state === 'WANTED' && !this.#mayBeHandedIn(id));
    await this.#inTurn(wanted, ({ id }) => this.#submit(id));
  }

  /** Acts on some at a time, until all had their turn, or it takes long: then the others have theirs in the next pass. Rejects when one action does,
   *  after those that were begun with it. */
  async #inTurn(
    allocations: readonly Allocation[],
    act: (allocation: Allocation) => Promise<void>,
  ): Promise<void> {
    const { clock } = this.#options.runtime;
    const untilMs = clock.monotonicMs() + TURN_MS;
    for (let at = 0; at < allocations.length; at += AT_A_TIME) {
      if (this.#loop.isStopped || clock.monotonicMs() >= untilMs) return;
      const settled = await Promise.allSettled(allocations.slice(at, at + AT_A_TIME).map(act));
      const failed = settled.find((each) => each.status === 'rejected');
      if (failed) throw failed.reason;
    }
  }

  async #submit(id: string): Promise<void> {
    const { book, manager, credentialOf } = this.#options;
    this.#handedIn.add(id);
    try {
      const jobId = await manager.submit({ name: id, credential: credentialOf(id) });
      this.#answers.submitted();
      this.#answers.answered();
      await book.move(id, 'submit', { jobId });
      this.#changed();
    } catch (error) {
      if (!(error instanceof WorkloadManagerError)) throw error;
      if (error.fault === 'REFUSED') {
        this.#answers.submitted();
        return this.#end(id, 'end', { cause: 'REFUSED', message: error.message });
      }
      // It may have been taken: only the list of the jobs tells.
      this.#doubtful.add(id);
      this.#answers.notSubmitted();
      this.#answers.failed(error);
    }
  }

  /** Gives back what is drained and runs no task. */
  async #giveBack(): Promise<void> {
    const nowMs = this.#options.runtime.clock.monotonicMs();
    const due = this.#mine.filter(({ id, state }) => {
      const askedAtMs = this.#canceledAtMs.get(id) ?? Number.NEGATIVE_INFINITY;
      return state === 'DRAINING' && nowMs - askedAtMs >= CANCEL_AGAIN_MS;
    });
    await this.#inTurn(due, (allocation) => this.#cancel(allocation));
  }

  async #cancel({ id, cause, jobId }: Allocation): Promise<void> {
    const { manager, isDrained, runningOn, runtime } = this.#options;
    // Nothing runs any more in a job that was put back.
    const isPutBack = cause === 'ENDED_EARLY' || this.#putBack.has(id);
    if (!isPutBack && (!isDrained(id) || (await runningOn(id)) > 0)) return;
    const isAsked = await this.#answers.of(async () => {
      await manager.cancel(id);
      return true;
    });
    if (!isAsked) return;
    this.#canceledAtMs.set(id, runtime.clock.monotonicMs());
    if (jobId === null && !this.#handedIn.has(id) && !this.#doubtful.has(id)) await this.#end(id, 'end', {});
  }

  /** A reason, with the end of what the job printed. Never rejects. */
  async #withOutputOf(id: string, reason: string): Promise<string> {
    return withOutput(reason, await this.#options.manager.output(id).catch(() => ''));
  }

  /** Why an agent that was started does not work, with the end of its output. */
  whyNotJoined(id: string, reason: string): Promise<string> {
    return this.#withOutputOf(id, reason);
  }
}
