/**
 * The plan of the allocations: how many more are wanted, and which are not needed. It compares the tasks that wait with the instances that are
 * free, busy and coming, group by group, and never counts an instance for two tasks at a time.
 */
import type { Requirement } from '@workbench-hub/shared/domain/classifier';
import { fits } from '@workbench-hub/shared/domain/matching';
import type { InstanceClass } from '../idle-instances.js';
import { type Allocation, isQueued } from './allocation.js';
import type { HostRecipe } from './host-recipe.js';

/** The waiting tasks of one requirement. */
export interface WaitingGroup {
  readonly requirement: Requirement;
  /** Number of tasks by recipe, as far as they end within the time of its allocations; at most as many as matter. */
  readonly waitingFor: ReadonlyMap<string, number>;
  /** Median run time of its tasks; null when it is not known. */
  readonly medianMs: number | null;
}

/** Instances of one class that belong to no allocation that is given back. */
export interface Supply {
  readonly instanceClass: InstanceClass;
  readonly idle: number;
  readonly busy: number;
}

export interface PlannedRecipe {
  readonly recipe: HostRecipe;
  /** Its open allocations, oldest first. */
  readonly allocations: readonly Allocation[];
  /** Number of instances, by allocation, that have joined and cannot work yet. */
  readonly starting: ReadonlyMap<string, number>;
  /** Whether no more may be wanted now. */
  readonly isHeld: boolean;
  /** Host-hours that began within the last 24 hours. */
  readonly hostHours: number;
}

export interface HostPlan {
  /** New allocations by recipe. */
  readonly wanted: readonly { readonly recipe: HostRecipe; readonly reason: string }[];
  /** Allocations that have not started and that no waiting task needs. */
  readonly surplus: readonly Allocation[];
}

/** Work that one instance is expected to take on before another host could be there. */
const WORK_OF_AN_INSTANCE_MS = 60_000;

/** Instances that the tasks of a group still need, by recipe. */
interface Need {
  readonly group: WaitingGroup;
  /** Instances that are needed; infinite where {@link left} has the number of tasks. */
  instances: number;
}

export function planHosts(
  groups: readonly WaitingGroup[],
  supply: readonly Supply[],
  recipes: readonly PlannedRecipe[],
): HostPlan {
  const needs = groups.map((group) => ({ group, instances: neededFor(group) }));
  for (const { instanceClass, idle, busy } of supply) {
    take(needs, instanceClass, idle);
    take(
      needs.filter(({ group }) => group.medianMs !== null),
      instanceClass,
      busy,
    );
  }
  const surplus: Allocation[] = [];
  for (const planned of recipes) surplus.push(...cover(needs, planned));
  const wanted: { recipe: HostRecipe; reason: string }[] = [];
  for (const planned of recipes) {
    const room = roomOf(planned);
    for (let count = 0; count < room; count++) {
      const reason = takeAllocation(needs, planned.recipe);
      if (reason === undefined) break;
      wanted.push({ recipe: planned.recipe, reason });
    }
  }
  return { wanted, surplus };
}

/** Instances for the tasks of a group: one for each task, or, of short ones, as many as work them off within a minute. */
function neededFor({ waitingFor, medianMs }: WaitingGroup): number {
  const waiting = Math.max(0, ...waitingFor.values());
  if (medianMs === null) return waiting;
  return Math.min(waiting, Math.ceil((waiting * medianMs) / WORK_OF_AN_INSTANCE_MS));
}

/** Gives instances of a class to the groups that it fits; returns how many found one. */
function take(needs: readonly Need[], instanceClass: InstanceClass, count: number): number {
  let left = count;
  for (const need of needs) {
    if (left === 0) break;
    if (need.instances === 0 || !fits(need.group.requirement, instanceClass)) continue;
    const taken = Math.min(left, need.instances);
    need.instances -= taken;
    left -= taken;
  }
  return count - left;
}

/** Gives the instances that are coming to the groups; returns the allocations of which none is needed, newest first. */
function cover(needs: readonly Need[], { recipe, allocations, starting }: PlannedRecipe): Allocation[] {
  const fitting = needs.filter(({ group }) => (group.waitingFor.get(recipe.name) ?? 0) > 0);
  const unneeded: Allocation[] = [];
  for (const allocation of allocations) {
    if (allocation.state === 'DRAINING') continue;
    if (allocation.state === 'JOINED') {
      let left = starting.get(allocation.id) ?? 0;
      for (const { instanceClass, count } of recipe.instances) {
        const coming = Math.min(left, count);
        take(fitting, instanceClass, coming);
        left -= coming;
      }
      continue;
    }
    const taken = recipe.instances.map(({ instanceClass, count }) => take(fitting, instanceClass, count));
    if (isQueued(allocation) && taken.every((count) => count === 0)) unneeded.push(allocation);
  }
  return unneeded.reverse();
}

/** Further allocations that the limits of a recipe permit. */
function roomOf({ recipe, allocations, isHeld, hostHours }: PlannedRecipe): number {
  if (isHeld) return 0;
  const { limits, wallTimeMs } = recipe;
  const queued = allocations.filter(isQueued).length;
  const hours = wallTimeMs / 3_600_000;
  const byHours =
    limits.hostHoursPerDay === null
      ? Number.POSITIVE_INFINITY
      : Math.floor((limits.hostHoursPerDay - hostHours) / hours);
  return Math.max(0, Math.min(limits.allocations - allocations.length, limits.queued - queued, byHours));
}

/** Gives the instances of a new allocation to the groups; returns why it is needed, or undefined when it is not. */
function takeAllocation(needs: readonly Need[], recipe: HostRecipe): string | undefined {
  const fitting = needs.filter(({ group }) => (group.waitingFor.get(recipe.name) ?? 0) > 0);
  const first = fitting.find(
    ({ group, instances }) =>
      instances > 0 && recipe.instances.some(({ instanceClass }) => fits(group.requirement, instanceClass)),
  );
  if (!first) return undefined;
  const waiting = first.group.waitingFor.get(recipe.name) ?? 0;
  for (const { instanceClass, count } of recipe.instances) take(fitting, instanceClass, count);
  return `${waiting} ${waiting === 1 ? 'task waits' : 'tasks wait'} for ${inWords(first.group.requirement)}`;
}

function inWords({ version, labels, modelType }: Requirement): string {
  const parts = [
    version === null ? 'any version' : `version ${version}`,
    ...(labels.length > 0 ? [`labels ${labels.join(', ')}`] : []),
    ...(modelType === undefined ? [] : [`models ${modelType}`]),
  ];
  return parts.join(', ');
}
