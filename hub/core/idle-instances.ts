/** Which instances could begin a task, in the order in which they should (contract 2.3). */
import type { InstanceProfile } from '@workbench-hub/shared/domain/instance';
import { insertSorted } from './sorted.js';

/** What matching looks at in an instance; one object for all instances that are alike in it. */
export type InstanceClass = Pick<InstanceProfile, 'version' | 'labels'>;

export interface IdleInstance {
  readonly profile: InstanceProfile;
  readonly instanceClass: InstanceClass;
  readonly agentId: string;
  readonly idleSinceMs: number;
}

/** By their kind; only kinds of which some are idle. */
export type IdleInstances = ReadonlyMap<InstanceClass, IdleOfClass>;

export interface IdleOfClass {
  /** How many instances. */
  readonly count: number;
  /** Those that have some, in the order of {@link compareLocations}. */
  readonly agents: readonly IdleOfAgent[];
}

/** Decides in which order agents are given tasks. */
export interface InstanceLocation {
  /** How many instances of the agent are working, of whatever kind. */
  readonly busy: number;
  /** Of the instance that is idle for longest. */
  readonly idleSinceMs: number;
  /** Another for each agent: decides between those that are alike otherwise. */
  readonly number: number;
}

/** Idle instances of one kind that an agent has. */
export interface IdleOfAgent extends InstanceLocation {
  readonly agentId: string;
  /** Idle for longest first; at least one. */
  readonly instances: readonly IdleInstance[];
}

/** Negative when a task should rather go to `a`: the less busy agent, then the instance that is idle for longest. */
export function compareLocations(a: InstanceLocation, b: InstanceLocation): number {
  return a.busy - b.busy || a.idleSinceMs - b.idleSinceMs || a.number - b.number;
}

/** The kinds that satisfy a requirement, each with the number of labels that it has in excess: the fewer, the less is
 *  wasted on it. */
export type FittingClasses = ReadonlyMap<InstanceClass, number>;

/** Whether an agent may be given the task. */
export type MayAgent = (agentId: string) => boolean;

/** The idle instances that a round has not given a task yet. What it has given to an agent counts as work of it. Only
 *  the agents that come first are looked at, however many there are. */
export class FreeInstances {
  readonly #kinds = new Map<InstanceClass, FreeOfClass>();

  constructor(idle: IdleInstances) {
    const newlyBusy = new Map<string, number>();
    for (const [kind, ofKind] of idle) this.#kinds.set(kind, new FreeOfClass(ofKind, newlyBusy));
  }

  get areAny(): boolean {
    return this.#kinds.size > 0;
  }

  /** Of these kinds, and of agents that may; without `mayAgent` all may. */
  areAnyOf(suitable: FittingClasses, mayAgent?: MayAgent): boolean {
    for (const [kind, free] of this.#kinds) {
      if (suitable.has(kind) && (!mayAgent || free.first(mayAgent))) return true;
    }
    return false;
  }

  /** The one with the fewest labels in excess, then on the least busy agent, then idle for longest. There is one. */
  take(suitable: FittingClasses, mayAgent?: MayAgent): IdleInstance {
    let best: { kind: InstanceClass; candidate: Candidate; surplus: number } | undefined;
    for (const [kind, free] of this.#kinds) {
      const surplus = suitable.get(kind);
      if (surplus === undefined || (best && surplus > best.surplus)) continue;
      const candidate = free.first(mayAgent);
      if (!candidate) continue;
      if (best && surplus === best.surplus && compareLocations(candidate, best.candidate) >= 0) continue;
      best = { kind, candidate, surplus };
    }
    if (!best) throw new Error('no instance is free that suits');
    const free = this.#kinds.get(best.kind) as FreeOfClass;
    const instance = free.take(best.candidate);
    if (free.count === 0) this.#kinds.delete(best.kind);
    return instance;
  }
}

/** Instances of an agent, of which the first few may have been taken. */
interface Candidate extends InstanceLocation {
  readonly of: IdleOfAgent;
  /** The first one that is left. */
  readonly at: number;
}

class FreeOfClass {
  readonly #agents: readonly IdleOfAgent[];
  /** By agent, over all kinds: what the round has given to it. */
  readonly #newlyBusy: Map<string, number>;
  /** The agents before this one have been looked at: those that still have some free are candidates. */
  #next = 0;
  /** In order. */
  readonly #candidates: Candidate[] = [];
  count: number;

  constructor({ agents, count }: IdleOfClass, newlyBusy: Map<string, number>) {
    this.#agents = agents;
    this.#newlyBusy = newlyBusy;
    this.count = count;
  }

  /** The best one that may. */
  first(mayAgent?: MayAgent): Candidate | undefined {
    const passedOver: Candidate[] = [];
    let best = this.#takeFirst();
    while (best && mayAgent && !mayAgent(best.of.agentId)) {
      passedOver.push(best);
      best = this.#takeFirst();
    }
    for (const candidate of passedOver) this.#putBack(candidate);
    if (best) this.#putBack(best);
    return best;
  }

  /** The candidate is what {@link first} has given last. */
  take(candidate: Candidate): IdleInstance {
    const { of, at } = candidate;
    this.#candidates.splice(this.#candidates.indexOf(candidate), 1);
    this.#newlyBusy.set(of.agentId, (this.#newlyBusy.get(of.agentId) ?? 0) + 1);
    this.count--;
    if (at + 1 < of.instances.length) this.#add(of, at + 1);
    return of.instances[at] as IdleInstance;
  }

  #takeFirst(): Candidate | undefined {
    for (;;) {
      const [known] = this.#candidates;
      const next = this.#agents[this.#next];
      // Whoever has been given something meanwhile only falls back: what comes first as it was is looked at first.
      if (next && (!known || compareLocations(next, known) < 0)) {
        this.#next++;
        this.#add(next, 0);
        continue;
      }
      if (!known) return undefined;
      this.#candidates.shift();
      if (known.busy === this.#busyNow(known.of)) return known;
      this.#add(known.of, known.at);
    }
  }

  #add(of: IdleOfAgent, at: number): void {
    const { idleSinceMs } = of.instances[at] as IdleInstance;
    this.#putBack({ of, at, busy: this.#busyNow(of), idleSinceMs, number: of.number });
  }

  #putBack(candidate: Candidate): void {
    insertSorted(this.#candidates, candidate, compareLocations);
  }

  #busyNow({ agentId, busy }: IdleOfAgent): number {
    return busy + (this.#newlyBusy.get(agentId) ?? 0);
  }
}
