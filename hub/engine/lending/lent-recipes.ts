/** Recipes of hosts as this hub lends them to one upstream (decision 0099). */
import { type LentRecipe, MAX_LENT_RECIPES } from '@workbench-hub/shared/domain/lent-recipe';
import { chosenInstances } from '../../core/hosts/host-recipe.js';
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
    const instances = chosenInstances(recipe.name, recipe.instances, (profile) => mayBeLent(rule, profile));
    if (instances.length === 0 || recipe.usableMs <= 0) return [];
    return [
      {
        ...outlookOf(recipe, nowMs),
        name: recipe.name,
        instances: instances.map(({ instanceClass: { version, labels, runs }, count }) => ({
          ...{ version, labels, count },
          ...(runs && { runs }),
        })),
        usableMs: recipe.usableMs,
        free: Math.min(recipe.free, hostsWithin(room, instances)),
      },
    ];
  });
  return lent.slice(0, MAX_LENT_RECIPES);
}

/** Number of hosts with which no more than `room` instances are lent; the last may have more than it. */
function hostsWithin(room: number, instances: readonly { readonly count: number }[]): number {
  const ofHost = instances.reduce((sum, { count }) => sum + count, 0);
  return room === Number.POSITIVE_INFINITY ? room : Math.ceil(Math.max(0, room) / ofHost);
}

function outlookOf({ outlook }: SpareRecipe, nowMs: number) {
  const { coming, joined, sinceMs, expectedMs, obstacle, nextTryAtMs } = outlook;
  const until = (atMs: number | null) => (atMs === null ? null : Math.max(0, atMs - nowMs));
  return {
    ...{ coming, joined, obstacle },
    comingForMs: sinceMs === null ? null : Math.max(0, nowMs - sinceMs),
    expectedInMs: until(expectedMs),
    nextTryInMs: until(nextTryAtMs),
  };
}
