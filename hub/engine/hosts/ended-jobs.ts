/**
 * Jobs whose allocations are over. A workload manager that is killed can forget that it has canceled a job: the job waits again, and would start a host
 * that nobody needs. The driver therefore asks about such a job for a while, and cancels it again.
 */
import type { Clock } from '@workbench-hub/shared/runtime/runtime';
import type { Allocation } from '../../core/hosts/allocation.js';
import type { Allocations } from '../../core/ports/allocations.js';
import type { ManagedJob } from '../../core/ports/workload-manager.js';

export interface EndedJobsOptions {
  /** Name of the recipe. */
  readonly recipe: string;
  readonly allocations: Pick<Allocations, 'latest'>;
  /** Whether it was given up while its job went on, which was canceled for long and in vain. */
  readonly isOverdue: (allocation: Allocation) => boolean;
  readonly clock: Clock;
}

/** Interval of the questions. */
export const ASK_ENDED_MS = 10_000;
/** Time for which the workload manager has to answer without a break before a job is not asked about any more. */
const ASKED_FOR_MS = 10 * 60_000;
/** Time since its end after which a job is asked about no more, whatever the workload manager answers. */
const ENDED_WITHIN_MS = 86_400_000;
/** Greatest number of jobs that are asked about, and of those of earlier terms among them. */
const AT_MOST = 1000;
const READ_AT_MOST = 200;
const CANCEL_AGAIN_MS = 15_000;

export class EndedJobs {
  readonly #options: EndedJobsOptions;
  /** Times since which the workload manager has answered without a break, by name of the job. */
  readonly #answeredSinceMs = new Map<string, number>();
  /** Times at which they were added, by name of the job, the earliest first. */
  readonly #addedAtMs = new Map<string, number>();
  readonly #canceledAtMs = new Map<string, number>();
  #isRead = false;
  #askAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: EndedJobsOptions) {
    this.#options = options;
  }

  /** Forgets all jobs, at the start of a term. */
  reset(): void {
    this.#answeredSinceMs.clear();
    this.#addedAtMs.clear();
    this.#canceledAtMs.clear();
    this.#isRead = false;
    this.#askAtMs = Number.NEGATIVE_INFINITY;
  }

  /** Reads those of earlier terms, once in a term. Rejects as the store does. */
  async read(): Promise<void> {
    if (this.#isRead) return;
    const { allocations, recipe, isOverdue, clock } = this.#options;
    const nowMs = clock.nowMs();
    const latest = await allocations.latest({ recipe, limit: READ_AT_MOST, nowMs });
    for (const allocation of latest.toReversed()) {
      const { id, endedAtMs } = allocation;
      if (endedAtMs !== null && endedAtMs >= nowMs - ENDED_WITHIN_MS && !isOverdue(allocation)) this.add(id);
    }
    this.#isRead = true;
  }

  /** Adds a job, in place of the earliest one when there are very many. */
  add(name: string): void {
    const nowMs = this.#options.clock.monotonicMs();
    this.#answeredSinceMs.set(name, nowMs);
    this.#addedAtMs.set(name, nowMs);
    const [earliest] = this.#addedAtMs.keys();
    if (this.#addedAtMs.size > AT_MOST && earliest !== undefined) this.remove(earliest);
  }

  get isEmpty(): boolean {
    return this.#answeredSinceMs.size === 0;
  }

  /** Names of the jobs to ask about now. */
  get due(): readonly string[] {
    return this.#options.clock.monotonicMs() < this.#askAtMs ? [] : [...this.#answeredSinceMs.keys()];
  }

  /** Takes note that the workload manager did not answer: it may have been killed. */
  unanswered(): void {
    const nowMs = this.#options.clock.monotonicMs();
    for (const [name, addedAtMs] of this.#addedAtMs) {
      if (nowMs - addedAtMs >= ENDED_WITHIN_MS) this.remove(name);
      else this.#answeredSinceMs.set(name, nowMs);
    }
  }

  /** Takes note of the answer about these names; gives the jobs to cancel again, with whether it is the first time. */
  answered(
    names: readonly string[],
    jobs: readonly ManagedJob[],
  ): { readonly job: ManagedJob; readonly isFirst: boolean }[] {
    if (names.length === 0) return [];
    const nowMs = this.#options.clock.monotonicMs();
    this.#askAtMs = nowMs + ASK_ENDED_MS;
    const back = names.flatMap(
      (name) => jobs.find((job) => job.name === name && job.state !== 'ENDED') ?? [],
    );
    const toCancel = back.flatMap((job) => {
      const canceledAtMs = this.#canceledAtMs.get(job.name);
      if (canceledAtMs !== undefined && nowMs - canceledAtMs < CANCEL_AGAIN_MS) return [];
      this.#canceledAtMs.set(job.name, nowMs);
      return [{ job, isFirst: canceledAtMs === undefined }];
    });
    for (const name of names)
      if (nowMs - (this.#answeredSinceMs.get(name) ?? 0) >= ASKED_FOR_MS) this.remove(name);
    return toCancel;
  }

  remove(name: string): void {
    this.#answeredSinceMs.delete(name);
    this.#addedAtMs.delete(name);
    this.#canceledAtMs.delete(name);
  }
}
