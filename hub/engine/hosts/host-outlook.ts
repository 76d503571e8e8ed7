/** Hosts that recipes bring, or could bring, for a task that waits. */
import { type Requirement, requirementKey } from '@workbench-hub/shared/domain/classifier';
import type { RecipeObstacle } from '@workbench-hub/shared/domain/lent-recipe';
import { fits } from '@workbench-hub/shared/domain/matching';
import type { Clock } from '@workbench-hub/shared/runtime/runtime';
import type { RecipeOutlook } from '../../core/host-outlook.js';
import { type Allocation, isOpen } from '../../core/hosts/allocation.js';
import { hostEndOf, timeLeftMs, usableMs } from '../../core/hosts/host-end.js';
import type { HostRecipe } from '../../core/hosts/host-recipe.js';
import { type JoinedRecipe, joinedOutlook, joinedRecipeName } from '../../core/hosts/joined-recipe.js';
import { roomByHours, userObstacle } from '../../core/hosts/plan.js';
import type { HostEnds } from '../scheduling/host-ends.js';
import type { ClusterJoinedRecipes } from './cluster-joined-recipes.js';
import type { RecipeView, RecipeViews } from './recipe-views.js';

export interface HostOutlookOptions {
  readonly recipes: readonly HostRecipe[];
  readonly views: Pick<RecipeViews, 'all'>;
  /** Recipes of the hubs that have joined. */
  readonly joined: ClusterJoinedRecipes;
  readonly ends: Pick<HostEnds, 'tooShortFor' | 'timeOf' | 'count'>;
  readonly clock: Clock;
}

/** Agents whose hosts have too little time for a task, and the recipes that bring hosts for it. */
export interface KnownHosts {
  readonly ending: readonly string[];
  readonly recipes: readonly string[];
}

export interface HostsOfTask {
  readonly outlooks: readonly RecipeOutlook[];
  /** Agents whose hosts have too little time for the task. */
  readonly ending: readonly string[];
  /** Time that the task is expected to need at most; 0 when nothing tells. */
  readonly timeMs: number;
}

/** Number of starts from which the next one is estimated. */
const STARTS_KNOWN = 3;
const NONE: KnownHosts = { ending: [], recipes: [] };

export class HostOutlook {
  readonly #options: HostOutlookOptions;

  constructor(options: HostOutlookOptions) {
    this.#options = options;
  }

  /** Facts from memory alone: only the hub with the role of the scheduler knows the ends of hosts. */
  known(requirement: Requirement, timeLimitS: number | null): KnownHosts {
    const { recipes, ends, joined } = this.#options;
    const known = joined.known();
    if (recipes.length === 0 && known.length === 0 && ends.count === 0) return NONE;
    const task = { requirementKey: requirementKey(requirement), timeLimitS };
    const timeMs = ends.timeOf(task);
    const able = recipes.filter((recipe) => isFitting(recipe, requirement) && timeMs <= usableMs(recipe));
    const lent = known.filter((each) => isJoinedFitting(each, requirement) && timeMs <= each.lent.usableMs);
    return {
      ending: ends.tooShortFor(task),
      recipes: [...able.map(({ name }) => name), ...lent.map(joinedRecipeName)],
    };
  }

  /** The same, and more, from the store; `user` is the creator of the task, or null when it is not known. Rejects as the store does. */
  async of(
    requirement: Requirement,
    { timeLimitS, user }: { readonly timeLimitS: number | null; readonly user: string | null },
  ): Promise<HostsOfTask> {
    const { recipes, views, ends, clock, joined } = this.#options;
    const timeMs = ends.timeOf({ requirementKey: requirementKey(requirement), timeLimitS });
    const lent = (await joined.all()).filter((each) => isJoinedFitting(each, requirement));
    if (recipes.length === 0 && lent.length === 0) return { outlooks: [], ending: [], timeMs };
    const nowMs = clock.nowMs();
    const all = await views.all();
    const outlooks = [
      ...all
        .filter(({ recipe }) => isFitting(recipe, requirement))
        .map((view) => outlookOf(view, { timeMs, user }, nowMs)),
      ...lent.map((each) => joinedOutlook(each, timeMs, nowMs)),
    ];
    const ending = all.flatMap(({ recipe, allocations }) =>
      allocations.filter((each) => isOpen(each) && leftMs(each, recipe, nowMs) < timeMs),
    );
    return { outlooks, ending: ending.map(({ id }) => id), timeMs };
  }

