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

export interface JoinedRecipesOptions {
  readonly relay: Pick<Relay, 'ask'>;
  readonly instances: Pick<Instances, 'agents' | 'isReady'>;
  readonly clock: Clock;
  readonly log: Logger;
}

/** A joined hub. */
interface JoinedHub {
  recipes: readonly LentRecipe[];
  /** Time of its latest answer, in milliseconds since 1970 and monotonic. */
  atMs: number;
  answeredAtMs: number;
  /** Monotonic time of the latest request. */
  askedAtMs: number;
  isAsked: boolean;
  /** Whether the latest request wanted instances. */
  hasWanted: boolean;
  /** Whether the latest request has failed. */
  hasFailed: boolean;
}

const ANSWER_LIMIT_MS = 5000;
/** Intervals of the requests to a hub: while instances are wanted of it, while tasks wait that its recipes fit, and otherwise. */
const WANTED_EVERY_MS = 900;
const WAITING_EVERY_MS = 5000;
const IDLE_EVERY_MS = 30_000;
/** Time for which an answer counts while the hub does not answer again. */
const COUNTS_MS = 60_000;

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

  /** The recipes, as their hubs have described them. */
  all(): JoinedRecipe[] {
    return this.#joined().flatMap((agentId) => {
      const hub = this.#hubs.get(agentId);
      if (!hub || this.#options.clock.monotonicMs() - hub.answeredAtMs > COUNTS_MS) return [];
      return hub.recipes.map((lent) => ({ agentId, lent, atMs: hub.atMs }));
    });
  }

  planned(): PlannedRecipe[] {
    return this.all().map(plannedJoinedRecipe);
  }

  /** Asks those hubs whose turn it is for the hosts that are wanted of their recipes; other recipes are ignored. */
  ask(wanted: readonly WantedAllocation[], isWorkWaiting: boolean): void {
    const known = this.all();
    const joined = this.#joined();
    for (const agentId of this.#hubs.keys()) if (!joined.includes(agentId)) this.#hubs.delete(agentId);
    for (const agentId of joined) {
      const ofHub = known.filter((each) => each.agentId === agentId);
      const instances = wanted.flatMap(({ recipe, needed }) => {
        const found = ofHub.find((each) => joinedRecipeName(each) === recipe.name);
        return found ? needed.map((each) => ({ ...each, recipe: found.lent.name })) : [];
      });
      if (this.#isDue(agentId, instances.length > 0, isWorkWaiting && ofHub.length > 0))
        void this.#askOne(agentId, addedUp(instances));
    }
  }

  #joined(): string[] {
    const { instances } = this.#options;
    return instances.agents().flatMap(({ id, hub }) => (hub && instances.isReady(id) ? [id] : []));
  }

  #isDue(agentId: string, isWanted: boolean, isWorkWaiting: boolean): boolean {
    const hub = this.#hubs.get(agentId);
    if (!hub) return true;
    if (hub.isAsked) return false;
    const sinceMs = this.#options.clock.monotonicMs() - hub.askedAtMs;
    if (hub.hasFailed) return sinceMs >= (isWorkWaiting ? WAITING_EVERY_MS : IDLE_EVERY_MS);
    if (isWanted || hub.hasWanted) return sinceMs >= WANTED_EVERY_MS;
    return sinceMs >= (isWorkWaiting ? WAITING_EVERY_MS : IDLE_EVERY_MS);
  }

  /** Never rejects. */
  async #askOne(agentId: string, wanted: readonly WantedInstances[]): Promise<void> {
    const { relay, clock, log } = this.#options;
    const hub = this.#hubs.get(agentId) ?? newHub();
    this.#hubs.set(agentId, hub);
    hub.isAsked = true;
    hub.askedAtMs = clock.monotonicMs();
    hub.hasWanted = wanted.length > 0;
    try {
      const { recipes = [] } = await relay.ask(agentId, { kind: 'bringHosts', wanted }, ANSWER_LIMIT_MS);
      const isFirst = hub.recipes.length === 0 && recipes.length > 0;
      hub.recipes = recipes;
      hub.atMs = clock.nowMs();
      hub.answeredAtMs = clock.monotonicMs();
      hub.hasFailed = false;
      if (!isFirst) return;
      log.info({ agentId, recipes: recipes.map(({ name }) => name) }, 'a joined hub lends recipes of hosts');
      this.#onFirst();
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

function newHub(): JoinedHub {
  const never = Number.NEGATIVE_INFINITY;
  return {
    ...{ recipes: [], atMs: 0, answeredAtMs: never, askedAtMs: never },
    ...{ isAsked: false, hasWanted: false, hasFailed: false },
  };
}

/** The same with one entry for each recipe and requirement, as many as a request has. */
function addedUp(wanted: readonly WantedInstances[]): WantedInstances[] {
  const byKey = new Map<string, WantedInstances>();
  for (const each of wanted) {
    const key = JSON.stringify([each.recipe, each.requirement]);
    byKey.set(key, { ...each, count: each.count + (byKey.get(key)?.count ?? 0) });
  }
  return [...byKey.values()].slice(0, MAX_WANTED);
}
