/**
 * The plan of the allocations: how many more are wanted, and which are not needed. It compares the tasks that wait with the instances that are
 * free, busy and coming, group by group, and never counts an instance for two tasks at a time.
 */
import { type Requirement, requirementKey } from '@workbench-hub/shared/domain/classifier';
import { fits } from '@workbench-hub/shared/domain/matching';
import type { InstanceClass } from '../idle-instances.js';
import { type Allocation, isQueued } from './allocation.js';
import type { ClassOfHost, HostRecipe } from './host-recipe.js';

/** Tasks that an instance takes: those of this hub, those of upstreams, or both. */
export type TakesTasksOf = 'OWN' | 'UPSTREAMS' | 'BOTH';

/** Facts of a recipe by which it is planned; one of a joined hub has no others. */
export interface RecipeToPlan extends Pick<HostRecipe, 'name' | 'wallTimeMs' | 'drainBeforeMs' | 'limits'> {
  readonly instances: readonly InstancesToPlan[];
}

export interface InstancesToPlan extends ClassOfHost {
  /** BOTH when it is left out. */
  readonly takes?: TakesTasksOf;
}

/** The waiting tasks of one requirement; of one user, if a recipe has bounds by user. */
export interface WaitingGroup {
  readonly requirement: Requirement;
  /** Name of the upstream that wants an instance for each task; left out for tasks of this hub. */
  readonly upstream?: string;
  /** Whether hosts that are coming are kept for it, and no more are wanted. */
  readonly isFading?: boolean;
  /** Empty for tasks without a creator; null for those of all users. */
  readonly forUser: string | null;
  /** Number of tasks by recipe, as far as they end within the time of its allocations; at most as many as matter. */
  readonly waitingFor: ReadonlyMap<string, number>;
  /** Median run time of its tasks; null when it is not known. */
  readonly medianMs: number | null;
}

/** Instances of one class that belong to no allocation that is given back. */
export interface Supply {
  readonly instanceClass: InstanceClass;
  /** BOTH when it is left out. */
  readonly takes?: TakesTasksOf;
  readonly idle: number;
  readonly busy: number;
}

export interface PlannedRecipe {
  readonly recipe: RecipeToPlan;
  /** Its open allocations, oldest first. */
  readonly allocations: readonly Allocation[];
  /** Number of instances, by allocation, that have joined and cannot work yet. */
  readonly starting: ReadonlyMap<string, number>;
  /** Whether no more may be wanted now. */
  readonly isHeld: boolean;
  /** Whether its latest start has failed: then it is tried by one allocation at a time. */
  readonly isTried: boolean;
  /** Whether its workload manager has not answered for a while: hosts that have not started there keep none from other recipes. */
  readonly isAway?: boolean;
  /** Ids of allocations that have been queued for long: their tasks may get a host of another recipe, too. */
  readonly delayed?: ReadonlySet<string>;
  /** Host-hours that began within the last 24 hours. */
  readonly hostHours: number;
  /** The same by user, of those that were wanted for a user. */
  readonly hostHoursOf: ReadonlyMap<string, number>;
}

/** An allocation to be wanted. */
export interface WantedAllocation {
  readonly recipe: RecipeToPlan;
  readonly reason: string;
  /** Null by a recipe without bounds by user. */
  readonly forUser: string | null;
  /** Its instances that tasks need, by requirement. */
  readonly needed: readonly InstancesNeeded[];
}

export interface InstancesNeeded {
  readonly requirement: Requirement;
  readonly count: number;
}

export interface HostPlan {
  /** New allocations by recipe. */
  readonly wanted: readonly WantedAllocation[];
  /** Allocations that have not started and that no waiting task needs. */
  readonly surplus: readonly Allocation[];
  /** Number of allocations by recipe that are coming, or may be wanted for nobody's tasks, and that no waiting task needs. */
  readonly free: ReadonlyMap<string, number>;
}

/** Tasks without a creator, such as those of upstreams. */
export const NOBODY = '';

