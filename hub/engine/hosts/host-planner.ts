/**
 * The planner of hosts: it compares what waits with what is there and coming, wants allocations, and drains those that are not needed, whose
 * time is nearly over, or whose agent does not join. One look wants nothing by itself: two in a row must.
 */
import type { Clock } from '@workbench-hub/shared/runtime/runtime';
import { SteadyTimes } from '@workbench-hub/shared/runtime/steady-times';
import { type Allocation, type AllocationCause, isQueued } from '../../core/hosts/allocation.js';
import { failedStarts } from '../../core/hosts/failed-starts.js';
import { endMsOf, usableMs } from '../../core/hosts/host-end.js';
import { hostHoursByUser, reservedHostHours } from '../../core/hosts/host-hours.js';
import { areOfRecipe, type HostRecipe, partedInstances } from '../../core/hosts/host-recipe.js';
import {
  type HostPlan,
  type PlannedRecipe,
  planHosts,
  roomByUser,
  type WaitingGroup,
  type WantedAllocation,
} from '../../core/hosts/plan.js';
import { classKey, type InstanceClass } from '../../core/idle-instances.js';
import type { Allocations, RecipeNote } from '../../core/ports/allocations.js';
import type { InstanceView } from '../../core/ports/nodes.js';
import type { AgentDrains } from '../agents/agent-drains.js';
import type { Instances } from '../instances/instances.js';
import type { AllocationBook } from './allocation-book.js';
import type { EndedAllocations } from './ended-allocations.js';
import { HostSupply, type HostSupplyOptions } from './host-supply.js';
import type { JoinedRecipes } from './joined-recipes.js';
import type { RecipeDriver } from './recipe-driver.js';
import { StartingInstances } from './starting-instances.js';
import type { UpstreamWishes } from './upstream-wishes.js';
import { readWaitingWork, type WaitingWorkOptions } from './waiting-work.js';

export interface HostPlannerOptions extends Omit<WaitingWorkOptions, 'hasRoom'>, HostSupplyOptions {
  readonly recipes: readonly HostRecipe[];
  /** By name of the recipe. */
  readonly drivers: ReadonlyMap<string, Pick<RecipeDriver, 'wake' | 'whyNotJoined'>>;
  readonly joined: Pick<JoinedRecipes, 'planned' | 'ask' | 'isExpecting'>;
  readonly wishes: Pick<UpstreamWishes, 'groups'>;
  readonly book: AllocationBook;
  readonly ended: Pick<EndedAllocations, 'add'>;
  readonly allocations: Pick<Allocations, 'latest' | 'ranSince' | 'ranForUsersSince' | 'notes'>;
  readonly instances: Pick<
    Instances,
    'list' | 'find' | 'findAgent' | 'isReady' | 'idleSinceMsOf' | 'awaitsLoan' | 'drainOf' | 'attemptOn'
  >;
  readonly drains: Pick<AgentDrains, 'drain'>;
  /** Whether no tasks are dispatched. */
  readonly isPaused: () => boolean;
  readonly clock: Clock;
}

/** Time until the next look while tasks wait or allocations are open, while joined hubs may lend recipes again soon, and otherwise. */
const LOOK_MS = 1000;
const EXPECTING_LOOK_MS = 5000;
const IDLE_LOOK_MS = 30_000;
const DAY_MS = 86_400_000;
/** Time within which waiting tasks find an idle instance, if there is one. */
const BETWEEN_LOOKS_MS = 500;
/** Time for which a queued allocation is not needed before it is given back. */
const SURPLUS_MS = 10_000;
/** Latest allocations of a recipe by which failures in a row are counted. */
const LATEST = 20;
/** Time without an answer after which hosts that a workload manager was asked for keep none from other recipes. */
const AWAY_FOR_LONG_MS = 120_000;
/** Time from the wish for an allocation after which it is delayed while its job is queued. */
const DELAYED_MS = 10 * 60_000;
/** Idle time of a host after which it is given back for another recipe whose allocations wait. */
const IDLE_FOR_OTHERS_MS = 10_000;

/** Notes by recipe. */
type Notes = ReadonlyMap<string, RecipeNote>;

