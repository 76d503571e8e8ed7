/** Report from the profiles of a workload: a flame graph of each type of process, and the table of costs. */
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { WorkloadResult } from '../run-workload.js';
import { costsOf, type StepCost, type Where } from './costs.js';
import { flameGraph } from './flame-graph.js';
import { stacksIn } from './profile.js';

/** Names of the folders in which the processes leave their profiles, and of the processes in the results. */
const PLACES: readonly { where: Where; folder: RegExp; use: RegExp }[] = [
  { where: 'hub', folder: /^hub$/, use: /^hub: hub$/ },
  { where: 'agents', folder: /^agent-/, use: /^hub: agent / },
  { where: 'instances', folder: /^instances$/, use: /^hub: processes of agent / },
];

const CPU_FIGURE = 'hub: CPU for each task';
const RATE_FIGURES = new Set(['hub: tasks', 'hub: creates', 'hub: round trips']);

/** Draws the profiles in `folder` (`hub.svg`, `agents.svg`, `instances.svg`); gives the costs, none where the workload counts
 *  no tasks. */
export function reportProfiles(folder: string, result: WorkloadResult): StepCost[] {
  if (!existsSync(folder)) return [];
  const { figures, processes } = result;
  const cpuMs = figures.find(({ name }) => name === CPU_FIGURE)?.median;
  const perS = figures.find(({ name }) => RATE_FIGURES.has(name))?.median;
  const cpuSOf = (pattern: RegExp) =>
    processes.filter(({ name }) => pattern.test(name)).reduce((sum, { cpuS }) => sum + cpuS, 0);
  const allS = cpuSOf(/^hub: /);
  const isCounted = cpuMs !== undefined && perS !== undefined;
  const lastMs = isCounted ? (allS * 1000 * 1000) / cpuMs / perS : Number.POSITIVE_INFINITY;
  return PLACES.flatMap(({ where, folder: pattern, use }) => {
    const folders = readdirSync(folder).filter((name) => pattern.test(name));
    const stacks = folders.flatMap((name) => stacksIn(join(folder, name), lastMs));
    if (stacks.length === 0) return [];
    writeFileSync(join(folder, `${where}.svg`), flameGraph(`${result.workload}: ${where}`, stacks));
    return isCounted ? costsOf(where, stacks, (cpuSOf(use) / allS) * cpuMs * 1000) : [];
  });
}
