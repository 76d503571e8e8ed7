/**
 * Index of the instances by class and host, as matching needs it. Lookups cost as many steps as there are classes and hosts,
 * however many instances there are.
 */

import type { LentHostEnd } from '../../core/hosts/lent-host.js';
import {
  classKey,
  compareLocations,
  type IdleInstance,
  type IdleInstances,
  type IdleOfHost,
  type InstanceClass,
} from '../../core/idle-instances.js';
import { insertSorted, removeSorted } from '../../core/sorted.js';

/** `idleSinceMs` changes only while the instance is not idle. */
export interface IndexedInstance extends IdleInstance {
  /** Written by the index only; NONE at first. */
  availability: Availability;
}

/** IDLE: can begin a task of this hub now. UP: is up, but cannot. NONE: is not up, takes tasks of other hubs only, or its agent is drained. */
export type Availability = 'IDLE' | 'UP' | 'NONE';

interface KnownClass {
  readonly instanceClass: InstanceClass;
  count: number;
}

interface OfHost extends IdleOfHost {
  busy: number;
  idleSinceMs: number;
  lentHost: LentHostEnd | null;
  readonly instances: IndexedInstance[];
}

interface OfClass {
  count: number;
  readonly hosts: OfHost[];
}

/** Idle instances of an agent: by class, and by the id of the lent host, or null for that of the agent. */
type OfAgent = Map<InstanceClass, Map<string | null, OfHost>>;

export class InstanceIndex {
  /** Known classes with their number of instances, by {@link classKey}. */
  readonly #classes = new Map<string, KnownClass>();
  #classesVersion = 0;
  readonly #idle = new Map<InstanceClass, OfClass>();
  /** Entries of {@link #idle} by agent. */
  readonly #idleOf = new Map<string, OfAgent>();
  #lentHosts = 0;
  /** Number of working instances by agent; only agents with any. */
  readonly #busy = new Map<string, number>();
  #latestNumber = 0;
  /** Number of instances that are UP or IDLE, by class and agent; only those with any. */
  readonly #up = new Map<InstanceClass, Map<string, number>>();

  /** Rises when the first instance of a class becomes known, or the last one is removed. */
  get classesVersion(): number {
    return this.#classesVersion;
  }

