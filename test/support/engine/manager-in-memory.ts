/** A workload manager in memory, whose jobs the test starts and ends, and which can fail as real ones do. */

import type { HostRecipe } from '@workbench-hub/hub/core/hosts/host-recipe';
import {
  type Launch,
  type ManagedJob,
  type WorkloadManager,
  WorkloadManagerError,
} from '@workbench-hub/hub/core/ports/workload-manager';
import type { ConfiguredRecipe } from '@workbench-hub/hub/engine/hosts/build-hosts';
import type { Clock } from '@workbench-hub/shared/runtime/runtime';

export class ManagerInMemory implements WorkloadManager {
  /** Jobs that it knows, oldest first. */
  jobList: ManagedJob[] = [];
  readonly launches: Launch[] = [];
  readonly canceled: string[] = [];
  readonly removed: string[] = [];
  /** Whether the files of jobs cannot be removed, and how often that was tried. */
  failsRemovals = false;
  failedRemovals = 0;
  /** Whether nothing is answered. */
  isAway = false;
  /** Whether submits alone are not answered. */
  failsSubmits = false;
  /** Called before a submit is answered. */
  beforeSubmit: () => Promise<void> = async () => undefined;
  /** Called before the output of a job is given. */
  beforeOutput: () => Promise<void> = async () => undefined;
  /** Number of submits that it was asked for. */
  submits = 0;
  /** Number of times that it was asked for jobs. */
  questions = 0;
  /** Whether it takes a job, and its answer is lost. */
  losesAnswers = false;
  /** Reason for which it refuses jobs; null when it takes them. */
  refusal: string | null = null;
  /** Whether a job that is canceled goes on. */
  ignoresCancels = false;
  printed = '';
  clock: Clock = { nowMs: () => 0, monotonicMs: () => 0 };
  readonly #endsAtMs = new Map<string, number>();

  async submit(launch: Launch): Promise<string> {
    this.submits++;
    await this.beforeSubmit();
    this.#answer();
    if (this.failsSubmits) throw new WorkloadManagerError('UNAVAILABLE', 'it takes no job');
    if (this.refusal !== null) throw new WorkloadManagerError('REFUSED', this.refusal);
    this.launches.push(launch);
    const jobId = `${this.launches.length}`;
    this.jobList.push({ name: launch.name, jobId, state: 'QUEUED', remainingMs: null, reason: 'Priority' });
    if (this.losesAnswers) throw new WorkloadManagerError('UNAVAILABLE', 'the answer was lost');
    return jobId;
  }

  async jobs(names: readonly string[]): Promise<readonly ManagedJob[]> {
    this.questions++;
    this.#answer();
    return this.jobList
      .filter(({ name }) => names.includes(name))
      .map((job) => ({ ...job, remainingMs: this.#remainingMsOf(job) }));
  }

  async cancel(name: string): Promise<void> {
    this.#answer();
    this.canceled.push(name);
    if (!this.ignoresCancels) this.forget(name);
  }

  async output(): Promise<string> {
    await this.beforeOutput();
    return this.printed;
  }

  async remove(name: string): Promise<void> {
    if (this.failsRemovals) {
      this.failedRemovals++;
      throw new WorkloadManagerError('REFUSED', 'its disk is busy');
    }
    this.removed.push(name);
  }

  async check(): Promise<string | null> {
    return this.refusal;
  }

  /** The job runs, for this time at most. */
  run(name: string, remainingMs: number | null = null): void {
    this.#change(name, { state: 'RUNNING', reason: null });
    if (remainingMs !== null) this.#endsAtMs.set(name, this.clock.nowMs() + remainingMs);
  }

  /** The job has ended, and is known for a while. */
  end(name: string, reason: string | null = null): void {
    this.#change(name, { state: 'ENDED', remainingMs: null, reason });
  }

  /** The job waits again. */
  putBack(name: string): void {
    this.#change(name, { state: 'QUEUED', remainingMs: null, reason: 'Preempted' });
  }

  /** The job waits for this reason. */
  waitFor(name: string, reason: string): void {
    this.#change(name, { reason });
  }

  /** The job waits, and does not start by itself. */
  stick(name: string, reason: string): void {
    this.#change(name, { state: 'STUCK', remainingMs: null, reason });
  }

  /** It does not know the job any more. */
  forget(name: string): void {
    this.jobList = this.jobList.filter((job) => job.name !== name);
  }

  /** A job that it has canceled waits again: it was killed, and has forgotten the cancel. */
  bringBack(name: string): void {
    this.jobList.push({ name, jobId: '1', state: 'QUEUED', remainingMs: null, reason: 'Priority' });
  }

  /** Names of the jobs that wait or run. */
  get live(): string[] {
    return this.jobList.filter(({ state }) => state !== 'ENDED').map(({ name }) => name);
  }

  #remainingMsOf({ name, state }: ManagedJob): number | null {
    const endsAtMs = this.#endsAtMs.get(name);
    return state === 'RUNNING' && endsAtMs !== undefined ? Math.max(0, endsAtMs - this.clock.nowMs()) : null;
  }

  #change(name: string, change: Partial<ManagedJob>): void {
    this.jobList = this.jobList.map((job) => (job.name === name ? { ...job, ...change } : job));
  }

  #answer(): void {
    if (this.isAway) throw new WorkloadManagerError('UNAVAILABLE', 'it does not answer');
  }
}

/** A recipe of hosts with one instance, with the given fields in place of its own. */
export function recipeWith(manager: WorkloadManager, fields: Partial<HostRecipe> = {}): ConfiguredRecipe {
  const recipe: HostRecipe = {
    name: 'gears',
    manager: 'slurm',
    managerKey: 'slurm',
    instances: [{ instanceClass: { version: '9.1.0', labels: [], runs: undefined }, count: 1, ids: ['sim'] }],
    wallTimeMs: 3_600_000,
    limits: { allocations: 10, queued: 10, hostHoursPerDay: null },
    idleMs: 60_000,
    joinWithinMs: 120_000,
    drainBeforeMs: 300_000,
    ...fields,
  };
  return { recipe, manager };
}
