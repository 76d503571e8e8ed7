/** Counts of what happened to tasks, by minute and by hour. Changes survive a crash of the hub; the latest may be lost with the
 *  power. All reject as those of `task-queue.ts` do. */
import type { DurationClass } from '../durations.js';

export const STATISTICS_STEPS = ['MINUTE', 'HOUR'] as const;
export type StatisticsStep = (typeof STATISTICS_STEPS)[number];

export const STEP_MS: Readonly<Record<StatisticsStep, number>> = { MINUTE: 60_000, HOUR: 3_600_000 };

export interface TaskCounts {
  readonly created: number;
  /** First attempts that began. */
  readonly started: number;
  readonly finished: number;
  readonly failed: number;
  readonly canceled: number;
  /** Attempts that ended without ending their task. */
  readonly lost: number;
  /** Time that the started tasks had waited, in all. */
  readonly waitedMs: number;
  /** Time that the attempts of the finished and failed tasks had run, in all. */
  readonly ranMs: number;
}

export interface StatisticsPeriod extends TaskCounts {
  /** Start of the minute or hour, in milliseconds since 1970. */
  readonly startMs: number;
  /** Times that the started tasks had waited, by class, the shortest first; without those that hubs of earlier versions counted. */
  readonly waits: readonly DurationClass[];
  /** Times that the attempts of the finished and failed tasks had run, likewise. */
  readonly runs: readonly DurationClass[];
}

export interface TaskStatistics {
  /** Adds counts to the minutes and hours in which they begin. */
  add(minutes: readonly StatisticsPeriod[]): Promise<void>;
  /** Periods that begin at `fromMs` or later and before `toMs`, in order; those without any count are left out. */
  between(step: StatisticsStep, fromMs: number, toMs: number): Promise<StatisticsPeriod[]>;
  /** Removes the periods of a step that began before this time. */
  forget(step: StatisticsStep, beforeMs: number): Promise<void>;
}

/** Statistics of an engine that keeps none. */
export const NO_STATISTICS: TaskStatistics = {
  add: async () => undefined,
  between: async () => [],
  forget: async () => undefined,
};
