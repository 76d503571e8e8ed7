/** Runs many seeds, each on its own, on several threads. */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { HubCount, Outcome, SimulatedStoreKind } from './simulation.js';

export interface SeedsOptions {
  readonly from: number;
  /** Excluded. */
  readonly to: number;
  readonly threads: number;
  /** Name of a defect that is built in. */
  readonly broken: string | undefined;
  /** That of the defect, or of each seed, when undefined. */
  readonly store: SimulatedStoreKind | undefined;
  /** Number of hubs; that of the defect, or one that is alone, when undefined. */
  readonly hubs: HubCount | undefined;
  /** Whether clients create studies, too. */
  readonly hasStudies: boolean;
  readonly onOutcome: (outcome: Outcome) => void;
}

/** Input of a thread: the seeds `from`, `from + step` and so on, up to `to`. */
export interface ThreadSeeds {
  readonly from: number;
  readonly to: number;
  readonly step: number;
  readonly broken: string | undefined;
  /** That of the defect, or of each seed, when undefined. */
  readonly store: SimulatedStoreKind | undefined;
  /** Number of hubs; that of the defect, or one that is alone, when undefined. */
  readonly hubs: HubCount | undefined;
  /** Whether clients create studies, too. */
  readonly hasStudies: boolean;
}

/** Rejects when a seed does not end. */
export async function runSeeds({ from, to, threads, onOutcome, ...worlds }: SeedsOptions): Promise<void> {
  const running = Array.from({ length: Math.min(threads, to - from) }, async (_, index) => {
    const workerData: ThreadSeeds = { ...worlds, from: from + index, to, step: threads };
    const thread = new Worker(new URL('./seeds-thread.js', import.meta.url), { workerData });
    let next = workerData.from;
    thread.on('message', (outcome: Outcome) => {
      next += threads;
      onOutcome(outcome);
    });
    await once(thread, 'exit');
    // A thread ends by itself when nothing can happen in its world any more.
    if (next < to) throw new Error(`seed ${next} does not end`);
  });
  await Promise.all(running);
}
