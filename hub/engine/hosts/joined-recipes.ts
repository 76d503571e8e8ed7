/**
 * Recipes of the hubs that have joined this one. Each of these hubs is asked for the instances that tasks need here, again and again while they do, and
 * answers with what its recipes can bring.
 */
import { type LentRecipe, MAX_WANTED, type WantedInstances } from '@workbench-hub/shared/domain/lent-recipe';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { messageOf } from '@workbench-hub/shared/runtime/message-of';
import type { Clock } from '@workbench-hub/shared/runtime/runtime';
import { type JoinedRecipe, joinedRecipeName, plannedJoinedRecipe } from '../../core/hosts/joined-recipe.js';
import type { PlannedRecipe, WantedAllocation } from '../../core/hosts/plan.js';
import { AgentUnavailable, type Relay } from '../../core/ports/relay.js';
import type { Instances } from '../instances/instances.js';
import { SteadyWishes } from './steady-wishes.js';

export interface JoinedRecipesOptions {
  readonly relay: Pick<Relay, 'ask'>;
  readonly instances: Pick<Instances, 'agents' | 'findAgent' | 'isReady'>;
  readonly clock: Clock;
  readonly log: Logger;
}

/** A joined hub. All times are monotonic, but for `atMs`. */
interface JoinedHub {
  recipes: readonly LentRecipe[];
  /** Time of its latest answer, in milliseconds since 1970. */
  atMs: number;
  answeredAtMs: number;
  /** Time of its latest answer that had recipes. */
  lentAtMs: number;
  /** Time of the latest request. */
  askedAtMs: number;
  /** Time at which it was connected. */
  seenAtMs: number;
  isAsked: boolean;
  /** Time of the latest request that wanted instances, and whether it was the latest of all. */
  wantedAtMs: number;
  hasWanted: boolean;
  /** Whether the latest request has failed. */
  hasFailed: boolean;
  /** Instances that were wanted of it. */
  readonly wishes: SteadyWishes;
}

const ANSWER_LIMIT_MS = 5000;
/** Intervals of the requests to a hub: while instances are wanted of it, or were a moment ago and tasks wait; while tasks wait or it may lend recipes
 *  again soon; and otherwise. */
const WANTED_EVERY_MS = 900;
const WAITING_EVERY_MS = 5000;
const IDLE_EVERY_MS = 30_000;
const MOMENT_MS = 10_000;
/** Time for which an answer counts while the hub does not answer again. */
const COUNTS_MS = 60_000;
/** Time for which it counts after the connection has ended: a hub joins again when it has other instances. */
const AWAY_MS = 20_000;
/** Time after an answer with recipes in which a hub without any may lend some again. */
const EXPECTED_MS = 300_000;
/** Hosts that are planned for all recipes of a hub. */
const MAX_HOSTS = 1000;
const NEVER_MS = Number.NEGATIVE_INFINITY;

export class JoinedRecipes {
  readonly #options: JoinedRecipesOptions;
  /** By agent id. */
  readonly #hubs = new Map<string, JoinedHub>();
  /** Called when a hub has answered that lent no recipes before. */
  #onFirst: () => void = () => undefined;

  constructor(options: JoinedRecipesOptions) {
    this.#options = options;
  }

  onFirst(listener: () => void): void {
    this.#onFirst = listener;
  }

  /** Forgets what the hubs have answered. */
  reset(): void {
    this.#hubs.clear();
  }

  /** Whether hubs have joined that can be asked. */
  get hasHubs(): boolean {
    return this.#joined().length > 0;
  }

  /** Whether an agent is a hub that can be asked. */
  brings(agentId: string): boolean {
    return this.#options.instances.findAgent(agentId)?.hub?.bringsHosts === true;
  }

