/** Allocations of hosts. Changes are durable when their promise resolves, and reject as those of `task-queue.ts` do. */
import type { Allocation, AllocationState } from '../hosts/allocation.js';

export interface AllocationQuery {
  /** Null for all recipes. */
  readonly recipe: string | null;
  readonly limit: number;
  readonly nowMs: number;
}

/** State of a recipe in the store, beside its configuration. */
export interface RecipeNote {
  readonly recipe: string;
  /** Time since which an administrator has paused it, and who; null while it is not paused. */
  readonly pausedAtMs: number | null;
  readonly pausedBy: string | null;
  /** Time of the latest resumption: earlier failed starts do not count. */
  readonly resumedAtMs: number | null;
  /** Time of the latest request to give all of its allocations back, and who asked; null for none. */
  readonly drainedAtMs: number | null;
  readonly drainedBy: string | null;
  /** Why its workload manager does not answer; null while it does. */
  readonly fault: string | null;
}

/** Time that the allocations of a recipe have run for a user, in ms. */
export interface RanForUser {
  readonly recipe: string;
  readonly forUser: string;
  readonly ranMs: number;
}

export interface Period {
  readonly fromMs: number;
  readonly untilMs: number;
}

/** Time that the allocations of a recipe have run in the period at this place of the list, in ms. */
export interface RanInPeriod {
  readonly at: number;
  readonly recipe: string;
  readonly ranMs: number;
}

/** Change of a {@link RecipeNote}; what is left out stays. */
export type RecipeNoteChange = Partial<Omit<RecipeNote, 'recipe'>>;

export interface Allocations {
  /** Recipes with a note. */
  notes(): Promise<RecipeNote[]>;
  note(recipe: string, change: RecipeNoteChange): Promise<void>;
  /** Adds a new one, in this term of the scheduler's role only; tells whether it took place. */
  add(allocation: Allocation, term: number): Promise<boolean>;
  /** Replaces one that has this state, in this term only; tells whether it took place. */
  change(allocation: Allocation, from: AllocationState, term: number): Promise<boolean>;
  /** Those that are not over, oldest first. */
  open(): Promise<Allocation[]>;
  find(id: string): Promise<Allocation | undefined>;
  /** Those that are over, the latest first. Those that ended after `nowMs`, by a clock that was set back since, come last: they hide no newer ones. */
  latest(query: AllocationQuery): Promise<Allocation[]>;
  /** Time that allocations have run since then, in ms, by recipe; those that run count up to `nowMs`. */
  ranSince(sinceMs: number, nowMs: number): Promise<ReadonlyMap<string, number>>;
  /** The same by recipe and user, of those that were wanted for a user. */
  ranForUsersSince(sinceMs: number, nowMs: number): Promise<readonly RanForUser[]>;
  /** Time that allocations have run in each of these periods, which begin and end at these times, by recipe; nothing for one in which none ran. */
  ranIn(periods: readonly Period[], nowMs: number): Promise<readonly RanInPeriod[]>;
  /** Differs from its earlier values whenever an allocation may be over that was not. */
  version(): Promise<string>;
  /** Removes those that were over before this time, at most `limit`; resolves with their number. */
  removeBefore(endedBeforeMs: number, limit: number): Promise<number>;
}
