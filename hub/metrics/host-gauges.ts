/** Gauges of the recipes of hosts, which are the same at all hubs of a store. */
import { type Allocation, isQueued, OPEN_ALLOCATION_STATES } from '../core/hosts/allocation.js';
import type { HostRecipe } from '../core/hosts/host-recipe.js';
import type { HubMetrics } from './hub-metrics.js';
import { whileAsked } from './while-asked.js';

/** A recipe, as far as gauges tell of it. */
export interface ObservedRecipe {
  readonly recipe: Pick<HostRecipe, 'name' | 'wallTimeMs' | 'limits' | 'instances'>;
  readonly pausedBy: string | null;
  readonly isReachable: boolean;
  readonly failed: { readonly count: number };
  readonly hostHours: number;
  readonly reservedHostHours: number;
  readonly allocations: readonly Pick<Allocation, 'state'>[];
}

const HOUR_S = 3600;

export function observeHosts(
  metrics: Pick<HubMetrics, 'observe' | 'observeAll'>,
  ask: () => Promise<readonly ObservedRecipe[]>,
): void {
  const all = whileAsked(ask);
  /** Leaves out a recipe without a value. */
  const observe = (name: string, help: string, measure: (view: ObservedRecipe) => number | null) =>
    metrics.observe(`hosts_${name}`, help, 'recipe', async () =>
      Object.fromEntries(
        (await all()).flatMap((view) => {
          const value = measure(view);
          return value === null ? [] : [[view.recipe.name, value]];
        }),
      ),
    );
  metrics.observeAll(
    'hosts_allocations',
    'Open allocations of a recipe, by state.',
    ['recipe', 'state'],
    async () =>
      (await all()).flatMap(({ recipe, allocations }) =>
        OPEN_ALLOCATION_STATES.map((state) => ({
          labels: [recipe.name, state],
          value: allocations.filter((each) => each.state === state).length,
        })),
      ),
  );
  observe('instances_coming', 'Instances of allocations whose agents have not joined.', instancesComing);
  observe(
    'ran_seconds',
    'Time that the hosts of a recipe ran within the last 24 hours.',
    ({ hostHours }) => hostHours * HOUR_S,
  );
  observe(
    'reserved_seconds',
    'Time that the open allocations of a recipe may still run.',
    ({ reservedHostHours }) => reservedHostHours * HOUR_S,
  );
  observe('bound_seconds', 'Bound of the time that hosts of a recipe run within 24 hours.', ({ recipe }) => {
    const { hostHoursPerDay } = recipe.limits;
    return hostHoursPerDay === null ? null : hostHoursPerDay * HOUR_S;
  });
  observe(
    'wall_time_seconds',
    'Time of one allocation of a recipe.',
    ({ recipe: { wallTimeMs } }) => wallTimeMs / 1000,
  );
  observe('failures_in_a_row', 'Failed starts of a recipe in a row.', ({ failed }) => failed.count);
  observe('paused', '1 while an administrator has paused the recipe.', ({ pausedBy }) =>
    pausedBy === null ? 0 : 1,
  );
  observe('manager_up', '0 while the workload manager of a recipe does not answer.', ({ isReachable }) =>
    isReachable ? 1 : 0,
  );
}

function instancesComing({ recipe: { instances }, allocations }: ObservedRecipe): number {
  const each = instances.reduce((sum, { count }) => sum + count, 0);
  return each * allocations.filter((one) => isQueued(one) || one.state === 'STARTED').length;
}
