/**
 * Instances by what matching looks at: their kind, and the agent that holds them. What it is asked costs as many steps as
 * there are kinds and agents, however many instances there are.
 */
import type { IdleInstance, IdleInstances, InstanceKind } from '../core/rank.js';

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

interface IdleOfKind {
  count: number;
  readonly byAgent: Map<string, IndexedInstance[]>;
}

export class InstanceIndex {
  /** With how many instances there are of each, by version and labels. */
  readonly #kinds = new Map<string, KnownKind>();
  #kindsVersion = 0;
  readonly #idle = new Map<InstanceKind, IdleOfKind>();
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

  #countUp({ kind, agentId }: IndexedInstance, change: 1 | -1): void {
    const ofKind = this.#up.get(kind) ?? new Map<string, number>();
    const count = (ofKind.get(agentId) ?? 0) + change;
    if (count > 0) ofKind.set(agentId, count);
    else ofKind.delete(agentId);
    if (ofKind.size > 0) this.#up.set(kind, ofKind);
    else this.#up.delete(kind);
  }

  #addIdle(instance: IndexedInstance): void {
    const { kind, agentId } = instance;
    let ofKind = this.#idle.get(kind);
    if (!ofKind) {
      ofKind = { count: 0, byAgent: new Map() };
      this.#idle.set(kind, ofKind);
    }
    ofKind.count++;
    const ofAgent = ofKind.byAgent.get(agentId);
    if (!ofAgent) ofKind.byAgent.set(agentId, [instance]);
    else {
      let at = ofAgent.length;
      while (at > 0 && instance.idleSinceMs < (ofAgent[at - 1] as IndexedInstance).idleSinceMs) at--;
      ofAgent.splice(at, 0, instance);
    }
  }

  #removeIdle(instance: IndexedInstance): void {
    const { kind, agentId } = instance;
    const ofKind = this.#idle.get(kind);
    const ofAgent = ofKind?.byAgent.get(agentId);
    if (!ofKind || !ofAgent) return;
    ofAgent.splice(ofAgent.indexOf(instance), 1);
    if (ofAgent.length === 0) ofKind.byAgent.delete(agentId);
    ofKind.count--;
    if (ofKind.count === 0) this.#idle.delete(kind);
  }
}

function keyOf({ version, labels }: InstanceKind): string {
  return JSON.stringify([version, labels]);
}
