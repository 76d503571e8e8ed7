/** Host-hours of a recipe beside those that its allocations have run. */
import type { Allocation } from './allocation.js';
import { endMsOf } from './host-end.js';
import type { HostRecipe } from './host-recipe.js';

const HOUR_MS = 3_600_000;

/** Host-hours that open allocations may still run, which count against the bound, too. */
export function reservedHostHours(
  open: readonly Pick<Allocation, 'startedAtMs' | 'endsAtMs'>[],
  { wallTimeMs }: Pick<HostRecipe, 'wallTimeMs'>,
  nowMs: number,
): number {
  const restMs = open.map((allocation) => {
    const endMs = endMsOf(allocation, wallTimeMs);
    return endMs === null ? wallTimeMs : Math.max(0, endMs - nowMs);
  });
  return restMs.reduce((sum, each) => sum + each, 0) / HOUR_MS;
}

/** Host-hours of a recipe by user: those that ran, and those that its open allocations may still run. */
export function hostHoursByUser(
  open: readonly Pick<Allocation, 'startedAtMs' | 'endsAtMs' | 'forUser'>[],
  recipe: Pick<HostRecipe, 'name' | 'wallTimeMs'>,
  ran: readonly { readonly recipe: string; readonly forUser: string; readonly ranMs: number }[],
  nowMs: number,
): ReadonlyMap<string, number> {
  const hours = new Map<string, number>();
  const add = (user: string, amount: number) => hours.set(user, (hours.get(user) ?? 0) + amount);
  for (const { recipe: name, forUser, ranMs } of ran) if (name === recipe.name) add(forUser, ranMs / HOUR_MS);
  for (const allocation of open)
    if (allocation.forUser !== null) add(allocation.forUser, reservedHostHours([allocation], recipe, nowMs));
  return hours;
}
