/** Host-hours of a recipe beside those that its allocations have run. */
import type { Allocation } from './allocation.js';
import type { HostRecipe } from './host-recipe.js';

const HOUR_MS = 3_600_000;

/** Host-hours that open allocations may still run, which count against the bound, too. */
export function reservedHostHours(
  open: readonly Pick<Allocation, 'startedAtMs'>[],
  { wallTimeMs }: Pick<HostRecipe, 'wallTimeMs'>,
  nowMs: number,
): number {
  const restMs = open.map(({ startedAtMs }) =>
    startedAtMs === null ? wallTimeMs : Math.max(0, startedAtMs + wallTimeMs - nowMs),
  );
  return restMs.reduce((sum, each) => sum + each, 0) / HOUR_MS;
}
