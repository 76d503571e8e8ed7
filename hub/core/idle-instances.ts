/** Idle instances, in the order in which they are given tasks (contract 2.3). */
import type { InstanceProfile } from '@workbench-hub/shared/domain/instance';
import { insertSorted } from './sorted.js';

/** Version and labels of an instance; equal instances share one object. */
export type InstanceClass = Pick<InstanceProfile, 'version' | 'labels'>;

export interface IdleInstance {
  readonly profile: InstanceProfile;
  readonly instanceClass: InstanceClass;
  readonly agentId: string;
  readonly idleSinceMs: number;
}

/** By instance class; only classes with idle instances. */
export type IdleInstances = ReadonlyMap<InstanceClass, IdleOfClass>;

export interface IdleOfClass {
  readonly count: number;
  /** Agents with idle instances, in the order of {@link compareLocations}. */
  readonly agents: readonly IdleOfAgent[];
}

/** Position of an agent in the order in which agents are given tasks. */
export interface InstanceLocation {
  /** Number of working instances of the agent, of all classes. */
  readonly busy: number;
  /** Of the instance that has been idle for longest. */
  readonly idleSinceMs: number;
  /** Unique number of the agent, as the last criterion. */
  readonly number: number;
}

/** Idle instances of one class and agent. */
export interface IdleOfAgent extends InstanceLocation {
  readonly agentId: string;
  /** Longest idle first; at least one. */
  readonly instances: readonly IdleInstance[];
}

/** Negative when `a` comes first: the less busy agent, then the instance that has been idle for longest. */
export function compareLocations(a: InstanceLocation, b: InstanceLocation): number {
  return a.busy - b.busy || a.idleSinceMs - b.idleSinceMs || a.number - b.number;
}

/** Classes that fit a requirement, with their number of surplus labels. */
export type FittingClasses = ReadonlyMap<InstanceClass, number>;

/** Whether an agent may be given the task. */
export type MayAgent = (agentId: string) => boolean;

/** Idle instances that a round has not paired yet. Pairings of the round count as work of their agents. Only the first agents are
 *  examined, however many there are. */
export class FreeInstances {
  readonly #classes = new Map<InstanceClass, FreeOfClass>();

  constructor(idle: IdleInstances) {
    const newlyBusy = new Map<string, number>();
    for (const [instanceClass, ofClass] of idle) {
      this.#classes.set(instanceClass, new FreeOfClass(ofClass, newlyBusy));
    }
  }

  get areAny(): boolean {
    return this.#classes.size > 0;
  }

  /** Whether one of these classes is left on an agent that `mayAgent` permits; without it, all are permitted. */
  areAnyOf(suitable: FittingClasses, mayAgent?: MayAgent): boolean {
    for (const [instanceClass, free] of this.#classes) {
      if (suitable.has(instanceClass) && (!mayAgent || free.first(mayAgent))) return true;
    }
    return false;
  }

  /** Takes the instance with the fewest surplus labels, then on the least busy agent, then idle for longest. Throws when none
   *  is left. */
  take(suitable: FittingClasses, mayAgent?: MayAgent): IdleInstance {
    let best: { instanceClass: InstanceClass; candidate: Candidate; surplus: number } | undefined;
    for (const [instanceClass, free] of this.#classes) {
      const surplus = suitable.get(instanceClass);
      if (surplus === undefined || (best && surplus > best.surplus)) continue;
      const candidate = free.first(mayAgent);
      if (!candidate) continue;
      if (best && surplus === best.surplus && compareLocations(candidate, best.candidate) >= 0) continue;
      best = { instanceClass, candidate, surplus };
    }
    if (!best) throw new Error('no idle instance fits');
    const free = this.#classes.get(best.instanceClass) as FreeOfClass;
    const instance = free.take(best.candidate);
    if (free.count === 0) this.#classes.delete(best.instanceClass);
    return instance;
  }
}

/** Instances of an agent, some of which may have been taken. */
interface Candidate extends InstanceLocation {
  readonly of: IdleOfAgent;
  /** Index of the first one that is left. */
  readonly at: number;
}

class FreeOfClass {
  readonly #agents: readonly IdleOfAgent[];
  /** Pairings of the round by agent, over all classes. */
  readonly #newlyBusy: Map<string, number>;
  /** Index of the first agent that is not among the candidates yet. */
  #next = 0;
  /** Sorted. */
  readonly #candidates: Candidate[] = [];
  count: number;

  constructor({ agents, count }: IdleOfClass, newlyBusy: Map<string, number>) {
    this.#agents = agents;
    this.#newlyBusy = newlyBusy;
    this.count = count;
  }

  /** The best candidate that is permitted. */
  first(mayAgent?: MayAgent): Candidate | undefined {
    const notPermitted: Candidate[] = [];
    let best = this.#shiftFirst();
    while (best && mayAgent && !mayAgent(best.of.agentId)) {
      notPermitted.push(best);
      best = this.#shiftFirst();
    }
    for (const candidate of notPermitted) this.#insert(candidate);
    if (best) this.#insert(best);
    return best;
  }

  /** Takes the first instance of a candidate, which {@link first} returned last. */
  take(candidate: Candidate): IdleInstance {
    const { of, at } = candidate;
    this.#candidates.splice(this.#candidates.indexOf(candidate), 1);
    this.#newlyBusy.set(of.agentId, (this.#newlyBusy.get(of.agentId) ?? 0) + 1);
    this.count--;
    if (at + 1 < of.instances.length) this.#add(of, at + 1);
    return of.instances[at] as IdleInstance;
  }

  #shiftFirst(): Candidate | undefined {
    for (;;) {
      const [known] = this.#candidates;
      const next = this.#agents[this.#next];
      // A pairing only moves an agent back, so the former order tells which one to examine next.
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
    this.#insert({ of, at, busy: this.#busyNow(of), idleSinceMs, number: of.number });
  }

  #insert(candidate: Candidate): void {
    insertSorted(this.#candidates, candidate, compareLocations);
  }

  #busyNow({ agentId, busy }: IdleOfAgent): number {
    return busy + (this.#newlyBusy.get(agentId) ?? 0);
  }
}
