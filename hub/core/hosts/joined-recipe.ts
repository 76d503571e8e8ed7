/** Recipes of hosts of joined hubs, as this hub plans with them and explains them (decision 0099). */
import type { LentRecipe } from '@workbench-hub/shared/domain/lent-recipe';
import type { RecipeOutlook } from '../host-outlook.js';
import { usableMs } from './host-end.js';
import type { ClassOfHost } from './host-recipe.js';
import type { PlannedRecipe } from './plan.js';

/** A recipe of a joined hub, as it was described at `atMs`. */
export interface JoinedRecipe {
  /** Agent id of the hub that has joined. */
  readonly agentId: string;
  readonly lent: LentRecipe;
  /** In milliseconds since 1970. */
  readonly atMs: number;
}

/** Time of an allocation that is not usable, when nothing else is known. */
const UNUSABLE_MS = -usableMs({ wallTimeMs: 0, drainBeforeMs: 0 });

/** Name of the recipe at this hub. */
export function joinedRecipeName({ agentId, lent }: Pick<JoinedRecipe, 'agentId' | 'lent'>): string {
  return `${agentId}:${lent.name}`;
}

/** Instances of a host of the recipe. */
export function instancesOfJoined({ lent }: JoinedRecipe): ClassOfHost[] {
  return lent.instances.map(({ count, ...instanceClass }) => ({ instanceClass, count }));
}

/** The recipe with as many hosts as the joined hub can bring for others, at most `limit`. It counts those that are coming itself. */
export function plannedJoinedRecipe(joined: JoinedRecipe, limit: number): PlannedRecipe {
  const { usableMs } = joined.lent;
  const free = Math.min(joined.lent.free, limit);
  return {
    recipe: {
      name: joinedRecipeName(joined),
      instances: instancesOfJoined(joined),
      wallTimeMs: usableMs + UNUSABLE_MS,
      drainBeforeMs: 0,
      limits: { allocations: free, queued: free, hostHoursPerDay: null },
    },
    allocations: [],
    starting: new Map(),
    isHeld: false,
    isTried: false,
    hostHours: 0,
    hostHoursOf: new Map(),
  };
}

/** The outlook on hosts of the recipe for a task that is expected to take `timeMs`. */
export function joinedOutlook(joined: JoinedRecipe, timeMs: number, nowMs: number): RecipeOutlook {
  const { lent, atMs } = joined;
  const at = (inMs: number | null) => (inMs === null || atMs + inMs < nowMs ? null : atMs + inMs);
  return {
    recipe: joinedRecipeName(joined),
    coming: lent.coming,
    joined: lent.joined,
    sinceMs: lent.comingForMs === null ? null : atMs - lent.comingForMs,
    expectedMs: at(lent.expectedInMs),
    obstacle: timeMs > lent.usableMs ? 'TIME' : lent.obstacle,
    nextTryAtMs: at(lent.nextTryInMs),
  };
}