const HOUR_MS = 3_600_000;
/** Work that one instance is expected to take on before another host could be there. */
const WORK_OF_AN_INSTANCE_MS = 60_000;
/** Median run time up to which a busy instance is expected to be free again before another host could be there. */
const SOON_FREE_MS = WORK_OF_AN_INSTANCE_MS / 4;

/** Instances that tasks still need. */
interface Demand {
  /** Number of tasks by recipe, of those that it has time for. */
  readonly waitingFor: ReadonlyMap<string, number>;
  /** Instances for them. */
  readonly instancesFor: ReadonlyMap<string, number>;
  /** Instances of allocations that were counted for them, by recipe. */
  readonly counted: Map<string, number>;
  /** All that is left. */
  left: number;
}

/** Need of a group: at most its own demand, and at most that of all users with the requirement. */
interface Need {
  readonly group: WaitingGroup;
  readonly own: Demand;
  readonly ofAll: Demand;
}

/** The plan. For the tasks of delayed allocations, another recipe may bring one host in addition. */
export function planHosts(
  groups: readonly WaitingGroup[],
  supply: readonly Supply[],
  recipes: readonly PlannedRecipe[],
): HostPlan {
  const plan = planCounting(groups, supply, recipes);
  const countingDelayedOf = (recipe: string | null) =>
    planCounting(
      groups,
      supply,
      recipes.map((planned) => (planned.recipe.name === recipe ? planned : withoutDelayed(planned))),
    );
  const { wanted, unneeded, free } = recipes.some(isDelayed) ? withOneMore(plan, countingDelayedOf) : plan;
  return { wanted, surplus: unneeded.filter(isQueued), free };
}

interface Counted extends Pick<HostPlan, 'wanted' | 'free'> {
  /** Allocations that have not joined and that no task needs, by recipe, newest first. */
  readonly unneeded: readonly Allocation[];
}

function planCounting(
  groups: readonly WaitingGroup[],
  supply: readonly Supply[],
  recipes: readonly PlannedRecipe[],
): Counted {
  const needs = needsOf(groups);
  const soonFree = needs.filter(({ group: { medianMs } }) => medianMs !== null && medianMs <= SOON_FREE_MS);
  for (const { idle, busy, ...ofClass } of supply) {
    take(needs, { ...ofClass, count: idle });
    take(soonFree, { ...ofClass, count: busy });
  }
  const delayedFirst = recipes.toSorted((a, b) => Number(isDelayed(b)) - Number(isDelayed(a)));
  const unneeded = new Map(delayedFirst.map((planned) => [planned, cover(needs, planned)]));
  const wanted: WantedAllocation[] = [];
  const free = new Map<string, number>();
  for (const planned of recipes) {
    const room = roomOf(planned);
    const users = new RoomByUser(planned);
    let count = 0;
    for (; count < room; count++) {
      const next = takeAllocation(needs, planned.recipe, users);
      if (next === undefined) break;
      wanted.push(next);
    }
    free.set(
      planned.recipe.name,
      Math.min(room - count, users.roomFor(NOBODY)) + (unneeded.get(planned)?.length ?? 0),
    );
  }
  return { wanted, unneeded: recipes.flatMap((planned) => unneeded.get(planned) ?? []), free };
}

function delayedOf({ delayed = new Set<string>() }: PlannedRecipe): readonly string[] {
  return [...delayed];
}

function isDelayed(planned: PlannedRecipe): boolean {
  return delayedOf(planned).length > 0;
}

/** A recipe as if its delayed allocations were not there; it brings no other ones for their tasks. */
function withoutDelayed(planned: PlannedRecipe): PlannedRecipe {
  if (!isDelayed(planned)) return planned;
  const delayed = delayedOf(planned);
  const allocations = planned.allocations.filter(({ id }) => !delayed.includes(id));
  return { ...planned, allocations, isHeld: true, delayed: new Set() };
}

