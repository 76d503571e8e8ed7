/** Recipes of hosts as this hub lends them to one upstream (decision 0099). */
import {
  type LentRecipe,
  MAX_CLASSES_OF_HOST,
  MAX_LENT_RECIPES,
  MAX_RECIPE_NAME_LENGTH,
  type RecipeObstacle,
  type WantedInstances,
} from '@workbench-hub/shared/domain/lent-recipe';
import type { RecipeOutlook } from '../../core/host-outlook.js';
import { partedInstances } from '../../core/hosts/host-recipe.js';
import type { SpareRecipe } from '../hosts/recipe-capacity.js';
import { type LendingRule, mayBeLent } from './lending-settings.js';

export interface LendingNow {
  /** Whether instances are offered at this time. */
  readonly isOpen: boolean;
  /** Number of further instances that may be offered or on loan. */
  readonly room: number;
  /** In milliseconds since 1970. */
  readonly nowMs: number;
}

/** Recipes that have instances which may be lent. */
export function lentRecipes(
  rule: LendingRule,
  recipes: readonly SpareRecipe[],
  { isOpen, room, nowMs }: LendingNow,
): LentRecipe[] {
  if (!isOpen || !rule.hasHosts) return [];
  const lent = recipes.flatMap((recipe) => {
    const { name, usableMs } = recipe;
    const instances = partedInstances(name, recipe.instances, (instance) => mayBeLent(rule, instance))
      .filter(({ part: isLent }) => isLent)
      .slice(0, MAX_CLASSES_OF_HOST);
    if (instances.length === 0 || usableMs <= 0 || name.length > MAX_RECIPE_NAME_LENGTH) return [];
    const free = Math.min(freeOf(recipe), hostsWithin(room, instances));
    return [
      {
        ...{ name, usableMs, free },
        ...outlookOf(recipe, free, nowMs),
        instances: instances.map(({ instanceClass: { version, labels, runs }, count }) => ({
          ...{ version, labels, count },
          ...(runs && { runs }),
        })),
      },
    ];
  });
  return lent.slice(0, MAX_LENT_RECIPES);
}

/** Wishes for the recipes that are lent, reduced to the instances that their free hosts have, and in all to `room`, rounded up to whole hosts. */
export function wantedWithin(
  wanted: readonly WantedInstances[],
  recipes: readonly LentRecipe[],
  room: number,
): WantedInstances[] {
  const ofHost = new Map(recipes.map(({ name, instances }) => [name, instancesOf(instances)]));
  const left = new Map(recipes.map(({ name, free }) => [name, free * (ofHost.get(name) ?? 0)]));
  let roomLeft = Math.max(0, room);
  return wanted.flatMap((each) => {
    const size = ofHost.get(each.recipe) ?? 1;
    const count = Math.min(each.count, left.get(each.recipe) ?? 0, Math.ceil(roomLeft / size) * size);
    left.set(each.recipe, (left.get(each.recipe) ?? 0) - count);
    roomLeft = Math.max(0, roomLeft - count);
    return count === 0 ? [] : [{ ...each, count }];
  });
}

/** While the workload manager does not answer, none but those that it was asked for. */
function freeOf({ free, outlook }: SpareRecipe): number {
  return outlook.obstacle === 'UNREACHABLE' ? Math.min(free, outlook.coming) : free;
}

function instancesOf(classes: readonly { readonly count: number }[]): number {
  return classes.reduce((sum, { count }) => sum + count, 0);
}

/** Number of hosts that have at most `room` instances, rounded up: a host comes whole. */
function hostsWithin(room: number, instances: readonly { readonly count: number }[]): number {
  return room === Number.POSITIVE_INFINITY ? room : Math.ceil(Math.max(0, room) / instancesOf(instances));
}

/** The outlook without the hosts that this hub needs itself. */
function outlookOf({ outlook }: SpareRecipe, free: number, nowMs: number) {
  const { joined, sinceMs, expectedMs, nextTryAtMs } = outlook;
  const coming = Math.min(outlook.coming, free);
  const until = (atMs: number | null) => (atMs === null ? null : Math.max(0, atMs - nowMs));
  return {
    ...{ coming, joined, obstacle: obstacleOf(outlook, free) },
    comingForMs: coming === 0 || sinceMs === null ? null : Math.max(0, nowMs - sinceMs),
    expectedInMs: coming === 0 ? null : until(expectedMs),
    nextTryInMs: until(nextTryAtMs),
  };
}

/** Bounds by user are those of all upstreams together; hosts that this hub needs itself, or may not lend, are a bound, too. */
function obstacleOf({ obstacle }: RecipeOutlook, free: number): RecipeObstacle | null {
  if (obstacle === 'USER_ALLOCATIONS') return 'MAX_ALLOCATIONS';
  if (obstacle === 'USER_HOST_HOURS') return 'HOST_HOURS';
  return obstacle ?? (free === 0 ? 'MAX_ALLOCATIONS' : null);
}