export class HostPlanner {
  readonly #options: HostPlannerOptions;
  /** Number of allocations by recipe that the last look wanted, and its time. */
  #lastWanted = new Map<string, number>();
  #lastWantedAtMs = Number.NEGATIVE_INFINITY;
  /** Time since which an allocation is not needed. */
  readonly #surplusSinceMs = new Map<string, number>();
  /** Time since which no instance of an allocation that has joined is up. */
  readonly #uselessSinceMs = new Map<string, number>();
  readonly #startingInstances = new StartingInstances();
  readonly #supply: HostSupply;
  readonly #times: SteadyTimes;
  /** Instances of the agents of a recipe as they have joined, which know more than the configuration. */
  readonly #joinedInstances = new Map<string, HostRecipe['instances']>();
  /** Time since which the workload manager of a recipe does not answer. */
  readonly #awaySinceMs = new Map<string, number>();
  /** Time of the latest request to give all allocations back that this term has followed, by recipe; null before its first look. */
  #followedDrains: ReadonlyMap<string, number | null> | null = null;
  /** Allocations that an administrator has asked back and that do not drain yet: another change of theirs may have come first. */
  readonly #askedBack = new Set<string>();
  /** Allocations that were wanted since the requests were read. */
  readonly #justWanted = new Set<string>();
  /** Allocations by recipe, of this hub and of those that have joined, that the tasks of this hub did not need at the last look. */
  #free: ReadonlyMap<string, number> = new Map();

  constructor(options: HostPlannerOptions) {
    this.#options = options;
    this.#times = new SteadyTimes(options.clock);
    this.#supply = new HostSupply(options);
  }

  reset(): void {
    this.#lastWanted.clear();
    this.#lastWantedAtMs = Number.NEGATIVE_INFINITY;
    this.#surplusSinceMs.clear();
    this.#uselessSinceMs.clear();
    this.#supply.reset();
    this.#awaySinceMs.clear();
    this.#startingInstances.reset();
    this.#times.reset();
    this.#followedDrains = null;
    this.#askedBack.clear();
    this.#justWanted.clear();
    this.#free = new Map();
  }

  /** Number of allocations of a recipe that the tasks of this hub did not need at the last look, coming or possible. */
  freeOf(recipe: string): number {
    return this.#free.get(recipe) ?? 0;
  }

  /** One look. Resolves with the time until the next, unless it is needed earlier. Rejects as the store does. */
  async look(): Promise<number> {
    const { isPaused, book, joined } = this.#options;
    const notes = await this.#notes();
    await this.#lookAfterOpen(notes);
    const open = new Set(book.all.map(({ id }) => id));
    this.#startingInstances.keep(open);
    this.#times.keep(open);
    const planned = this.#parted([...(await this.#planned(notes)), ...joined.planned()]);
    const { groups, plan } = await this.#plan(planned);
    joined.ask(plan.wanted, groups.length > 0);
    await this.#wantAll(plan.wanted);
    if (!isPaused()) await this.#giveUpSurplus(plan.surplus);
    if (groups.length > 0 || book.all.length > 0) return LOOK_MS;
    return joined.isExpecting ? EXPECTING_LOOK_MS : IDLE_LOOK_MS;
  }

