/** Run-time statistics: the latest run times of similar tasks. */
import type { TaskType } from '@workbench-hub/shared/domain/task';

export interface RunTimes {
  /** First decile. */
  readonly lowMs: number;
  readonly medianMs: number;
  /** Last decile. */
  readonly highMs: number;
  readonly count: number;
}

/** Run of a task that has finished. */
export interface FinishedRun {
  readonly type: TaskType;
  readonly requirementKey: string;
  readonly durationMs: number;
}

/** Key of the statistics of similar tasks: their type and the key of their requirement. */
export function runTimesKey(type: string, requirementKey: string): string {
  return `${type} ${requirementKey}`;
}

/** Minimum number of runs for statistics. */
const ENOUGH_RUNS = 5;
const RUNS_KEPT = 100;
const KEYS_KEPT = 1000;

/** Run times of the latest tasks by requirement, for the requirements seen last. */
export class RunTimeBook {
  readonly #runsByKey = new Map<string, number[]>();

  add(key: string, runTimeMs: number): void {
    const runs = this.#runsByKey.get(key) ?? [];
    // Reinsertion moves the key to the end of the map: the first one has not been seen for longest.
    this.#runsByKey.delete(key);
    this.#runsByKey.set(key, runs);
    runs.push(runTimeMs);
    if (runs.length > RUNS_KEPT) runs.shift();
    if (this.#runsByKey.size > KEYS_KEPT) {
      for (const oldest of this.#runsByKey.keys()) {
        this.#runsByKey.delete(oldest);
        break;
      }
    }
  }

  /** Null when too few runs have been measured. */
  of(key: string): RunTimes | null {
    const runs = this.#runsByKey.get(key);
    if (!runs || runs.length < ENOUGH_RUNS) return null;
    const at = shares(runs);
    return { lowMs: at(0.1), medianMs: at(0.5), highMs: at(0.9), count: runs.length };
  }

  /** Time within which 95 of 100 runs ended; null when too few have been measured. */
  nearlyLongestMs(key: string): number | null {
    const runs = this.#runsByKey.get(key);
    return runs && runs.length >= ENOUGH_RUNS ? shares(runs)(0.95) : null;
  }
}

/** Gives the run time that a share of the runs did not exceed. */
function shares(runs: readonly number[]): (share: number) => number {
  const sorted = [...runs].sort((a, b) => a - b);
  return (share) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] as number;
}
