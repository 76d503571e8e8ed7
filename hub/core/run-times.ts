/** How long tasks of a kind take: the latest measured ones, summed up. */

export interface RunTimes {
  /** A tenth of the runs were shorter. */
  readonly lowMs: number;
  readonly medianMs: number;
  /** A tenth of the runs were longer. */
  readonly highMs: number;
  readonly count: number;
}

/** Fewer runs than these say nothing. */
const ENOUGH_RUNS = 5;
const RUNS_KEPT = 100;
const KINDS_KEPT = 1000;

/** Remembers the run times of the latest tasks of each kind, for the kinds seen last. */
export class RunTimeBook {
  readonly #kinds = new Map<string, number[]>();

  add(kind: string, runTimeMs: number): void {
    const runs = this.#kinds.get(kind) ?? [];
    // Taking it out and putting it in moves the kind to the end of the map: the first is the one not seen for longest.
    this.#kinds.delete(kind);
    this.#kinds.set(kind, runs);
    runs.push(runTimeMs);
    if (runs.length > RUNS_KEPT) runs.shift();
    if (this.#kinds.size > KINDS_KEPT) {
      for (const oldest of this.#kinds.keys()) {
        this.#kinds.delete(oldest);
        break;
      }
    }
  }

  /** Null when too few runs of this kind have been measured. */
  of(kind: string): RunTimes | null {
    const runs = this.#kinds.get(kind);
    if (!runs || runs.length < ENOUGH_RUNS) return null;
    const sorted = [...runs].sort((a, b) => a - b);
    const at = (share: number) =>
      sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] as number;
    return { lowMs: at(0.1), medianMs: at(0.5), highMs: at(0.9), count: runs.length };
  }
}