  /** The plan for the tasks that wait here, and for what upstreams want of what these leave. */
  async #plan(
    planned: readonly PlannedRecipe[],
  ): Promise<{ readonly groups: readonly WaitingGroup[]; readonly plan: HostPlan }> {
    const { isPaused, wishes } = this.#options;
    const supply = this.#supply.read();
    const own = isPaused() ? [] : await this.#waitingWork(planned);
    const ofUpstreams = isPaused() ? [] : wishes.groups();
    const plan = planHosts(own, supply, planned);
    this.#free = plan.free;
    if (ofUpstreams.length === 0) return { groups: own, plan };
    const groups = [...own, ...ofUpstreams];
    return { groups, plan: planHosts(groups, supply, planned) };
  }

  async #waitingWork(planned: readonly PlannedRecipe[]): Promise<WaitingGroup[]> {
    const { queue, ends } = this.#options;
    const forOwn = planned.map(({ recipe }) => ({
      ...recipe,
      instances: recipe.instances.filter(({ takes }) => takes !== 'UPSTREAMS'),
    }));
    ends.alsoFor(Math.max(0, ...forOwn.map(usableMs)));
    return readWaitingWork(forOwn, { queue, ends, hasRoom: roomByUser(planned) });
  }

  /** The recipes with their instances parted by whose tasks they take. */
  #parted(planned: readonly PlannedRecipe[]): PlannedRecipe[] {
    const { takesTasksOf } = this.#options;
    return planned.map((each) => {
      const { name, instances } = each.recipe;
      const parted = partedInstances(name, instances, takesTasksOf);
      const byTakers = parted.map(({ part: takes, ...ofClass }) => ({ ...ofClass, takes }));
      return { ...each, recipe: { ...each.recipe, instances: byTakers } };
    });
  }

  async #notes(): Promise<Notes> {
    const { recipes, allocations } = this.#options;
    if (recipes.length === 0) return new Map();
    return new Map((await allocations.notes()).map((note) => [note.recipe, note]));
  }

  /** Wants the allocations of the recipes of this hub that the last look wanted, too. */
  async #wantAll(wanted: readonly WantedAllocation[]): Promise<void> {
    const now = new Map<string, number>();
    for (const { recipe } of wanted) now.set(recipe.name, (now.get(recipe.name) ?? 0) + 1);
    for (const [name, count] of this.#wantedTwice(now))
      await this.#want(name, wanted.filter(({ recipe }) => recipe.name === name).slice(0, count));
  }

  /** Allocations by recipe that this look wants, and that the one before it wanted, some time ago. */
  #wantedTwice(now: ReadonlyMap<string, number>): Map<string, number> {
    const nowMs = this.#options.clock.monotonicMs();
    if (nowMs - this.#lastWantedAtMs < BETWEEN_LOOKS_MS) return new Map();
    const before = this.#lastWanted;
    this.#lastWanted = new Map(now);
    this.#lastWantedAtMs = nowMs;
    return new Map([...now].map(([name, count]) => [name, Math.min(count, before.get(name) ?? 0)]));
  }

  /** The recipes, with what their agents have said about their instances. */
  get recipes(): HostRecipe[] {
    return this.#options.recipes.map((recipe) => {
      const instances = this.#joinedInstances.get(recipe.name) ?? recipe.instances;
      return { ...recipe, instances };
    });
  }

  async #want(recipeName: string, wanted: readonly WantedAllocation[]): Promise<void> {
    const { recipes, book, drivers } = this.#options;
    const recipe = recipes.find(({ name }) => name === recipeName);
    if (!recipe || wanted.length === 0) return;
    // Together, so that they share a commit.
    await Promise.all(
      wanted.map(async (each) => {
        const allocation = await book.want(recipe, each);
        if (allocation) this.#justWanted.add(allocation.id);
      }),
    );
    drivers.get(recipeName)?.wake();
  }

  async #planned(notes: Notes): Promise<PlannedRecipe[]> {
    const { allocations, book, clock } = this.#options;
    const { recipes } = this;
    if (recipes.length === 0) return [];
    const nowMs = clock.nowMs();
    const ran = await allocations.ranSince(nowMs - DAY_MS, nowMs);
    const ranForUsers = recipes.some(({ limits }) => limits.perUser !== undefined)
      ? await allocations.ranForUsersSince(nowMs - DAY_MS, nowMs)
      : [];
    const planned: PlannedRecipe[] = [];
    for (const recipe of recipes) {
      const latest = await allocations.latest({ recipe: recipe.name, limit: LATEST, nowMs });
      const open = book.of(recipe.name);
      const note = notes.get(recipe.name);
      const failed = failedStarts([...open, ...latest], { resumedAtMs: note?.resumedAtMs ?? null, nowMs });
      const isAway = this.#isAwayForLong(recipe.name, note);
      const delayed = isAway ? [] : open.filter((each) => this.#isDelayed(each));
      planned.push({
        recipe,
        allocations: open,
        starting: this.#starting(recipe, open),
        isHeld: failed.nextTryAtMs > nowMs || isPausedBy(note),
        isTried: failed.count > 0,
        isAway,
        delayed: new Set(delayed.map(({ id }) => id)),
        hostHours: (ran.get(recipe.name) ?? 0) / 3_600_000 + reservedHostHours(open, recipe, nowMs),
        hostHoursOf: hostHoursByUser(open, recipe, ranForUsers, nowMs),
      });
    }
    return planned;
  }

  /** Whether the workload manager of a recipe has not answered for a while. */
  #isAwayForLong(recipe: string, note: RecipeNote | undefined): boolean {
    if (typeof note?.fault !== 'string') {
      this.#awaySinceMs.delete(recipe);
      return false;
    }
    const nowMs = this.#options.clock.monotonicMs();
    const sinceMs = this.#awaySinceMs.get(recipe) ?? nowMs;
    this.#awaySinceMs.set(recipe, sinceMs);
    return nowMs - sinceMs > AWAY_FOR_LONG_MS;
  }

  /** Instances, by allocation, that have never come up since their agent joined a short while ago. */
  #starting({ joinWithinMs }: HostRecipe, open: readonly Allocation[]): ReadonlyMap<string, number> {
    const { instances } = this.#options;
    const starting = new Map<string, number>();
    for (const { id, state, joinedAtMs } of open) {
      if (state !== 'JOINED' || joinedAtMs === null) continue;
      if (this.#times.sinceMs(id, 'JOIN', joinedAtMs) > joinWithinMs) continue;
      const views = instances.findAgent(id)?.instances ?? [];
      starting.set(
        id,
        this.#startingInstances.countOf(id, { isReady: instances.isReady(id), instances: views }),
      );
    }
    return starting;
  }

  async #giveUpSurplus(surplus: readonly Allocation[]): Promise<void> {
    const { clock, book } = this.#options;
    const nowMs = clock.monotonicMs();
    const ids = new Set(surplus.map(({ id }) => id));
    for (const id of this.#surplusSinceMs.keys()) if (!ids.has(id)) this.#surplusSinceMs.delete(id);
    for (const { id } of surplus) {
      const sinceMs = this.#surplusSinceMs.get(id) ?? nowMs;
      this.#surplusSinceMs.set(id, sinceMs);
      const current = book.get(id);
      if (nowMs - sinceMs < SURPLUS_MS || !current || !isQueued(current)) continue;
      await this.#drain(current, { cause: 'NOT_NEEDED', message: 'no task waits for it any more' });
    }
  }

  /** Looks after the open allocations. */
  async #lookAfterOpen(notes: Notes): Promise<void> {
    const { book, recipes } = this.#options;
    this.#followDrains(notes);
    this.#forgetUseless();
    const late: { readonly allocation: Allocation; readonly recipe: HostRecipe }[] = [];
    for (const allocation of book.all) {
      const recipe = recipes.find(({ name }) => name === allocation.recipe);
      if (!recipe) continue;
      const { drainedBy = null } = notes.get(recipe.name) ?? {};
      const { id, state } = allocation;
      if (state === 'DRAINING') await this.#keepDrained(allocation);
      else if (this.#askedBack.has(id))
        await this.#drain(allocation, {
          cause: 'ASKED',
          message: `given back by ${drainedBy ?? 'an administrator'}`,
        });
      else if (state === 'JOINED') await this.#lookAfterJoined(allocation, recipe);
      else if (await this.#isLate(allocation, recipe)) late.push({ allocation, recipe });
      else await this.#endDrain(allocation);
    }
    // All at once: the output of each is read, which takes long when its disk hangs.
    await Promise.all(late.map((each) => this.#giveUpLate(each.allocation, each.recipe)));
  }

  /** Notes which allocations administrators ask back. */
  #followDrains(notes: Notes): void {
    for (const allocation of this.#options.book.all) {
      const { id, recipe, state } = allocation;
      if (this.#isAskedBack(allocation, notes.get(recipe))) this.#askedBack.add(id);
      if (state === 'DRAINING') this.#askedBack.delete(id);
    }
    this.#followedDrains = new Map([...notes].map(([name, { drainedAtMs }]) => [name, drainedAtMs]));
    this.#justWanted.clear();
  }

  /** Whether an administrator asks for all allocations back, and this is one of them. Each request is followed once, since times do not compare when the
   *  clock is set; the first look of a term, and allocations of the last look, have nothing else. */
  #isAskedBack({ id, recipe, wantedAtMs }: Allocation, note: RecipeNote | undefined): boolean {
    if (note === undefined || note.drainedAtMs === null) return false;
    if (this.#followedDrains?.get(recipe) === note.drainedAtMs) return false;
    const isAfterAll = this.#followedDrains !== null && !this.#justWanted.has(id);
    return isAfterAll || wantedAtMs <= note.drainedAtMs;
  }

  /** Whether allocations of another recipe wait at the same workload manager, and may start soon. */
  #isWantedByOthers({ name, managerKey }: HostRecipe): boolean {
    const { recipes, book } = this.#options;
    return recipes.some(
      (other) =>
        other.name !== name &&
        other.managerKey === managerKey &&
        book.of(other.name).some((each) => isQueued(each) && !this.#isDelayed(each)),
    );
  }

  /** Whether an allocation has been queued for so long that it may never start. */
  #isDelayed(allocation: Allocation): boolean {
    const { id, wantedAtMs } = allocation;
    return isQueued(allocation) && this.#times.sinceMs(id, 'WISH', wantedAtMs) >= DELAYED_MS;
  }

  /** Takes note that the agent of an allocation has joined and has an instance that is up; tells whether it has not within its time. */
  async #isLate(allocation: Allocation, recipe: HostRecipe): Promise<boolean> {
    const { book, instances, clock } = this.#options;
    const { id, startedAtMs } = allocation;
    const nowMs = clock.nowMs();
    const views = instances.findAgent(id)?.instances ?? [];
    if (instances.isReady(id) && views.some(({ status }) => status === 'UP')) {
      const joined = instancesOf(id, views);
      // A job that was handed in with an earlier configuration says nothing about the present one.
      if (areOfRecipe(joined, recipe)) this.#joinedInstances.set(recipe.name, joined);
      await book.move(id, 'join', { joinedAtMs: nowMs, startedAtMs: startedAtMs ?? nowMs, message: null });
      return false;
    }
    if (startedAtMs === null) {
      this.#uselessSinceMs.delete(id);
      return false;
    }
    // A hub that was away meanwhile has not seen whether its agent joined.
    const uselessMs = this.#uselessForMs(id);
    const sinceMs = this.#times.sinceMs(id, 'START', startedAtMs);
    return sinceMs > recipe.joinWithinMs && uselessMs >= recipe.joinWithinMs;
  }

  async #giveUpLate(allocation: Allocation, recipe: HostRecipe): Promise<void> {
    const { instances, drivers } = this.#options;
    const { id } = allocation;
    const seconds = Math.round(recipe.joinWithinMs / 1000);
    const missing = instances.isReady(id)
      ? `no instance of its agent came up within ${seconds} s`
      : `no agent joined within ${seconds} s of its start`;
    const message = (await drivers.get(recipe.name)?.whyNotJoined(id, missing)) ?? missing;
    await this.#drain(allocation, { cause: 'NOT_JOINED', message });
  }

  async #lookAfterJoined(allocation: Allocation, recipe: HostRecipe): Promise<void> {
    const { instances } = this.#options;
    const { id } = allocation;
    const endMs = endMsOf(allocation, recipe.wallTimeMs);
    const drain = instances.drainOf(id);
    if (drain && drain.by !== drainerOf(allocation))
      return this.#drain(allocation, { cause: 'ASKED', message: `drained by ${drain.by}` });
    if (endMs !== null && this.#times.untilMs(id, 'END', endMs) <= recipe.drainBeforeMs)
      return this.#drain(allocation, { cause: 'TIME', message: 'its time is nearly over' });
    const uselessMs = this.#uselessForMs(id);
    if (uselessMs >= recipe.joinWithinMs) {
      const message = `none of its instances has been up for ${Math.round(uselessMs / 1000)} s`;
      return this.#drain(allocation, { cause: 'IDLE', message });
    }
    const idleMs = this.#isWantedByOthers(recipe)
      ? Math.min(IDLE_FOR_OTHERS_MS, recipe.idleMs)
      : recipe.idleMs;
    if (this.#idleForMs(id) >= idleMs)
      await this.#drain(allocation, { cause: 'IDLE', message: 'it has had no task for a while' });
    else await this.#endDrain(allocation);
  }

  /** Time for which no instance of an agent has been up, as far as this hub has seen; 0 while one is. */
  #uselessForMs(id: string): number {
    const { instances, clock } = this.#options;
    const views = instances.findAgent(id)?.instances ?? [];
    if (instances.isReady(id) && views.some(({ status }) => status === 'UP')) {
      this.#uselessSinceMs.delete(id);
      return 0;
    }
    const sinceMs = this.#uselessSinceMs.get(id) ?? clock.monotonicMs();
    this.#uselessSinceMs.set(id, sinceMs);
    return clock.monotonicMs() - sinceMs;
  }

  #forgetUseless(): void {
    for (const id of this.#uselessSinceMs.keys())
      if (!this.#options.book.get(id)) this.#uselessSinceMs.delete(id);
  }

  /** Time for which all instances of an agent have been idle; 0 while one is not. */
  #idleForMs(id: string): number {
    const { instances, clock } = this.#options;
    const views = instances.findAgent(id)?.instances ?? [];
    const isInUse = views.some(({ profile, working }) => working || instances.awaitsLoan(profile.id));
    if (!instances.isReady(id) || isInUse) return 0;
    const since = views.flatMap(({ profile }) => instances.idleSinceMsOf(profile.id) ?? []);
    return since.length === 0 ? 0 : clock.monotonicMs() - Math.max(...since);
  }

  /** Drains the agent, known or not, before the state says so: a job that is given back runs nothing. */
  async #drain(
    { id, recipe }: Allocation,
    change: { readonly cause: AllocationCause; readonly message: string },
  ): Promise<void> {
    const { book, drains, drivers } = this.#options;
    this.#uselessSinceMs.delete(id);
    if (!book.get(id)) return;
    await drains.drain(id, drainerOf({ recipe }));
    if (await book.move(id, 'drain', change)) drivers.get(recipe)?.wake();
    else await this.#settleIfOver(id);
  }

  /** Gives an allocation back whose agent a hub has drained that ended before it took note of that, with the most likely cause. */
  async #endDrain({ id }: Allocation): Promise<void> {
    const { book, instances } = this.#options;
    const current = book.get(id);
    if (!current || current.state === 'DRAINING') return;
    if (instances.drainOf(id)?.by !== drainerOf(current)) return;
    const ofStarted = current.state === 'JOINED' ? 'IDLE' : 'NOT_JOINED';
    const cause = isQueued(current) ? 'NOT_NEEDED' : ofStarted;
    await this.#drain(current, { cause, message: 'given back by a hub that ended meanwhile' });
  }

  /** Drains the agent again when somebody has let it go on. */
  async #keepDrained({ id, recipe }: Allocation): Promise<void> {
    const { book, drains, instances } = this.#options;
    if (!book.get(id) || instances.drainOf(id)) return;
    await drains.drain(id, drainerOf({ recipe }));
    await this.#settleIfOver(id);
  }

  /** Ends the drain of an agent whose allocation was over before the drain was stored. */
  async #settleIfOver(id: string): Promise<void> {
    const { book, ended } = this.#options;
    const over = book.get(id) ? undefined : await book.overInStore(id);
    if (over) await ended.add(over);
  }
}

/** Name in which agents of a recipe are drained. */
const drainerOf = ({ recipe }: Pick<Allocation, 'recipe'>): string => `recipe ${recipe}`;

function isPausedBy(note: RecipeNote | undefined): boolean {
  return note !== undefined && note.pausedAtMs !== null;
}

/** Instances of the agent of an allocation, by class. */
function instancesOf(allocationId: string, views: readonly InstanceView[]): HostRecipe['instances'] {
  const byClass = new Map<string, { instanceClass: InstanceClass; ids: string[] }>();
  for (const { profile } of views) {
    const { version, labels, runs } = profile;
    const key = classKey(profile);
    const ofClass = byClass.get(key) ?? { instanceClass: { version, labels, runs }, ids: [] };
    const prefix = `${allocationId}-`;
    ofClass.ids.push(profile.id.startsWith(prefix) ? profile.id.slice(prefix.length) : profile.id);
    byClass.set(key, ofClass);
  }
  return [...byClass.values()].map((ofClass) => ({ ...ofClass, count: ofClass.ids.length }));
}
