/** Watch over the jobs of a run on Slurm: asked is Slurm, and the hub for what its tasks need. */
import { setTimeout as pause } from 'node:timers/promises';
import type { SlurmCluster } from '../../support/hosts/slurm-cluster.js';
import type { SlurmLoad } from './slurm-load.js';

export interface SlurmWatchOptions {
  readonly cluster: Pick<SlurmCluster, 'runInside'>;
  readonly load: Pick<SlurmLoad, 'counts' | 'get'>;
  /** Instances of an allocation. */
  readonly instances: number;
}

/** Allocation as the hub tells it. */
interface AllocationBody {
  readonly id: string;
  readonly state: string;
  readonly cause?: string;
}

/** A job as Slurm tells it. */
interface Job {
  /** Name, which is the id of the allocation. */
  readonly name: string;
  readonly state: string;
  /** Whole seconds, in milliseconds since 1970; NaN before it is known. */
  readonly startedAtMs: number;
}

const LOOK_MS = 1000;
/** States of an allocation whose agent has joined. */
const HAS_JOINED: ReadonlySet<string> = new Set(['JOINED', 'DRAINING', 'ENDED', 'LOST']);
/** Looks for which a need counts: an allocation that nobody needs any more goes after ten seconds. */
const NEEDED_FOR = 25;

export class SlurmWatch {
  readonly wrong: string[] = [];
  readonly #options: SlurmWatchOptions;
  /** Allocations by id, as the hub told them last. */
  readonly #allocations = new Map<string, AllocationBody>();
  /** Starts of hosts by allocation, as Slurm tells them. */
  readonly #startedAtMs = new Map<string, number>();
  /** Allocations that the latest looks needed. */
  readonly #needs: number[] = [];
  #mostBeyond = Number.NEGATIVE_INFINITY;

  constructor(options: SlurmWatchOptions) {
    this.#options = options;
  }

  get allocations(): number {
    return this.#allocations.size;
  }

  /** Allocations that have ended because their time was over. */
  get ends(): number {
    return [...this.#allocations.values()].filter(({ cause }) => cause === 'TIME').length;
  }

  /** Most allocations that were coming beyond those that the waiting tasks needed. */
  get mostBeyond(): number {
    return this.#mostBeyond;
  }

  async run(isOver: () => boolean): Promise<void> {
    while (!isOver()) {
      await this.look();
      await pause(LOOK_MS);
    }
  }

  /** Waits until Slurm has no job; one that is there after this time is a fault. */
  async goneWithin(limitMs: number): Promise<void> {
    const untilMs = performance.now() + limitMs;
    let left = await this.#jobs();
    while (left !== undefined && left.length > 0 && performance.now() < untilMs) {
      await pause(LOOK_MS);
      left = await this.#jobs();
    }
    if (left === undefined) this.wrong.push('Slurm does not answer after the run');
    else if (left.length > 0)
      this.wrong.push(
        `${limitMs / 1000} s after the last task Slurm has ${left.map(({ name }) => name).join(', ')}`,
      );
  }

  /** Seconds from the start of a host, as Slurm tells it, to that of its first task, of which the time is given by agent: the median, and that of
   *  the slowest of ten. */
  firstTaskS(firstStartMs: ReadonlyMap<string, number>): {
    readonly median: number;
    readonly slowOfTen: number;
  } {
    const seconds = [...this.#startedAtMs].flatMap(([id, startedAtMs]) => {
      const beganMs = firstStartMs.get(id);
      return beganMs === undefined ? [] : [(beganMs - startedAtMs) / 1000];
    });
    seconds.sort((a, b) => a - b);
    const at = (share: number) => seconds[Math.floor(seconds.length * share)] ?? Number.NaN;
    return { median: at(0.5), slowOfTen: at(0.9) };
  }

  /** Asks Slurm and the hub once, and compares. */
  async look(): Promise<void> {
    const { load, instances } = this.#options;
    const [jobs, counts, hosts] = await Promise.all([
      this.#jobs(),
      load.counts(),
      load.get('/api/x/hosts') as Promise<{ content: { allocations: AllocationBody[] }[] } | undefined>,
    ]);
    for (const allocation of hosts?.content[0]?.allocations ?? [])
      this.#allocations.set(allocation.id, allocation);
    for (const { name, state, startedAtMs } of jobs ?? [])
      if (state === 'RUNNING') this.#startedAtMs.set(name, startedAtMs);
    // While one of them is away, nothing is known.
    if (counts === undefined || jobs === undefined) return;
    const coming = jobs.filter((job) => this.#isComing(job));
    this.#needs.push(Math.ceil(counts.WAITING / instances));
    if (this.#needs.length > NEEDED_FOR) this.#needs.shift();
    const needed = Math.max(...this.#needs);
    this.#mostBeyond = Math.max(this.#mostBeyond, coming.length - needed);
    if (coming.length > needed + 1)
      this.wrong.push(`${coming.length} allocations were coming for tasks that needed ${needed}`);
  }

  /** Whether a job is queued, or has started and its agent has never joined. */
  #isComing({ name, state }: Job): boolean {
    if (state === 'PENDING') return true;
    return state === 'RUNNING' && !HAS_JOINED.has(this.#allocations.get(name)?.state ?? 'WANTED');
  }

  /** Jobs of Slurm; undefined while it does not answer. */
  async #jobs(): Promise<Job[] | undefined> {
    try {
      const text = await this.#options.cluster.runInside('squeue', ['--noheader', '--format=%j|%T|%S']);
      const lines = text.split('\n').filter((line) => line !== '');
      return lines.map((line) => {
        const [name = '', state = '', start = ''] = line.split('|');
        return { name, state, startedAtMs: Date.parse(start) };
      });
    } catch {
      return undefined;
    }
  }
}
