/** Statistics of tasks over time: counted in memory, and added to the store every few seconds. */
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Clock, Timer, Timers } from '@workbench-hub/shared/runtime/runtime';
import {
  STEP_MS,
  type StatisticsPeriod,
  type StatisticsStep,
  type TaskCounts,
  type TaskStatistics,
} from '../core/ports/task-statistics.js';
import type { TaskSubscriber } from '../core/task-events.js';

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

const NONE: TaskCounts = {
  created: 0,
  started: 0,
  finished: 0,
  failed: 0,
  canceled: 0,
  lost: 0,
  waitedMs: 0,
  ranMs: 0,
};

type Counted = { -readonly [Name in keyof TaskCounts]: number };

export class Statistics {
  readonly #options: StatisticsOptions;
  /** Counts that are not in the store yet, by the start of their minute. */
  #counted = new Map<number, Counted>();
  #timer: Timer | undefined;
  #saving: Promise<void> = Promise.resolve();
  #forgottenAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: StatisticsOptions) {
    this.#options = options;
  }

  readonly onTask: TaskSubscriber = {
    CREATED: () => this.#count({ created: 1 }),
    STARTED: ({ ref, task, startedAtMs }) => {
      if (ref.attempt === 1) {
        this.#count({ started: 1, waitedMs: Math.max(startedAtMs - task.requestedAtMs, 0) });
      }
    },
    REQUEUED: () => this.#count({ lost: 1 }),
    ENDED: ({ task, ending, endedAtMs }) => {
      const ranMs = Math.max(endedAtMs - (task.startedAtMs ?? endedAtMs), 0);
      this.#count(ending.status === 'FINISHED' ? { finished: 1, ranMs } : { failed: 1, ranMs });
    },
    CANCELED: () => this.#count({ canceled: 1 }),
  };

  /** All periods from `fromMs` up to `toMs`, also those in which nothing happened. */
  async between(step: StatisticsStep, fromMs: number, toMs: number): Promise<StatisticsPeriod[]> {
    await this.#save();
    const stepMs = STEP_MS[step];
    const firstMs = Math.floor(fromMs / stepMs) * stepMs;
    const known = await this.#options.store.between(step, firstMs, toMs);
    const byStart = new Map(known.map((period) => [period.startMs, period]));
    const periods: StatisticsPeriod[] = [];
    for (let startMs = firstMs; startMs < toMs; startMs += stepMs) {
      periods.push(byStart.get(startMs) ?? { startMs, ...NONE });
    }
    return periods;
  }

  /** Saves what was counted; to be called when the hub stops. */
  async stop(): Promise<void> {
    this.#timer?.cancel();
    this.#timer = undefined;
    await this.#save();
  }

  #count(counts: Partial<TaskCounts>): void {
    const { clock, timers } = this.#options;
    const startMs = Math.floor(clock.nowMs() / STEP_MS.MINUTE) * STEP_MS.MINUTE;
    const counted = this.#counted.get(startMs) ?? { ...NONE };
    this.#counted.set(startMs, counted);
    for (const [name, count] of Object.entries(counts)) counted[name as keyof Counted] += count;
    this.#timer ??= timers.after(SAVE_EVERY_MS, () => {
      this.#timer = undefined;
      void this.#save();
    });
  }

  /** Never rejects: counts that cannot be saved are kept for the next time. */
  #save(): Promise<void> {
    this.#saving = this.#saving.then(() => this.#saveOnce());
    return this.#saving;
  }

  async #saveOnce(): Promise<void> {
    const { store, log } = this.#options;
    if (this.#counted.size === 0) return;
    const saved = this.#counted;
    this.#counted = new Map();
    try {
      await store.add([...saved].map(([startMs, counts]) => ({ startMs, ...counts })));
      await this.#forgetOld();
    } catch (error) {
      log.error({ err: error }, 'statistics of tasks could not be saved');
      for (const [startMs, counts] of this.#counted) {
        const before = saved.get(startMs) ?? { ...NONE };
        for (const name of Object.keys(NONE) as (keyof Counted)[]) before[name] += counts[name];
        saved.set(startMs, before);
      }
      this.#counted = saved;
    }
  }

  async #forgetOld(): Promise<void> {
    const { store, clock } = this.#options;
    const nowMs = clock.nowMs();
    if (Math.abs(nowMs - this.#forgottenAtMs) < HOUR_MS) return;
    this.#forgottenAtMs = nowMs;
    for (const step of ['MINUTE', 'HOUR'] as const) await store.forget(step, nowMs - KEPT_MS[step]);
  }
}
