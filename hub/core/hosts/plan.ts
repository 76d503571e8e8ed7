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
  /** Whether its latest start has failed: then it is tried by one allocation at a time. */
  readonly isTried: boolean;
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
/** Median run time up to which a busy instance is expected to be free again before another host could be there. */
const SOON_FREE_MS = WORK_OF_AN_INSTANCE_MS / 4;

/** Instances that the tasks of a group still need. */
interface Need {
  readonly group: WaitingGroup;
  /** By recipe, of the tasks that it has time for. */
  readonly instancesFor: ReadonlyMap<string, number>;
  /** Instances of allocations that were counted for the group, by recipe. */
  readonly counted: Map<string, number>;
  /** All that is left. */
  left: number;
}

export function planHosts(
  groups: readonly WaitingGroup[],
  supply: readonly Supply[],
  recipes: readonly PlannedRecipe[],
): HostPlan {
  const needs = groups.map(needOf);
  const soonFree = needs.filter(({ group: { medianMs } }) => medianMs !== null && medianMs <= SOON_FREE_MS);
  for (const { instanceClass, idle, busy } of supply) {
    take(needs, instanceClass, idle);
    take(soonFree, instanceClass, busy);
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

function needOf(group: WaitingGroup): Need {
  const { waitingFor, medianMs } = group;
  const instancesFor = new Map(
    [...waitingFor].map(([recipe, waiting]) => [recipe, instancesNeeded(waiting, medianMs)]),
  );
  return { group, instancesFor, counted: new Map(), left: Math.max(0, ...instancesFor.values()) };
}

/** One instance for each task, or, of short ones, as many as work them off within a minute. */
function instancesNeeded(waiting: number, medianMs: number | null): number {
  if (medianMs === null) return waiting;
  return Math.min(waiting, Math.ceil((waiting * medianMs) / WORK_OF_AN_INSTANCE_MS));
}

/** Gives instances of a class to the groups that it fits, up to what a recipe has time for if they are of one; returns how many found one. */
function take(needs: readonly Need[], instanceClass: InstanceClass, count: number, recipe?: string): number {
  let left = count;
  for (const need of needs) {
    if (left === 0) break;
    if (need.left === 0 || !fits(need.group.requirement, instanceClass)) continue;
    const taken = Math.min(left, recipe === undefined ? need.left : leftFor(need, recipe));
    need.left -= taken;
    left -= taken;
    if (recipe !== undefined) need.counted.set(recipe, (need.counted.get(recipe) ?? 0) + taken);
  }
  return count - left;
}

/** Instances that the group still needs of a recipe: tasks that it has no time for are left to recipes with more time, and tasks that recipes
 *  with less time were counted for are not counted again. */
function leftFor({ instancesFor, counted, left }: Need, recipe: string): number {
  const needed = instancesFor.get(recipe) ?? 0;
  let taken = 0;
  for (const [other, count] of counted) if ((instancesFor.get(other) ?? 0) <= needed) taken += count;
  return Math.max(0, Math.min(left, needed - taken));
}

/** Gives the instances that are coming to the groups; returns the allocations of which none is needed, newest first. */
function cover(needs: readonly Need[], { recipe, allocations, starting }: PlannedRecipe): Allocation[] {
  const unneeded: Allocation[] = [];
  for (const allocation of allocations) {
    if (allocation.state === 'DRAINING') continue;
    if (allocation.state === 'JOINED') {
      let left = starting.get(allocation.id) ?? 0;
      for (const { instanceClass, count } of recipe.instances) {
        const coming = Math.min(left, count);
        take(needs, instanceClass, coming, recipe.name);
        left -= coming;
      }
      continue;
    }
    const taken = recipe.instances.map(({ instanceClass, count }) =>
      take(needs, instanceClass, count, recipe.name),
    );
    if (isQueued(allocation) && taken.every((count) => count === 0)) unneeded.push(allocation);
  }
  return unneeded.reverse();
}

/** Further allocations for which a recipe has host-hours. */
export function roomByHours({ limits, wallTimeMs }: HostRecipe, hostHours: number): number {
  if (limits.hostHoursPerDay === null) return Number.POSITIVE_INFINITY;
  return Math.floor((limits.hostHoursPerDay - hostHours) / (wallTimeMs / 3_600_000));
}

/** Further allocations that the limits of a recipe permit. */
function roomOf({ recipe, allocations, isHeld, isTried, hostHours }: PlannedRecipe): number {
  if (isHeld) return 0;
  const { limits } = recipe;
  const queued = allocations.filter(isQueued).length;
  const coming = allocations.filter(({ state }) => state !== 'JOINED' && state !== 'DRAINING').length;
  const byTries = isTried ? 1 - coming : Number.POSITIVE_INFINITY;
  return Math.max(
    0,
    Math.min(
      limits.allocations - allocations.length,
      limits.queued - queued,
      roomByHours(recipe, hostHours),
      byTries,
    ),
  );
}

/** Gives the instances of a new allocation to the groups; returns why it is needed, or undefined when it is not. */
function takeAllocation(needs: readonly Need[], recipe: HostRecipe): string | undefined {
  const first = needs.find(
    (need) =>
      leftFor(need, recipe.name) > 0 &&
      recipe.instances.some(({ instanceClass }) => fits(need.group.requirement, instanceClass)),
  );
  if (!first) return undefined;
  const waiting = first.group.waitingFor.get(recipe.name) ?? 0;
  for (const { instanceClass, count } of recipe.instances) take(needs, instanceClass, count, recipe.name);
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