  /** Whether a hub that has lent recipes lends none at the moment. */
  get isExpecting(): boolean {
    return [...this.#hubs.values()].some((hub) => this.#isExpected(hub));
  }

  /** The recipes by agent id, as their hubs have described them. */
  all(): JoinedRecipe[] {
    // Reasons of waiting tasks ask for them, and most hubs have none.
    if (this.#hubs.size === 0) return [];
    const nowMs = this.#options.clock.monotonicMs();
    const joined = this.#joined();
    const byId = [...this.#hubs].sort(([a], [b]) => (a < b ? -1 : 1));
    return byId.flatMap(([agentId, { recipes, atMs, answeredAtMs, seenAtMs }]) => {
      const isThere = joined.includes(agentId) || nowMs - seenAtMs <= AWAY_MS;
      return isThere && nowMs - answeredAtMs <= COUNTS_MS
        ? recipes.map((lent) => ({ agentId, lent, atMs }))
        : [];
    });
  }

  planned(): PlannedRecipe[] {
    const left = new Map<string, number>();
    return this.all().map((joined) => {
      const limit = left.get(joined.agentId) ?? MAX_HOSTS;
      left.set(joined.agentId, Math.max(0, limit - joined.lent.free));
      return plannedJoinedRecipe(joined, limit);
    });
  }

  /** Asks those hubs whose turn it is for the hosts that are wanted of their recipes; other recipes are ignored. */
  ask(wanted: readonly WantedAllocation[], areTasksWaiting: boolean): void {
    const nowMs = this.#options.clock.monotonicMs();
    const known = this.all();
    const joined = this.#joined();
    for (const [agentId, hub] of this.#hubs) {
      if (joined.includes(agentId)) hub.seenAtMs = nowMs;
      else if (nowMs - hub.seenAtMs > AWAY_MS) this.#hubs.delete(agentId);
    }
    const first = known[0]?.agentId;
    for (const agentId of joined) {
      const hub = this.#hubs.get(agentId) ?? newHub(nowMs);
      this.#hubs.set(agentId, hub);
      const ofHub = known.filter((each) => each.agentId === agentId);
      // Tasks of a hub that is away for a moment must not bring hosts elsewhere.
      const wishes = hub.wishes.settled(wishesOf(wanted, ofHub), nowMs, agentId === first);
      if (!this.#isDue(hub, wishes.length > 0, areTasksWaiting && ofHub.length > 0)) continue;
      void this.#askOne(agentId, hub, ofHub.length > 0 ? wishes.slice(0, MAX_WANTED) : undefined);
    }
  }

  #joined(): string[] {
    const { instances } = this.#options;
    return instances
      .agents()
      .flatMap(({ id, hub }) => (hub?.bringsHosts && instances.isReady(id) ? [id] : []));
  }

  #isExpected({ recipes, lentAtMs }: JoinedHub): boolean {
    return recipes.length === 0 && this.#options.clock.monotonicMs() - lentAtMs <= EXPECTED_MS;
  }

  #isDue(hub: JoinedHub, isWanted: boolean, areTasksWaiting: boolean): boolean {
    if (hub.isAsked) return false;
    const nowMs = this.#options.clock.monotonicMs();
    const sinceMs = nowMs - hub.askedAtMs;
    const wasWanted = hub.hasWanted || (areTasksWaiting && nowMs - hub.wantedAtMs <= MOMENT_MS);
    if ((isWanted || wasWanted) && !hub.hasFailed) return sinceMs >= WANTED_EVERY_MS;
    return sinceMs >= (areTasksWaiting || this.#isExpected(hub) ? WAITING_EVERY_MS : IDLE_EVERY_MS);
  }

  /** Asks for the recipes alone when `wanted` is left out. Never rejects. */
  async #askOne(
    agentId: string,
    hub: JoinedHub,
    wanted: readonly WantedInstances[] | undefined,
  ): Promise<void> {
    const { relay, clock, log } = this.#options;
    hub.isAsked = true;
    hub.askedAtMs = clock.monotonicMs();
    hub.hasWanted = wanted !== undefined && wanted.length > 0;
    if (hub.hasWanted) hub.wantedAtMs = hub.askedAtMs;
    const request = { kind: 'bringHosts', ...(wanted && { wanted }) } as const;
    try {
      const { recipes = [] } = await relay.ask(agentId, request, ANSWER_LIMIT_MS);
      const isFirst = hub.lentAtMs === NEVER_MS && recipes.length > 0;
      const lendsAgain = hub.recipes.length === 0 && recipes.length > 0;
      hub.recipes = recipes;
      hub.atMs = clock.nowMs();
      hub.answeredAtMs = clock.monotonicMs();
      if (recipes.length > 0) hub.lentAtMs = hub.answeredAtMs;
      hub.hasFailed = false;
      const names = recipes.map(({ name }) => name);
      if (isFirst) log.info({ agentId, recipes: names }, 'a joined hub lends recipes of hosts');
      if (lendsAgain) this.#onFirst();
    } catch (error) {
      if (!hub.hasFailed) {
        const level = error instanceof AgentUnavailable ? 'info' : 'error';
        log[level]({ agentId, reason: messageOf(error) }, 'a joined hub cannot be asked for hosts');
      }
      hub.hasFailed = true;
    } finally {
      hub.isAsked = false;
    }
  }
}

function newHub(nowMs: number): JoinedHub {
  return {
    ...{ recipes: [], atMs: 0, answeredAtMs: NEVER_MS, lentAtMs: NEVER_MS, askedAtMs: NEVER_MS },
    ...{ seenAtMs: nowMs, wantedAtMs: NEVER_MS, isAsked: false, hasWanted: false, hasFailed: false },
    wishes: new SteadyWishes(),
  };
}

/** Instances that are wanted of these recipes of a hub, with one entry for each recipe and requirement. */
function wishesOf(wanted: readonly WantedAllocation[], recipes: readonly JoinedRecipe[]): WantedInstances[] {
  const byKey = new Map<string, WantedInstances>();
  for (const { recipe, needed } of wanted) {
    const found = recipes.find((each) => joinedRecipeName(each) === recipe.name);
    for (const { requirement, count } of found ? needed : []) {
      const name = found?.lent.name ?? '';
      const key = JSON.stringify([name, requirement]);
      byKey.set(key, { recipe: name, requirement, count: count + (byKey.get(key)?.count ?? 0) });
    }
  }
  return [...byKey.values()];
}
