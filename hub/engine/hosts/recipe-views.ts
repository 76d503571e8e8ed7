/** The recipes of hosts as clients see them, and what administrators ask of them. They are the same at all hubs of a store. */
import type { Clock } from '@workbench-hub/shared/runtime/runtime';
import { HubError } from '../../core/errors.js';
import type { Allocation } from '../../core/hosts/allocation.js';
import { FAILURES_BEFORE_PAUSE, type FailedStarts, failedStarts } from '../../core/hosts/failed-starts.js';
import { hostHoursByUser, reservedHostHours } from '../../core/hosts/host-hours.js';
import type { HostRecipe } from '../../core/hosts/host-recipe.js';
import { latestMonths } from '../../core/hosts/months.js';
import type { Allocations, RecipeNote } from '../../core/ports/allocations.js';

/** PAUSED: by an administrator. FAILING: several starts in a row have failed, and the next try is later. UNREACHABLE: the workload manager does not
 *  answer. */
export const RECIPE_STATES = ['READY', 'PAUSED', 'FAILING', 'UNREACHABLE'] as const;
export type RecipeState = (typeof RECIPE_STATES)[number];

export interface RecipeView {
  readonly recipe: HostRecipe;
  readonly state: RecipeState;
  readonly pausedBy: string | null;
  readonly pausedAtMs: number | null;
  /** Whether the workload manager answers, as far as the hub has asked. */
  readonly isReachable: boolean;
  /** Why the workload manager does not answer, or the latest start failed; null for none. */
  readonly message: string | null;
  readonly failed: FailedStarts;
  /** Host-hours of the last 24 hours. */
  readonly hostHours: number;
  /** Host-hours that its open allocations may still run. */
  readonly reservedHostHours: number;
  /** Both by user, if it has bounds by user. */
  readonly hostHoursOf: ReadonlyMap<string, number>;
  /** Those that are open, oldest first, then the latest that are over. */
  readonly allocations: readonly Allocation[];
}

export interface HostHoursOfMonth {
  /** Such as 2026-11. */
  readonly month: string;
  readonly recipe: string;
  readonly hostHours: number;
}

export interface RecipeViewsOptions {
  readonly recipes: readonly HostRecipe[];
  readonly allocations: Allocations;
  /** Called when something was asked. */
  readonly asked: () => void;
  readonly clock: Clock;
}

const DAY_MS = 86_400_000;
/** Allocations that are over, of a recipe. */
const LATEST = 20;

export class RecipeViews {
  readonly #options: RecipeViewsOptions;

  constructor(options: RecipeViewsOptions) {
    this.#options = options;
  }

  /** All recipes, in the order of the configuration. Rejects as the store does. */
  async all(): Promise<RecipeView[]> {
    const { recipes, allocations, clock } = this.#options;
    if (recipes.length === 0) return [];
    const nowMs = clock.nowMs();
    const open = await allocations.open();
    const ran = await allocations.ranSince(nowMs - DAY_MS, nowMs);
    const ranForUsers = recipes.some(({ limits }) => limits.perUser !== undefined)
      ? await allocations.ranForUsersSince(nowMs - DAY_MS, nowMs)
      : [];
    const notes = new Map((await allocations.notes()).map((note) => [note.recipe, note]));
    const views: RecipeView[] = [];
    for (const recipe of recipes) {
      const latest = await allocations.latest({ recipe: recipe.name, limit: LATEST, nowMs });
      const note = notes.get(recipe.name);
      const ofRecipe = open.filter((each) => each.recipe === recipe.name);
      const failed = failedStarts([...ofRecipe, ...latest], {
        resumedAtMs: note?.resumedAtMs ?? null,
        nowMs,
      });
      views.push({
        recipe,
        state: stateOf(note, failed),
        pausedBy: note?.pausedBy ?? null,
        pausedAtMs: note?.pausedAtMs ?? null,
        isReachable: note === undefined || note.fault === null,
        message: note?.fault ?? failed.message,
        failed,
        hostHours: (ran.get(recipe.name) ?? 0) / 3_600_000,
        reservedHostHours: reservedHostHours(ofRecipe, recipe, nowMs),
        hostHoursOf: hostHoursByUser(ofRecipe, recipe, ranForUsers, nowMs),
        allocations: [...ofRecipe, ...latest],
      });
    }
    return views;
  }

  /** Host-hours by month of the hub's local time, the latest first, and by recipe, configured or not; months without any are left out. Allocations are
   *  kept for 400 days. Rejects as the store does. */
  async hostHours(months: number): Promise<HostHoursOfMonth[]> {
    const { allocations, clock } = this.#options;
    const nowMs = clock.nowMs();
    const periods = latestMonths(nowMs, months);
    const ran = await allocations.ranIn(periods, nowMs);
    return ran.map(({ at, recipe, ranMs }) => ({
      ...{ month: periods[at]?.month ?? '', recipe, hostHours: ranMs / 3_600_000 },
    }));
  }

  /** Wants no more allocations of a recipe. Rejects with HubError `RECIPE_NOT_FOUND`, and as the store does. */
  async pause(name: string, by: string): Promise<void> {
    await this.#note(name, { pausedAtMs: this.#options.clock.nowMs(), pausedBy: by });
  }

  /** Wants allocations again, at once: earlier failed starts do not count. Rejects as {@link pause} does. */
  async resume(name: string): Promise<void> {
    await this.#note(name, { pausedAtMs: null, pausedBy: null, resumedAtMs: this.#options.clock.nowMs() });
  }

  /** Gives all present allocations of a recipe back, each when no task runs there. */
  async drain(name: string, by: string): Promise<void> {
    await this.#note(name, { drainedAtMs: this.#options.clock.nowMs(), drainedBy: by });
  }

  async #note(name: string, change: Partial<RecipeNote>): Promise<void> {
    const { recipes, allocations, asked } = this.#options;
    if (!recipes.some((recipe) => recipe.name === name)) {
      const names = recipes.map((recipe) => recipe.name).join(', ');
      const known = names === '' ? 'none is configured' : `there are ${names}`;
      throw new HubError('RECIPE_NOT_FOUND', `there is no recipe ${JSON.stringify(name)} of hosts: ${known}`);
    }
    await allocations.note(name, change);
    asked();
  }
}

function stateOf(note: RecipeNote | undefined, { count }: FailedStarts): RecipeState {
  if (note && note.pausedAtMs !== null) return 'PAUSED';
  if (note && note.fault !== null) return 'UNREACHABLE';
  return count >= FAILURES_BEFORE_PAUSE ? 'FAILING' : 'READY';
}
