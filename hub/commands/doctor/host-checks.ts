/** Checks of the recipes of hosts: whether each workload manager would take their jobs. */
import { type Finding, fault, ok } from '@workbench-hub/shared/checks/finding';
import type { HubConfig } from '../../config.js';
import { WorkloadManagerError } from '../../core/ports/workload-manager.js';
import type { HostRecipeConfig } from '../../hosts-config.js';
import { managerOf } from '../../recipe-manager.js';

/** Asks the workload manager of each recipe, one after the other; no job runs. A call takes half a minute at most. */
export async function checkHostRecipes(
  { hosts }: Pick<HubConfig, 'hosts'>,
  surroundings: Parameters<typeof managerOf>[1],
): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const recipe of hosts) {
    const manager = managerOf(recipe, surroundings);
    findings.push(await findingOf(`hosts ${recipe.name}`, recipe, () => manager.check()));
  }
  return findings;
}

async function findingOf(
  check: string,
  { manager, folder }: HostRecipeConfig,
  ask: () => Promise<string | null>,
): Promise<Finding> {
  try {
    const reason = await ask();
    if (reason !== null)
      return fault(
        check,
        `${manager.kind} takes no job of this recipe: ${reason}`,
        'correct what it names, in "hosts" of the configuration or at the workload manager',
      );
    if (manager.kind === 'command' && manager.check === null)
      return ok(
        check,
        `${folder} can be written; "manager.check" is not configured, so nothing else was asked`,
      );
    return ok(check, `${manager.kind} takes its jobs, and ${folder} can be written`);
  } catch (error) {
    if (!(error instanceof WorkloadManagerError)) throw error;
    return fault(
      check,
      `${manager.kind} does not answer: ${error.message}`,
      'start the workload manager, or correct "manager" of the recipe; while it is away, no hosts come, and those that run go on',
    );
  }
}