/** The plan with one allocation beyond the need: one that tasks need if delayed allocations of other recipes are not counted. */
function withOneMore(plan: Counted, countingDelayedOf: (recipe: string | null) => Counted): Counted {
  const unneededOf = new Map(
    plan.unneeded.map(({ recipe }) => [recipe, countingDelayedOf(recipe).unneeded.map(({ id }) => id)]),
  );
  const more = plan.unneeded.findLast(({ id, recipe }) => !unneededOf.get(recipe)?.includes(id));
  if (more !== undefined)
    return {
      ...plan,
      unneeded: plan.unneeded.filter((each) => each !== more),
      free: withOneLess(plan.free, more.recipe),
    };
  if (plan.wanted.length > 0 || plan.unneeded.length > 0) return plan;
  const [first] = countingDelayedOf(null).wanted;
  return first === undefined
    ? plan
    : { ...plan, wanted: [first], free: withOneLess(plan.free, first.recipe.name) };
}

function withOneLess(free: Counted['free'], recipe: string): Counted['free'] {
  return new Map(free).set(recipe, Math.max(0, (free.get(recipe) ?? 0) - 1));
}

/** Short tasks of this hub are added up over the users of a requirement: those of many can share an instance. */
function needsOf(groups: readonly WaitingGroup[]): Need[] {
  const byRequirement = new Map<string, WaitingGroup[]>();
  for (const [at, group] of groups.entries()) {
    const key = group.upstream === undefined ? requirementKey(group.requirement) : `upstream ${at}`;
    const ofUsers = byRequirement.get(key) ?? [];
    byRequirement.set(key, ofUsers);
    ofUsers.push(group);
  }
  return [...byRequirement.values()].flatMap((ofUsers) => {
    const ofAll = demandOf(ofUsers);
    return ofUsers.map((group) => ({ group, own: demandOf([group]), ofAll }));
  });
}

function demandOf(groups: readonly WaitingGroup[]): Demand {
  const waitingFor = new Map<string, number>();
  for (const group of groups) {
    for (const [recipe, count] of group.waitingFor) add(waitingFor, recipe, count);
  }
  const medianMs = groups[0]?.medianMs ?? null;
  const instancesFor = new Map(
    [...waitingFor].map(([recipe, waiting]) => [recipe, instancesNeeded(waiting, medianMs)]),
  );
  return { waitingFor, instancesFor, counted: new Map(), left: Math.max(0, ...instancesFor.values()) };
}

/** One instance for each task, or, of short ones, as many as work them off within a minute. */
function instancesNeeded(waiting: number, medianMs: number | null): number {
  if (medianMs === null) return waiting;
  return Math.min(waiting, Math.ceil((waiting * medianMs) / WORK_OF_AN_INSTANCE_MS));
}

/** Gives instances of a class to the groups that it fits, up to what a recipe has time for if they are of one; returns how many found one. Adds
 *  them to `takenBy` by group, if it is given. */
function take(
  needs: readonly Need[],
  instances: InstancesToPlan,
  recipe?: string,
  takenBy?: Map<WaitingGroup, number>,
): number {
  let left = instances.count;
  for (const need of needs) {
    if (left === 0) break;
    const { group, own, ofAll } = need;
    if (!isFor(group, instances)) continue;
    const taken = Math.min(
      left,
      recipe === undefined ? Math.min(own.left, ofAll.left) : leftFor(need, recipe),
    );
    left -= taken;
    for (const demand of [own, ofAll]) {
      demand.left -= taken;
      if (recipe !== undefined) add(demand.counted, recipe, taken);
    }
    if (takenBy && taken > 0) add(takenBy, group, taken);
  }
  return instances.count - left;
}

/** Whether instances may take the tasks of a group. */
function isFor({ requirement, upstream }: WaitingGroup, instances: InstancesToPlan): boolean {
  const { instanceClass, takes = 'BOTH' } = instances;
  return takes !== (upstream === undefined ? 'UPSTREAMS' : 'OWN') && fits(requirement, instanceClass);
}