  /** Outlooks on all recipes of this hub, for tasks of nobody that take no time. Rejects as the store does. */
  async ofRecipes(): Promise<RecipeOutlook[]> {
    const { views, clock } = this.#options;
    const nowMs = clock.nowMs();
    return (await views.all()).map((view) => outlookOf(view, { timeMs: 0, user: '' }, nowMs));
  }
}

function isFitting({ instances }: HostRecipe, requirement: Requirement): boolean {
  return instances.some(({ instanceClass }) => fits(requirement, instanceClass));
}

function isJoinedFitting({ lent }: JoinedRecipe, requirement: Requirement): boolean {
  return lent.instances.some((instanceClass) => fits(requirement, instanceClass));
}

function leftMs(allocation: Allocation, { wallTimeMs }: HostRecipe, nowMs: number): number {
  const end = hostEndOf(allocation, wallTimeMs);
  return end === null ? Number.POSITIVE_INFINITY : timeLeftMs(end, nowMs);
}

function outlookOf(
  view: RecipeView,
  { timeMs, user }: { readonly timeMs: number; readonly user: string | null },
  nowMs: number,
): RecipeOutlook {
  const { recipe, allocations, failed, isReachable } = view;
  const coming = allocations.filter(({ state }) => isComing(state));
  const sinceMs = coming.length === 0 ? null : Math.min(...coming.map(({ wantedAtMs }) => wantedAtMs));
  return {
    recipe: recipe.name,
    coming: coming.length,
    joined: allocations.filter((each) => isOpen(each) && !isComing(each.state)).length,
    sinceMs,
    expectedMs: sinceMs !== null && isReachable ? expectedMsOf(sinceMs, allocations, nowMs) : null,
    obstacle: timeMs > usableMs(recipe) ? 'TIME' : obstacleOf(view, user, nowMs),
    nextTryAtMs: failed.nextTryAtMs > nowMs ? failed.nextTryAtMs : null,
  };
}

function isComing(state: Allocation['state']): boolean {
  return state === 'WANTED' || state === 'SUBMITTED' || state === 'QUEUED' || state === 'STARTED';
}

/** Time at which a host is expected that was asked for then; null when too few are known, and when it is overdue. */
function expectedMsOf(sinceMs: number, allocations: readonly Allocation[], nowMs: number): number | null {
  const startMs = usualStartMs(allocations);
  return startMs === null || sinceMs + startMs < nowMs ? null : sinceMs + startMs;
}

/** Median time from the wish for an allocation until its agent joined; null when too few have. */
function usualStartMs(allocations: readonly Allocation[]): number | null {
  const times = allocations
    .flatMap(({ wantedAtMs, joinedAtMs }) => (joinedAtMs === null ? [] : [joinedAtMs - wantedAtMs]))
    .sort((a, b) => a - b);
  return times.length < STARTS_KNOWN ? null : (times[Math.floor(times.length / 2)] ?? null);
}

function obstacleOf(
  { recipe, state, failed, hostHours, reservedHostHours, hostHoursOf, allocations }: RecipeView,
  user: string | null,
  nowMs: number,
): RecipeObstacle | null {
  const open = allocations.filter(isOpen);
  if (state === 'PAUSED' || state === 'UNREACHABLE') return state;
  if (failed.nextTryAtMs > nowMs) return 'FAILED_STARTS';
  if (open.length >= recipe.limits.allocations) return 'MAX_ALLOCATIONS';
  if (roomByHours(recipe, hostHours + reservedHostHours) < 1) return 'HOST_HOURS';
  if (user === null) return null;
  const ofUser = open.filter(({ forUser }) => forUser === user);
  return userObstacle(recipe, { open: ofUser.length, hostHours: hostHoursOf.get(user) ?? 0 });
}
