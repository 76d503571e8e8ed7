/**
 * Instances by what matching looks at: their kind, and the agent that holds them. What it is asked costs as many steps as
 * there are kinds and agents, however many instances there are.
 */
import type { IdleInstance, IdleInstances, InstanceKind } from '../core/rank.js';

/** Since when it is idle changes only while it is not. */
export interface IndexedInstance extends IdleInstance {
  /** Whether it could begin a task now. Written by the index only; false to begin with. */
  isIdle: boolean;
}

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

  /** An instance of this kind, which is not idle, is not known any more. */
  remove(kind: InstanceKind): void {
    const key = keyOf(kind);
    const known = this.#kinds.get(key);
    if (!known || --known.count > 0) return;
    this.#kinds.delete(key);
    this.#kindsVersion++;
  }

  /** Whether the instance could begin a task from now on. */
  setIdle(instance: IndexedInstance, isIdle: boolean): void {
    if (isIdle === instance.isIdle) return;
    instance.isIdle = isIdle;
    if (isIdle) this.#addIdle(instance);
    else this.#removeIdle(instance);
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
