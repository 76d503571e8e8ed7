/** Hosts that workload managers bring. */
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import type { HostRecipe } from '../../core/hosts/host-recipe.js';
import type { Allocations } from '../../core/ports/allocations.js';
import { type HostMetrics, NO_HOST_METRICS } from '../../core/ports/metrics.js';
import type { Cluster } from '../../core/ports/store.js';
import type { TaskQueue } from '../../core/ports/task-queue.js';
import type { WorkloadManager } from '../../core/ports/workload-manager.js';
import type { AgentDrains } from '../agents/agent-drains.js';
import type { Attempts } from '../agents/attempts.js';
import type { Instances } from '../instances/instances.js';
import type { HostEnds } from '../scheduling/host-ends.js';
import type { ShutdownPreparation } from '../scheduling/shutdown-preparation.js';
import { AllocationBook } from './allocation-book.js';
import { clusterJoinedRecipes } from './cluster-joined-recipes.js';
import { EndedAllocations } from './ended-allocations.js';
import { HostOutlook } from './host-outlook.js';
import { HostPlanner, type HostPlannerOptions } from './host-planner.js';
import { Hosts } from './hosts.js';
import { JoinedRecipes } from './joined-recipes.js';
import { RecipeCapacity } from './recipe-capacity.js';
import { RecipeDriver } from './recipe-driver.js';
import { RecipeViews } from './recipe-views.js';
import { ToldEnds } from './told-ends.js';
import { UpstreamWishes } from './upstream-wishes.js';

/** A recipe with the workload manager that it is for. */
export interface ConfiguredRecipe {
  readonly recipe: HostRecipe;
  readonly manager: WorkloadManager;
}

export interface HostPorts {
  readonly allocations: Allocations;
  readonly queue: TaskQueue;
  readonly cluster: Pick<Cluster, 'signals' | 'presence' | 'relay' | 'hubs'>;
  /** In the order in which they are asked for hosts; left out for none. */
  readonly hostRecipes?: readonly ConfiguredRecipe[] | undefined;
  /** Secret of the agent of an allocation; left out without recipes. */
  readonly allocationCredential?: ((id: string) => string) | undefined;
  readonly hostMetrics?: HostMetrics;
  readonly runtime: Runtime;
  readonly log: Logger;
}

/** The subjects that were built before. */
interface Before {
  readonly instances: Instances;
  readonly attempts: Attempts;
  readonly drains: AgentDrains;
  readonly shutdown: ShutdownPreparation;
  readonly hostEnds: HostEnds;
  /** Whose tasks an instance takes. */
  readonly takesTasksOf: HostPlannerOptions['takesTasksOf'];
}

/** Characters of the last part of a name, which are those of an id that are random. */
const NAME_LENGTH = 12;

export function buildHosts(
  ports: HostPorts,
  before: Before,
): {
  readonly hosts: Hosts;
  readonly recipeViews: RecipeViews;
  readonly hostOutlook: HostOutlook;
  readonly recipeCapacity: RecipeCapacity;
  readonly upstreamWishes: UpstreamWishes;
} {
  const {
    allocations,
    queue,
    cluster,
    hostRecipes = [],
    hostMetrics = NO_HOST_METRICS,
    runtime,
    log,
  } = ports;
  const { instances, attempts, drains, shutdown, hostEnds, takesTasksOf } = before;
  const { clock } = runtime;
  const recipes = hostRecipes.map(({ recipe }) => recipe);
  const { presence, signals, relay, hubs } = cluster;
  const newName = (recipe: string) => `${recipe}-${runtime.newId().slice(-NAME_LENGTH)}`;
  const book = new AllocationBook({ ends: hostEnds, ...{ allocations, recipes, clock, newName, log } });
  const ended = new EndedAllocations({
    ...{ allocations, queue, attempts, drains, presence, instances, log },
  });
  const toldEnds = new ToldEnds({ relay, instances, clock, log });
  const drivers = new Map(
    hostRecipes.map(({ recipe, manager }) => {
      const driver = new RecipeDriver({
        ...{ recipe, manager, book, ended, toldEnds, allocations, runtime, log },
        metrics: hostMetrics.ofRecipe(recipe.name),
        credentialOf: (id) => ports.allocationCredential?.(id) ?? '',
        isConnected: (id) => instances.isConnected(id),
        isDrained: (id) => instances.drainOf(id) !== null,
        runningOn: async (id) => (await queue.runningOn(id)).length,
      });
      return [recipe.name, driver];
    }),
  );
  const wishes = new UpstreamWishes(clock);
  const joined = new JoinedRecipes({ relay, instances, clock, log });
  const planner = new HostPlanner({
    recipes,
    isPaused: () => shutdown.isPaused,
    ends: hostEnds,
    ...{ drivers, drains, book, ended, allocations, instances, queue, clock, joined, wishes, takesTasksOf },
  });
  const hosts = new Hosts({
    ...{ drivers, planner, joined, book, ended, toldEnds },
    isConnected: (id) => instances.isConnected(id),
    ...{ allocations, runtime, log },
  });
  for (const driver of drivers.values()) driver.onChange(hosts.wake);
  joined.onFirst(hosts.wake);
  wishes.onChange(hosts.wake);
  signals.hear(hosts.onSignal);
  const recipeViews = new RecipeViews({ recipes, allocations, asked: hosts.wake, clock });
  const hostOutlook = new HostOutlook({
    ...{ recipes, views: recipeViews, ends: hostEnds, clock },
    joined: clusterJoinedRecipes({ joined, instances, hubs, relay, clock }),
  });
  const recipeCapacity = new RecipeCapacity({ planner, joined, outlook: hostOutlook, clock });
  return { hosts, recipeViews, hostOutlook, recipeCapacity, upstreamWishes: wishes };
}
