/** Recipes of hosts, with the workload managers that they are for. */
import { expandedIds } from '@workbench-hub/shared/config/instances';
import { STOP_BEFORE_MS } from '../core/hosts/host-end.js';
import type { ConfiguredRecipe } from '../engine/hosts/build-hosts.js';
import { drainBeforeMs, type HostRecipeConfig } from '../hosts-config.js';
import { openWorkloadManager } from '../workload-managers/open-workload-manager.js';
import type { Setup } from './setup.js';

type Surroundings = Pick<Setup, 'config' | 'environment' | 'runtime'>;

export function openHostRecipes(setup: Surroundings): ConfiguredRecipe[] {
  return setup.config.hosts.map((configured) => {
    const { name, agent, wallTime, max, idleTimeout, startTimeout } = configured;
    const instances = agent.instances.parsed.map((instance) => {
      const { version, labels } = instance;
      return { instanceClass: { version, labels, runs: undefined }, count: expandedIds(instance).length };
    });
    const recipe = {
      name,
      manager: configured.manager.kind,
      managerKey: keyOf(configured),
      instances,
      wallTimeMs: wallTime,
      limits: max,
      idleMs: idleTimeout,
      joinWithinMs: startTimeout,
      drainBeforeMs: drainBeforeMs(configured),
    };
    return { recipe, manager: managerOf(configured, setup) };
  });
}

/** Settings of the workload manager without the options of the recipe, as text. */
function keyOf({ manager }: HostRecipeConfig): string {
  return JSON.stringify({ ...manager, options: null });
}

function managerOf(
  { manager, folder, scratch, agent, wallTime }: HostRecipeConfig,
  { environment, runtime }: Surroundings,
) {
  // The ids of instances are unique in the cluster.
  const agentConfigOf = (name: string) => ({
    ...agent.config,
    id: name,
    hub: agent.hub,
    instances: agent.instances.given.map((instance) => ({ ...instance, id: `${name}-${instance['id']}` })),
    stopAfter: `${Math.floor((wallTime - STOP_BEFORE_MS) / 1000)}s`,
  });
  return openWorkloadManager({
    ...{ manager, environment, runtime },
    allocation: { folder, scratch, agentCommand: agent.command, agentConfigOf, wallTimeMs: wallTime },
  });
}
