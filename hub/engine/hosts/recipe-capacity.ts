/** Hosts that the recipes of this hub, and of the hubs that have joined it, can bring for upstreams. */
import type { Clock } from '@workbench-hub/shared/runtime/runtime';
import type { RecipeOutlook } from '../../core/host-outlook.js';
import { usableMs } from '../../core/hosts/host-end.js';
import type { ClassOfHost } from '../../core/hosts/host-recipe.js';
import { instancesOfJoined, joinedOutlook, joinedRecipeName } from '../../core/hosts/joined-recipe.js';
import type { HostOutlook } from './host-outlook.js';
import type { HostPlanner } from './host-planner.js';
import type { JoinedRecipes } from './joined-recipes.js';

export interface RecipeCapacityOptions {
  readonly planner: Pick<HostPlanner, 'recipes' | 'freeOf'>;
  readonly joined: Pick<JoinedRecipes, 'all'>;
  readonly outlook: Pick<HostOutlook, 'ofRecipes'>;
  readonly clock: Clock;
}

/** A recipe, and the number of its hosts, coming or possible, that no task of this hub needs. */
export interface SpareRecipe {
  readonly name: string;
  readonly instances: readonly ClassOfHost[];
  readonly usableMs: number;
  readonly free: number;
  readonly outlook: RecipeOutlook;
}

export class RecipeCapacity {
  readonly #options: RecipeCapacityOptions;

  constructor(options: RecipeCapacityOptions) {
    this.#options = options;
  }

  /** All recipes, as of the last look of the hub with the role of the scheduler. Rejects as the store does. */
  async all(): Promise<SpareRecipe[]> {
    const { planner, joined, outlook, clock } = this.#options;
    const { recipes } = planner;
    const outlooks = recipes.length === 0 ? [] : await outlook.ofRecipes();
    const own = recipes.flatMap((recipe) => {
      const { name, instances } = recipe;
      const found = outlooks.find((each) => each.recipe === name);
      return found
        ? [{ name, instances, usableMs: usableMs(recipe), free: planner.freeOf(name), outlook: found }]
        : [];
    });
    const ofJoined = joined.all().map((each) => {
      const name = joinedRecipeName(each);
      const free = Math.min(planner.freeOf(name), each.lent.free);
      const outlook = joinedOutlook(each, 0, clock.nowMs());
      return { ...{ name, free, outlook }, instances: instancesOfJoined(each), usableMs: each.lent.usableMs };
    });
    return [...own, ...ofJoined];
  }
}