  /** Classes of the known instances. */
  get classes(): InstanceClass[] {
    return [...this.#classes.values()].map(({ instanceClass }) => instanceClass);
  }

  /** A live view, to be used synchronously. */
  get idle(): IdleInstances {
    return this.#idle;
  }

  /** Number of lent hosts that come and go, by class, with idle instances. */
  get lentHosts(): number {
    return this.#lentHosts;
  }

  /** Agents that are not drained, with an instance of this class that is up, idle or not. */
  agentsUp(instanceClass: InstanceClass): Iterable<string> {
    return this.#up.get(instanceClass)?.keys() ?? [];
  }

  /** Counts another instance. Returns its class: the same object for equal ones. */
  add({ version, labels, runs }: InstanceClass): InstanceClass {
    const key = classKey({ version, labels, runs });
    const known = this.#classes.get(key);
    if (known) {
      known.count++;
      return known.instanceClass;
    }
    const instanceClass = { version, labels, runs };
    this.#classes.set(key, { instanceClass, count: 1 });
    this.#classesVersion++;
    return instanceClass;
  }

  /** Removes an instance of this class, whose availability is NONE. */
  remove(instanceClass: InstanceClass): void {
    const key = classKey(instanceClass);
    const known = this.#classes.get(key);
    if (!known || --known.count > 0) return;
    this.#classes.delete(key);
    this.#classesVersion++;
  }

  /** Records the availability of the instance. */
  setAvailability(instance: IndexedInstance, availability: Availability): void {
    const former = instance.availability;
    if (availability === former) return;
    instance.availability = availability;
    if (former === 'NONE') this.#countUp(instance, 1);
    if (former === 'IDLE') this.#removeIdle(instance);
    if (availability === 'IDLE') this.#addIdle(instance);
    if (availability === 'NONE') this.#countUp(instance, -1);
  }

  /** Changes the number of working instances of the agent. */
  changeBusy(agentId: string, change: number): void {
    const busy = (this.#busy.get(agentId) ?? 0) + change;
    if (busy > 0) this.#busy.set(agentId, busy);
    else this.#busy.delete(agentId);
    for (const [instanceClass, hosts] of this.#idleOf.get(agentId) ?? []) {
      for (const ofHost of hosts.values()) moveTo(this.#idle.get(instanceClass) as OfClass, ofHost, { busy });
    }
  }

  #countUp({ instanceClass, agentId }: IndexedInstance, change: 1 | -1): void {
    const ofClass = this.#up.get(instanceClass) ?? new Map<string, number>();
    const count = (ofClass.get(agentId) ?? 0) + change;
    if (count > 0) ofClass.set(agentId, count);
    else ofClass.delete(agentId);
    if (ofClass.size > 0) this.#up.set(instanceClass, ofClass);
    else this.#up.delete(instanceClass);
  }

  #addIdle(instance: IndexedInstance): void {
    const { instanceClass, agentId, lentHost = null, idleSinceMs } = instance;
    const ofClass = this.#idle.get(instanceClass) ?? { count: 0, hosts: [] };
    this.#idle.set(instanceClass, ofClass);
    ofClass.count++;
    const ofAgent: OfAgent = this.#idleOf.get(agentId) ?? new Map();
    this.#idleOf.set(agentId, ofAgent);
    const hosts = ofAgent.get(instanceClass) ?? new Map<string | null, OfHost>();
    ofAgent.set(instanceClass, hosts);
    const known = hosts.get(lentHost?.id ?? null);
    if (!known) {
      const busy = this.#busy.get(agentId) ?? 0;
      const number = ++this.#latestNumber;
      const ofHost = { agentId, lentHost, busy, idleSinceMs, instances: [instance], number };
      hosts.set(lentHost?.id ?? null, ofHost);
      insertSorted(ofClass.hosts, ofHost, compareLocations);
      if (lentHost) this.#lentHosts++;
      return;
    }
    // The latest statement counts.
    known.lentHost = lentHost;
    const { instances } = known;
    let at = instances.length;
    while (at > 0 && idleSinceMs < (instances[at - 1] as IndexedInstance).idleSinceMs) at--;
    instances.splice(at, 0, instance);
    if (at === 0) moveTo(ofClass, known, { idleSinceMs });
  }

  #removeIdle(instance: IndexedInstance): void {
    const { instanceClass, agentId, lentHost = null } = instance;
    const ofClass = this.#idle.get(instanceClass);
    const ofAgent = this.#idleOf.get(agentId);
    const hosts = ofAgent?.get(instanceClass);
    const ofHost = hosts?.get(lentHost?.id ?? null);
    if (!ofClass || !ofAgent || !hosts || !ofHost) return;
    ofClass.count--;
    if (ofClass.count === 0) this.#idle.delete(instanceClass);
    const { instances } = ofHost;
    instances.splice(instances.indexOf(instance), 1);
    const [first] = instances;
    if (first) {
      if (first.idleSinceMs !== ofHost.idleSinceMs)
        moveTo(ofClass, ofHost, { idleSinceMs: first.idleSinceMs });
      return;
    }
    removeSorted(ofClass.hosts, ofHost, compareLocations);
    if (lentHost) this.#lentHosts--;
    hosts.delete(lentHost?.id ?? null);
    if (hosts.size === 0) ofAgent.delete(instanceClass);
    if (ofAgent.size === 0) this.#idleOf.delete(agentId);
  }
}

/** Moves the entry of a host within the order. */
function moveTo(
  ofClass: OfClass,
  ofHost: OfHost,
  place: Partial<Pick<OfHost, 'busy' | 'idleSinceMs'>>,
): void {
  removeSorted(ofClass.hosts, ofHost, compareLocations);
  Object.assign(ofHost, place);
  insertSorted(ofClass.hosts, ofHost, compareLocations);
}
