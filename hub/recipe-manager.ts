/** The workload manager that a recipe of hosts configures. */
import { STOP_BEFORE_MS } from './core/hosts/host-end.js';
import type { WorkloadManager } from './core/ports/workload-manager.js';
import type { HostRecipeConfig } from './hosts-config.js';
import {
  openWorkloadManager,
  type WorkloadManagerOptions,
} from './workload-managers/open-workload-manager.js';

/** Opens the workload manager of a recipe, as {@link openWorkloadManager} does. */
export function managerOf(
  { manager, folder, scratch, agent, wallTime }: HostRecipeConfig,
  surroundings: Pick<WorkloadManagerOptions, 'environment' | 'runtime'>,
): WorkloadManager {
  // The ids of instances are unique in the cluster.
  const agentConfigOf = (name: string) => ({
    ...agent.config.given,
    id: name,
    hub: agent.hub,
    instances: agent.instances.given.map((instance) => ({ ...instance, id: `${name}-${instance['id']}` })),
    stopAfter: `${Math.floor((wallTime - STOP_BEFORE_MS) / 1000)}s`,
  });
  return openWorkloadManager({
    ...{ manager, ...surroundings },
    allocation: { folder, scratch, agentCommand: agent.command, agentConfigOf, wallTimeMs: wallTime },
  });
}
