/** Recipes of hosts, with the workload managers that they are for. */
import { expandedIds } from '@workbench-hub/shared/config/instances';
import type { ConfiguredRecipe } from '../engine/hosts/build-hosts.js';
import { drainBeforeMs, type HostRecipeConfig } from '../hosts-config.js';
import { managerOf } from '../recipe-manager.js';
import type { Setup } from './setup.js';

export function openHostRecipes(
  setup: Pick<Setup, 'config' | 'environment' | 'runtime'>,
): ConfiguredRecipe[] {
  return setup.config.hosts.map((configured) => {
    const { name, agent, wallTime, max, idleTimeout, startTimeout } = configured;
    const instances = agent.instances.parsed.map((instance) => {
      const { version, labels } = instance;
      const ids = expandedIds(instance);
      // Unknown until an agent has joined; bundles exist only where some program runs them.
      const runs = { points: true } as const;
      return { instanceClass: { version, labels, runs }, count: ids.length, ids };
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

/** Settings of the workload manager without those by which recipes at the same one differ, as text. */
function keyOf({ manager }: HostRecipeConfig): string {
  return JSON.stringify({ ...manager, options: null, submit: null });
}
