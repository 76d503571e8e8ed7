/**
 * Instances by what matching looks at: their kind, and the agent that holds them. What it is asked costs as many steps as
 * there are kinds and agents, however many instances there are.
 */
import {
  comparePlaces,
  type IdleInstance,
  type IdleInstances,
  type IdleOfAgent,
  type InstanceKind,
} from '../core/idle-instances.js';
import { insertSorted, removeSorted } from '../core/sorted.js';

/** Since when it is idle changes only while it is not. */
export interface IndexedInstance extends IdleInstance {
  /** Written by the index only; NONE to begin with. */
  availability: Availability;
}

/** IDLE: could begin a task now. UP: is up, but could not. NONE: is not up. */
export type Availability = 'IDLE' | 'UP' | 'NONE';

interface KnownKind {
  readonly kind: InstanceKind;
  count: number;
}

interface OfAgent extends IdleOfAgent {
  busy: number;
  idleSinceMs: number;
  readonly instances: IndexedInstance[];
}

interface OfKind {
  count: number;
  readonly agents: OfAgent[];
}

export class InstanceIndex {
  /** With how many instances there are of each, by version and labels. */
  readonly #kinds = new Map<string, KnownKind>();
  #kindsVersion = 0;
  readonly #idle = new Map<InstanceKind, OfKind>();
  /** What stands there of each agent that has idle instances. */
  readonly #idleOf = new Map<string, Map<InstanceKind, OfAgent>>();
  /** How many instances work, of each agent of which any do. */
  readonly #busy = new Map<string, number>();
  #latestNumber = 0;
  /** How many are up, idle or not, of each kind and agent of which any are. */
  readonly #up = new Map<InstanceKind, Map<string, number>>();

  /** Rises whenever the first instance of a kind becomes known, or the last one is forgotten. */
  get kindsVersion(): number {
    return this.#kindsVersion;
  }

  /** Of the known instances. */
  get kinds(): InstanceKind[] {
    return [...this.#kinds.values()].map(({ kind }) => kind);
  }

  /** As it is at any time, to be used at once. */
  get idle(): IdleInstances {
    return this.#idle;
  }

  /** The agents that have an instance of this kind up, idle or not. */
  agentsUp(kind: InstanceKind): Iterable<string> {
    return this.#up.get(kind)?.keys() ?? [];
  }

  /** Another instance is known. Gives its kind: the same object for all that are alike. */
  add({ version, labels }: InstanceKind): InstanceKind {
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
  remove(kind: InstanceKind): void {
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
      moveTo(this.#idle.get(kind) as OfKind, ofAgent, { busy });
    }
  }

  #countUp({ kind, agentId }: IndexedInstance, change: 1 | -1): void {
    const ofKind = this.#up.get(kind) ?? new Map<string, number>();
    const count = (ofKind.get(agentId) ?? 0) + change;
    if (count > 0) ofKind.set(agentId, count);
    else ofKind.delete(agentId);
    if (ofKind.size > 0) this.#up.set(kind, ofKind);
    else this.#up.delete(kind);
  }

  #addIdle(instance: IndexedInstance): void {
    const { kind, agentId, idleSinceMs } = instance;
    const ofKind = this.#idle.get(kind) ?? { count: 0, agents: [] };
    this.#idle.set(kind, ofKind);
    ofKind.count++;
    const byKind = this.#idleOf.get(agentId) ?? new Map<InstanceKind, OfAgent>();
    this.#idleOf.set(agentId, byKind);
    const known = byKind.get(kind);
    if (!known) {
      const busy = this.#busy.get(agentId) ?? 0;
      const ofAgent = { agentId, busy, idleSinceMs, instances: [instance], number: ++this.#latestNumber };
      byKind.set(kind, ofAgent);
      insertSorted(ofKind.agents, ofAgent, comparePlaces);
      return;
    }
    const { instances } = known;
    let at = instances.length;
    while (at > 0 && idleSinceMs < (instances[at - 1] as IndexedInstance).idleSinceMs) at--;
    instances.splice(at, 0, instance);
    if (at === 0) moveTo(ofKind, known, { idleSinceMs });
  }

  #removeIdle(instance: IndexedInstance): void {
    const { kind, agentId } = instance;
    const ofKind = this.#idle.get(kind);
    const byKind = this.#idleOf.get(agentId);
    const ofAgent = byKind?.get(kind);
    if (!ofKind || !byKind || !ofAgent) return;
    ofKind.count--;
    if (ofKind.count === 0) this.#idle.delete(kind);
    const { instances } = ofAgent;
    instances.splice(instances.indexOf(instance), 1);
    const [first] = instances;
    if (first) {
      if (first.idleSinceMs !== ofAgent.idleSinceMs)
        moveTo(ofKind, ofAgent, { idleSinceMs: first.idleSinceMs });
      return;
    }
    removeSorted(ofKind.agents, ofAgent, comparePlaces);
    byKind.delete(kind);
    if (byKind.size === 0) this.#idleOf.delete(agentId);
  }
}

/** Nothing else decides about the place. */
function moveTo(
  ofKind: OfKind,
  ofAgent: OfAgent,
  place: Partial<Pick<OfAgent, 'busy' | 'idleSinceMs'>>,
): void {
  removeSorted(ofKind.agents, ofAgent, comparePlaces);
  Object.assign(ofAgent, place);
  insertSorted(ofKind.agents, ofAgent, comparePlaces);
}

function keyOf({ version, labels }: InstanceKind): string {
  return JSON.stringify([version, labels]);
}
