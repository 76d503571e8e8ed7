/**
 * Instances by what matching looks at: their kind, and the agent that holds them. What it is asked costs as many steps as
 * there are kinds and agents, however many instances there are.
 */
import {
  compareLocations,
  type IdleInstance,
  type IdleInstances,
  type IdleOfAgent,
  type InstanceClass,
} from '../core/idle-instances.js';
import { insertSorted, removeSorted } from '../core/sorted.js';

/** Since when it is idle changes only while it is not. */
export interface IndexedInstance extends IdleInstance {
  /** Written by the index only; NONE to begin with. */
  availability: Availability;
}

/** IDLE: could begin a task now. UP: is up, but could not. NONE: is not up. */
export type Availability = 'IDLE' | 'UP' | 'NONE';

interface KnownClass {
  readonly kind: InstanceClass;
  count: number;
}

interface OfAgent extends IdleOfAgent {
  busy: number;
  idleSinceMs: number;
  readonly instances: IndexedInstance[];
}

interface OfClass {
  count: number;
  readonly agents: OfAgent[];
}

export class InstanceIndex {
  /** With how many instances there are of each, by version and labels. */
  readonly #kinds = new Map<string, KnownClass>();
  #kindsVersion = 0;
  readonly #idle = new Map<InstanceClass, OfClass>();
  /** What stands there of each agent that has idle instances. */
  readonly #idleOf = new Map<string, Map<InstanceClass, OfAgent>>();
  /** How many instances work, of each agent of which any do. */
  readonly #busy = new Map<string, number>();
  #latestNumber = 0;
  /** How many are up, idle or not, of each kind and agent of which any are. */
  readonly #up = new Map<InstanceClass, Map<string, number>>();

  /** Rises whenever the first instance of a kind becomes known, or the last one is forgotten. */
  get classesVersion(): number {
    return this.#kindsVersion;
  }

  /** Of the known instances. */
  get classes(): InstanceClass[] {
    return [...this.#kinds.values()].map(({ kind }) => kind);
  }

  /** As it is at any time, to be used at once. */
  get idle(): IdleInstances {
    return this.#idle;
  }

  /** The agents that have an instance of this kind up, idle or not. */
  agentsUp(kind: InstanceClass): Iterable<string> {
    return this.#up.get(kind)?.keys() ?? [];
  }

  /** Another instance is known. Gives its kind: the same object for all that are alike. */
  add({ version, labels }: InstanceClass): InstanceClass {
    const key = keyOf({ version, labels });
    const known = this.#kinds.get(key);
    if (known) {
      known.count++;
      return known.kind;
    }
    const kind = { version, labels };
    this.#kinds.set(key, { kind, count: 1 });
    this.#kindsVersion++;
    return kind;
  }

  /** An instance of this kind, whose availability is NONE, is not known any more. */
  remove(kind: InstanceClass): void {
    const key = keyOf(kind);
    const known = this.#kinds.get(key);
    if (!known || --known.count > 0) return;
    this.#kinds.delete(key);
    this.#kindsVersion++;
  }

  /** Whether the instance could begin a task from now on. */
  setAvailability(instance: IndexedInstance, availability: Availability): void {
    const former = instance.availability;
    if (availability === former) return;
    instance.availability = availability;
    if (former === 'NONE') this.#countUp(instance, 1);
    if (former === 'IDLE') this.#removeIdle(instance);
    if (availability === 'IDLE') this.#addIdle(instance);
    if (availability === 'NONE') this.#countUp(instance, -1);
  }

  /** So many more instances of the agent work from now on, or fewer. */
  changeBusy(agentId: string, change: number): void {
    const busy = (this.#busy.get(agentId) ?? 0) + change;
    if (busy > 0) this.#busy.set(agentId, busy);
    else this.#busy.delete(agentId);
    for (const [kind, ofAgent] of this.#idleOf.get(agentId) ?? []) {
      moveTo(this.#idle.get(kind) as OfClass, ofAgent, { busy });
    }
  }

  #countUp({ instanceClass, agentId }: IndexedInstance, change: 1 | -1): void {
    const ofKind = this.#up.get(instanceClass) ?? new Map<string, number>();
    const count = (ofKind.get(agentId) ?? 0) + change;
    if (count > 0) ofKind.set(agentId, count);
    else ofKind.delete(agentId);
    if (ofKind.size > 0) this.#up.set(instanceClass, ofKind);
    else this.#up.delete(instanceClass);
  }

  #addIdle(instance: IndexedInstance): void {
    const { instanceClass, agentId, idleSinceMs } = instance;
    const ofKind = this.#idle.get(instanceClass) ?? { count: 0, agents: [] };
    this.#idle.set(instanceClass, ofKind);
    ofKind.count++;
    const byKind = this.#idleOf.get(agentId) ?? new Map<InstanceClass, OfAgent>();
    this.#idleOf.set(agentId, byKind);
    const known = byKind.get(instanceClass);
    if (!known) {
      const busy = this.#busy.get(agentId) ?? 0;
      const ofAgent = { agentId, busy, idleSinceMs, instances: [instance], number: ++this.#latestNumber };
      byKind.set(instanceClass, ofAgent);
      insertSorted(ofKind.agents, ofAgent, compareLocations);
      return;
    }
    const { instances } = known;
    let at = instances.length;
    while (at > 0 && idleSinceMs < (instances[at - 1] as IndexedInstance).idleSinceMs) at--;
    instances.splice(at, 0, instance);
    if (at === 0) moveTo(ofKind, known, { idleSinceMs });
  }

  #removeIdle(instance: IndexedInstance): void {
    const { instanceClass, agentId } = instance;
    const ofKind = this.#idle.get(instanceClass);
    const byKind = this.#idleOf.get(agentId);
    const ofAgent = byKind?.get(instanceClass);
    if (!ofKind || !byKind || !ofAgent) return;
    ofKind.count--;
    if (ofKind.count === 0) this.#idle.delete(instanceClass);
    const { instances } = ofAgent;
    instances.splice(instances.indexOf(instance), 1);
    const [first] = instances;
    if (first) {
      if (first.idleSinceMs !== ofAgent.idleSinceMs)
        moveTo(ofKind, ofAgent, { idleSinceMs: first.idleSinceMs });
      return;
    }
    removeSorted(ofKind.agents, ofAgent, compareLocations);
    byKind.delete(instanceClass);
    if (byKind.size === 0) this.#idleOf.delete(agentId);
  }
}

/** Nothing else decides about the place. */
function moveTo(
  ofKind: OfClass,
  ofAgent: OfAgent,
  place: Partial<Pick<OfAgent, 'busy' | 'idleSinceMs'>>,
): void {
  removeSorted(ofKind.agents, ofAgent, compareLocations);
  Object.assign(ofAgent, place);
  insertSorted(ofKind.agents, ofAgent, compareLocations);
}

function keyOf({ version, labels }: InstanceClass): string {
  return JSON.stringify([version, labels]);
}
