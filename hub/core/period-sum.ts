import { DurationCounts } from './durations.js';
import type { StatisticsPeriod, TaskCounts } from './ports/task-statistics.js';

type Counts = { -readonly [Name in keyof TaskCounts]: number };

/** Sum of statistics of tasks: of single events, and of periods. */
export class PeriodSum {
  readonly #counts: Counts = {
    created: 0,
    started: 0,
    finished: 0,
    failed: 0,
    canceled: 0,
    lost: 0,
    waitedMs: 0,
    ranMs: 0,
  };
  readonly #waits = new DurationCounts();
  readonly #runs = new DurationCounts();

  /** Counts one task or attempt. */
  count(what: 'created' | 'canceled' | 'lost'): void {
    this.#counts[what] += 1;
  }

  started(waitedMs: number): void {
    this.#counts.started += 1;
    this.#counts.waitedMs += waitedMs;
    this.#waits.add(waitedMs);
  }

  ended(how: 'finished' | 'failed', ranMs: number): void {
    this.#counts[how] += 1;
    this.#counts.ranMs += ranMs;
    this.#runs.add(ranMs);
  }

  add({ waits, runs, ...period }: StatisticsPeriod): void {
    for (const name of Object.keys(this.#counts) as (keyof Counts)[]) this.#counts[name] += period[name];
    this.#waits.addAll(waits);
    this.#runs.addAll(runs);
  }

  /** All that was added, as a period that begins at this time. */
  period(startMs: number): StatisticsPeriod {
    return { startMs, ...this.#counts, waits: this.#waits.classes, runs: this.#runs.classes };
  }
}
