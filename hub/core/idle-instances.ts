/** Idle instances, in the order in which they receive tasks (contract 2.3). */
import { type InstanceProfile, kindKey } from '@workbench-hub/shared/domain/instance';
import { insertSorted } from './sorted.js';

/** Version and labels of an instance, and the kind of jobs that it runs; equal instances share one object. */
export type InstanceClass = Pick<InstanceProfile, 'version' | 'labels' | 'runs'>;

/** Text that equal classes have in common. */
export function classKey({ version, labels, runs }: InstanceClass): string {
  return JSON.stringify([version, labels, kindKey(runs)]);
}

export interface IdleInstance {
  readonly profile: InstanceProfile;
  readonly instanceClass: InstanceClass;
  readonly agentId: string;
  readonly idleSinceMs: number;
}

/** Idle instances by class; only classes that have some. */
export type IdleInstances = ReadonlyMap<InstanceClass, IdleOfClass>;

export interface IdleOfClass {
  readonly count: number;
  /** Agents with idle instances, in the order of {@link compareLocations}. */
  readonly agents: readonly IdleOfAgent[];
}

/** Position of an agent in the order in which agents receive tasks. */
export interface InstanceLocation {
  /** Number of working instances of the agent, of all classes. */
  readonly busy: number;
  /** Start of the longest idle time of its instances. */
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

/** Whether the task may be dispatched to an agent. */
export type IsAgentAllowed = (agentId: string) => boolean;

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

  get isEmpty(): boolean {
    return this.#classes.size === 0;
  }

  /** Whether one of these classes is left on an agent that `isAgentAllowed` permits; without it, all are permitted. */
  hasAny(fitting: FittingClasses, isAgentAllowed?: IsAgentAllowed): boolean {
    for (const [instanceClass, free] of this.#classes) {
      if (fitting.has(instanceClass) && (!isAgentAllowed || free.first(isAgentAllowed))) return true;
    }
    return false;
  }

  /** Takes the instance with the fewest surplus labels, then on the least busy agent, then idle for longest. Throws when none
   *  is left. */
  take(fitting: FittingClasses, isAgentAllowed?: IsAgentAllowed): IdleInstance {
    let best: { instanceClass: InstanceClass; candidate: Candidate; surplus: number } | undefined;
    for (const [instanceClass, free] of this.#classes) {
      const surplus = fitting.get(instanceClass);
      if (surplus === undefined || (best && surplus > best.surplus)) continue;
      const candidate = free.first(isAgentAllowed);
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
  readonly agent: IdleOfAgent;
  /** Index of its first instance that is left. */
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
  first(isAgentAllowed?: IsAgentAllowed): Candidate | undefined {
    const notPermitted: Candidate[] = [];
    let best = this.#shiftFirst();
    while (best && isAgentAllowed && !isAgentAllowed(best.agent.agentId)) {
      notPermitted.push(best);
      best = this.#shiftFirst();
    }
    for (const candidate of notPermitted) this.#insert(candidate);
    if (best) this.#insert(best);
    return best;
  }

  /** Takes the first instance of a candidate, which {@link first} returned last. */
  take(candidate: Candidate): IdleInstance {
    const { agent, at } = candidate;
    this.#candidates.splice(this.#candidates.indexOf(candidate), 1);
    this.#newlyBusy.set(agent.agentId, (this.#newlyBusy.get(agent.agentId) ?? 0) + 1);
    this.count--;
    if (at + 1 < agent.instances.length) this.#add(agent, at + 1);
    return agent.instances[at] as IdleInstance;
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
      if (known.busy === this.#busyNow(known.agent)) return known;
      this.#add(known.agent, known.at);
    }
  }

  #add(agent: IdleOfAgent, at: number): void {
    const { idleSinceMs } = agent.instances[at] as IdleInstance;
    this.#insert({ agent, at, busy: this.#busyNow(agent), idleSinceMs, number: agent.number });
  }

  #insert(candidate: Candidate): void {
    insertSorted(this.#candidates, candidate, compareLocations);
  }

  #busyNow({ agentId, busy }: IdleOfAgent): number {
    return busy + (this.#newlyBusy.get(agentId) ?? 0);
  }
}