function add<Key>(sums: Map<Key, number>, key: Key, count: number): void {
  sums.set(key, (sums.get(key) ?? 0) + count);
}

/** Instances that the group still needs of a recipe. */
function leftFor({ own, ofAll }: Need, recipe: string): number {
  return Math.min(demandFor(own, recipe), demandFor(ofAll, recipe));
}

/** Demand for instances of a recipe: tasks that it has no time for are left to recipes with more time, and tasks that recipes
 *  with less time were counted for are not counted again. */
function demandFor({ instancesFor, counted, left }: Demand, recipe: string): number {
  const needed = instancesFor.get(recipe) ?? 0;
  let taken = 0;
  for (const [other, count] of counted) if ((instancesFor.get(other) ?? 0) <= needed) taken += count;
  return Math.max(0, Math.min(left, needed - taken));
}

/** Gives the instances that are coming to the groups; returns the allocations that have not joined of which none is needed, newest first. */
function cover(
  needs: readonly Need[],
  { recipe, allocations, starting, isAway = false }: PlannedRecipe,
): Allocation[] {
  const unneeded: Allocation[] = [];
  for (const allocation of allocations) {
    if (allocation.state === 'DRAINING') continue;
    if (allocation.state === 'JOINED') {
      let left = starting.get(allocation.id) ?? 0;
      for (const ofClass of recipe.instances) {
        const coming = Math.min(left, ofClass.count);
        take(needs, { ...ofClass, count: coming }, recipe.name);
        left -= coming;
      }
      continue;
    }
    if (isAway && isQueued(allocation)) continue;
    const ordered = ofUserFirst(needs, allocation.forUser);
    const taken = recipe.instances.map((ofHost) => take(ordered, ofHost, recipe.name));
    if (taken.every((count) => count === 0)) unneeded.push(allocation);
  }
  return unneeded.reverse();
}

/** Further allocations for which a recipe has host-hours. */
export function roomByHours({ limits, wallTimeMs }: RecipeToPlan, hostHours: number): number {
  if (limits.hostHoursPerDay === null) return Number.POSITIVE_INFINITY;
  return Math.floor((limits.hostHoursPerDay - hostHours) / (wallTimeMs / HOUR_MS));
}

