/** Statistics of tasks over time: counted in memory, and added to the store every few seconds. */
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { Loop } from '@workbench-hub/shared/runtime/loop';
import type { Clock, Timers } from '@workbench-hub/shared/runtime/runtime';
import { PeriodSum } from '../../core/period-sum.js';
import {
  STEP_MS,
  type StatisticsPeriod,
  type StatisticsStep,
  type TaskStatistics,
} from '../../core/ports/task-statistics.js';
import type { TaskSubscriber } from '../../core/task-events.js';

export interface StatisticsOptions {
  readonly store: TaskStatistics;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: Logger;
}

const SAVE_EVERY_MS = 5000;

const HOUR_MS = 3_600_000;

/** Ages up to which periods are kept: minutes for somewhat more than a day, hours for somewhat more than a year. */
const KEPT_MS: Readonly<Record<StatisticsStep, number>> = { MINUTE: 25 * HOUR_MS, HOUR: 367 * 24 * HOUR_MS };

/** Minutes or hours that are read at once: other work goes on between two such parts. */
const READ_STEPS = 200;

/** Periods that are asked for: from `fromMs` up to `toMs`, each of this many minutes or hours; only the last one may be shorter. */
export interface AskedPeriods {
  readonly step: StatisticsStep;
  readonly stepsPerPeriod: number;
  readonly fromMs: number;
  readonly toMs: number;
}

export class Statistics {
  readonly #options: StatisticsOptions;
  /** Counts that are not in the store yet, by the start of their minute. */
  #counted = new Map<number, PeriodSum>();
  readonly #loop: Loop;
  #forgottenAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: StatisticsOptions) {
    this.#options = options;
    this.#loop = new Loop({ timers: options.timers, pass: () => this.#save() });
  }

  readonly onTask: TaskSubscriber = {
    CREATED: () => this.#count((sum) => sum.count('created')),
    STARTED: ({ ref, task, startedAtMs }) => {
      if (ref.attempt === 1) {
        this.#count((sum) => sum.started(Math.max(startedAtMs - task.requestedAtMs, 0)));
      }
    },
    REQUEUED: () => this.#count((sum) => sum.count('lost')),
    ENDED: ({ task, ending, endedAtMs }) => {
      const ranMs = Math.max(endedAtMs - (task.startedAtMs ?? endedAtMs), 0);
      this.#count((sum) => sum.ended(ending.status === 'FINISHED' ? 'finished' : 'failed', ranMs));
    },
    CANCELED: () => this.#count((sum) => sum.count('canceled')),
  };

  /** All periods, also those in which nothing happened. The first one begins at the minute or hour of `fromMs`. */
  async between({ step, stepsPerPeriod, fromMs, toMs }: AskedPeriods): Promise<StatisticsPeriod[]> {
    const { store, timers } = this.#options;
    await this.#loop.passed();
    const stepMs = STEP_MS[step];
    const periodMs = stepsPerPeriod * stepMs;
    const firstMs = Math.floor(fromMs / stepMs) * stepMs;
    const sums = Array.from(
      { length: Math.max(Math.ceil((toMs - firstMs) / periodMs), 0) },
      () => new PeriodSum(),
    );
    for (let partMs = firstMs; partMs < toMs; partMs += READ_STEPS * stepMs) {
      if (partMs > firstMs) await new Promise<void>((resolve) => timers.soon(resolve));
      const endMs = Math.min(partMs + READ_STEPS * stepMs, toMs);
      for (const period of await store.between(step, partMs, endMs)) {
        sums[Math.floor((period.startMs - firstMs) / periodMs)]?.add(period);
      }
    }
    return sums.map((sum, at) => sum.period(firstMs + at * periodMs));
  }

  /** Saves what was counted; to be called when the hub stops. */
  stop(): Promise<void> {
    return this.#loop.finish();
  }

  #count(count: (sum: PeriodSum) => void): void {
    const { clock } = this.#options;
    const startMs = Math.floor(clock.nowMs() / STEP_MS.MINUTE) * STEP_MS.MINUTE;
    const sum = this.#counted.get(startMs) ?? new PeriodSum();
    this.#counted.set(startMs, sum);
    count(sum);
    this.#loop.wake(SAVE_EVERY_MS);
  }

  /** Never rejects: counts that cannot be saved are kept for the next time. */
  async #save(): Promise<void> {
    const { store, log } = this.#options;
    if (this.#counted.size === 0) return;
    const saved = this.#counted;
    this.#counted = new Map();
    try {
      await store.add([...saved].map(([startMs, sum]) => sum.period(startMs)));
    } catch (error) {
      log.error({ err: error }, 'statistics of tasks could not be saved');
      for (const [startMs, sum] of this.#counted) {
        const before = saved.get(startMs);
        if (before) before.add(sum.period(startMs));
        else saved.set(startMs, sum);
      }
      this.#counted = saved;
      return;
    }
    await this.#forgetOld().catch((error: unknown) => {
      log.error(
        { err: error },
        'old statistics of tasks could not be removed; trying again with the next ones',
      );
    });
  }

  async #forgetOld(): Promise<void> {
    const { store, clock } = this.#options;
    const nowMs = clock.nowMs();
    if (Math.abs(nowMs - this.#forgottenAtMs) < HOUR_MS) return;
    for (const step of ['MINUTE', 'HOUR'] as const) await store.forget(step, nowMs - KEPT_MS[step]);
    this.#forgottenAtMs = nowMs;
  }
}
