/** Cost of a task by part of the code, from the profiles of a workload. */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { WorkloadResult } from '../run-workload.js';
import { costsOf, type PartCost, type Where } from './costs.js';
import { stacksIn } from './profile.js';

/** Names of the folders in which the processes leave their profiles, and of the processes in the results. */
const PLACES: readonly { where: Where; folder: RegExp; use: RegExp }[] = [
  { where: 'hub', folder: /^hub$/, use: /^hub: hub$/ },
  { where: 'agents', folder: /^agent-/, use: /^hub: agent / },
  { where: 'instances', folder: /^instances$/, use: /^hub: processes of agent / },
];

const CPU_FIGURE = 'hub: CPU for each task';
const RATE_FIGURES = new Set(['hub: tasks', 'hub: creates', 'hub: round trips']);

/** Costs from the profiles in `folder`; none where the workload counts no tasks. */
export function costsFromProfiles(folder: string, result: WorkloadResult): PartCost[] {
  if (!existsSync(folder)) return [];
  const { figures, processes } = result;
  const cpuMs = figures.find(({ name }) => name === CPU_FIGURE)?.median;
  const perS = figures.find(({ name }) => RATE_FIGURES.has(name))?.median;
  const cpuSOf = (pattern: RegExp) =>
    processes.filter(({ name }) => pattern.test(name)).reduce((sum, { cpuS }) => sum + cpuS, 0);
  const allS = cpuSOf(/^hub: /);
  if (cpuMs === undefined || perS === undefined) return [];
  const lastMs = (allS * 1000 * 1000) / cpuMs / perS;
  return PLACES.flatMap(({ where, folder: pattern, use }) => {
    const folders = readdirSync(folder).filter((name) => pattern.test(name));
    const stacks = folders.flatMap((name) => stacksIn(join(folder, name), lastMs));
    return costsOf(where, stacks, (cpuSOf(use) / allS) * cpuMs * 1000);
  });
}