/** Further allocations that the limits of a recipe permit. */
function roomOf({ recipe, allocations, isHeld, isTried, isAway, hostHours }: PlannedRecipe): number {
  if (isHeld || isAway) return 0;
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

/** Needs in the order in which an allocation that is wanted for a user is given to them. */
function ofUserFirst(needs: readonly Need[], user: string | null): readonly Need[] {
  if (user === null) return needs;
  const isOfUser = ({ group: { forUser } }: Need) => forUser === user;
  return [...needs.filter(isOfUser), ...needs.filter((need) => !isOfUser(need))];
}

/** Further allocations that the bounds by user of a recipe permit. */
class RoomByUser {
  readonly #planned: PlannedRecipe;
  /** Allocations that this plan wants. */
  readonly #wanted = new Map<string, number>();

  constructor(planned: PlannedRecipe) {
    this.#planned = planned;
  }

  /** Number of allocations for a user that are open or wanted. */
  countOf(user: string | null): number {
    if (user === null) return 0;
    const open = this.#planned.allocations.filter(({ forUser }) => forUser === user);
    return open.length + (this.#wanted.get(user) ?? 0);
  }

  has(user: string | null): boolean {
    if (user === null) return true;
    const { recipe, hostHoursOf } = this.#planned;
    const open = this.countOf(user);
    const wanted = this.#wanted.get(user) ?? 0;
    const hostHours = (hostHoursOf.get(user) ?? 0) + (wanted * recipe.wallTimeMs) / HOUR_MS;
    return userObstacle(recipe, { open, hostHours }) === null;
  }

  /** Number of further allocations for a user. */
  roomFor(user: string): number {
    const { recipe, hostHoursOf } = this.#planned;
    const { allocations = null, hostHoursPerDay = null } = recipe.limits.perUser ?? {};
    const byCount = allocations === null ? Number.POSITIVE_INFINITY : allocations - this.countOf(user);
    if (hostHoursPerDay === null) return Math.max(0, byCount);
    const hoursOfHost = recipe.wallTimeMs / HOUR_MS;
    const wanted = (this.#wanted.get(user) ?? 0) * hoursOfHost;
    const byHours = Math.floor((hostHoursPerDay - (hostHoursOf.get(user) ?? 0) - wanted) / hoursOfHost);
    return Math.max(0, Math.min(byCount, byHours));
  }

  take(user: string | null): void {
    if (user !== null) this.#wanted.set(user, (this.#wanted.get(user) ?? 0) + 1);
  }
}

/** Whether the bounds by user of a recipe permit another allocation, by recipe and user. */
export function roomByUser(
  recipes: readonly PlannedRecipe[],
): (recipe: string, user: string | null) => boolean {
  const rooms = new Map(recipes.map((planned) => [planned.recipe.name, new RoomByUser(planned)]));
  return (recipe, user) => rooms.get(recipe)?.has(user) ?? true;
}

/** Bound by user that keeps a recipe from one more allocation for a user with so many that are open, and host-hours; null for none. */
export function userObstacle(
  { limits: { perUser }, wallTimeMs }: RecipeToPlan,
  { open, hostHours }: { readonly open: number; readonly hostHours: number },
): 'USER_ALLOCATIONS' | 'USER_HOST_HOURS' | null {
  if (!perUser) return null;
  if (perUser.allocations !== null && open >= perUser.allocations) return 'USER_ALLOCATIONS';
  if (perUser.hostHoursPerDay === null) return null;
  return hostHours + wallTimeMs / HOUR_MS > perUser.hostHoursPerDay ? 'USER_HOST_HOURS' : null;
}

/** Gives the instances of a new allocation to the groups, beginning with the user for whom it is wanted: the one with the fewest so far,
 *  and upstreams last. Undefined when none is needed. */
function takeAllocation(
  needs: readonly Need[],
  recipe: RecipeToPlan,
  users: RoomByUser,
): WantedAllocation | undefined {
  const able = needs.filter(
    (need) =>
      !need.group.isFading &&
      leftFor(need, recipe.name) > 0 &&
      recipe.instances.some((instances) => isFor(need.group, instances)) &&
      users.has(need.group.forUser),
  );
  const ofHub = able.filter(({ group: { upstream } }) => upstream === undefined);
  const [first] = (ofHub.length > 0 ? ofHub : able).toSorted(
    (a, b) => users.countOf(a.group.forUser) - users.countOf(b.group.forUser),
  );
  if (!first) return undefined;
  const { group, own, ofAll } = first;
  const forUser = recipe.limits.perUser ? group.forUser : null;
  const waiting = (forUser === null ? ofAll : own).waitingFor.get(recipe.name) ?? 0;
  users.take(forUser);
  const ordered = ofUserFirst(needs, forUser);
  const takenBy = new Map<WaitingGroup, number>();
  for (const ofHost of recipe.instances) take(ordered, ofHost, recipe.name, takenBy);
  const needed = [...takenBy].map(([{ requirement }, count]) => ({ requirement, count }));
  return { recipe, reason: reasonFor(group, waiting), forUser, needed };
}

function reasonFor({ requirement, upstream }: WaitingGroup, waiting: number): string {
  if (upstream !== undefined) return `${upstream} wants ${waiting} of ${inWords(requirement)}`;
  return `${waiting} ${waiting === 1 ? 'task waits' : 'tasks wait'} for ${inWords(requirement)}`;
}

function inWords({ version, labels, modelType }: Requirement): string {
  const parts = [
    version === null ? 'any version' : `version ${version}`,
    ...(labels.length > 0 ? [`labels ${labels.join(', ')}`] : []),
    ...(modelType === undefined ? [] : [`models ${modelType}`]),
  ];
  return parts.join(', ');
}
