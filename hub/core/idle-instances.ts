/** Idle instances, in the order in which they receive tasks (contract 2.3). */
import { type InstanceProfile, kindKey } from '@workbench-hub/shared/domain/instance';
import type { LentHostEnd } from './hosts/lent-host.js';
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
  /** Only of one that a joined hub lends from a host that comes and goes. */
  readonly lentHost?: LentHostEnd | null;
  readonly idleSinceMs: number;
}

/** Idle instances by class; only classes that have some. */
export type IdleInstances = ReadonlyMap<InstanceClass, IdleOfClass>;

export interface IdleOfClass {
  readonly count: number;
  /** Hosts with idle instances, in the order of {@link compareLocations}. */
  readonly hosts: readonly IdleOfHost[];
}

/** Host of an idle instance: that of its agent, or, of a joined hub, one that it lends from. */
export type HostOfInstance = Pick<IdleInstance, 'agentId' | 'lentHost'>;

/** Position of a host in the order in which hosts receive tasks. */
export interface InstanceLocation {
  /** Number of working instances of its agent, of all classes. */
  readonly busy: number;
  /** Start of the longest idle time of its instances. */
  readonly idleSinceMs: number;
  /** Unique number of the host, as the last criterion. */
  readonly number: number;
}

/** Idle instances of one class and host. */
export interface IdleOfHost extends InstanceLocation, HostOfInstance {
  /** Longest idle first; at least one. */
  readonly instances: readonly IdleInstance[];
}

/** Negative when `a` comes first: the less busy agent, then the instance that has been idle for longest. */
export function compareLocations(a: InstanceLocation, b: InstanceLocation): number {
  return a.busy - b.busy || a.idleSinceMs - b.idleSinceMs || a.number - b.number;
}

/** Classes that fit a requirement, with their number of surplus labels. */
export type FittingClasses = ReadonlyMap<InstanceClass, number>;

/** Whether the task may be dispatched to a host. */
export type IsHostAllowed = (host: HostOfInstance) => boolean;

/** Idle instances that a round has not paired yet. Pairings of the round count as work of their agents. Only the first hosts are
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

  /** Whether one of these classes is left on a host that `isHostAllowed` permits; without it, all are permitted. */
  hasAny(fitting: FittingClasses, isHostAllowed?: IsHostAllowed): boolean {
    for (const [instanceClass, free] of this.#classes) {
      if (fitting.has(instanceClass) && (!isHostAllowed || free.first(isHostAllowed))) return true;
    }
    return false;
  }

  /** Takes the instance with the fewest surplus labels, then on the least busy agent, then idle for longest. Throws when none
   *  is left. */
  take(fitting: FittingClasses, isHostAllowed?: IsHostAllowed): IdleInstance {
    let best: { instanceClass: InstanceClass; candidate: Candidate; surplus: number } | undefined;
    for (const [instanceClass, free] of this.#classes) {
      const surplus = fitting.get(instanceClass);
      if (surplus === undefined || (best && surplus > best.surplus)) continue;
      const candidate = free.first(isHostAllowed);
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

/** Instances of a host, some of which may have been taken. */
interface Candidate extends InstanceLocation {
  readonly host: IdleOfHost;
  /** Index of its first instance that is left. */
  readonly at: number;
}

class FreeOfClass {
  readonly #hosts: readonly IdleOfHost[];
  /** Pairings of the round by agent, over all classes. */
  readonly #newlyBusy: Map<string, number>;
  /** Index of the first host that is not among the candidates yet. */
  #next = 0;
  /** Sorted. */
  readonly #candidates: Candidate[] = [];
  count: number;

  constructor({ hosts, count }: IdleOfClass, newlyBusy: Map<string, number>) {
    this.#hosts = hosts;
    this.#newlyBusy = newlyBusy;
    this.count = count;
  }

  /** The best candidate that is permitted. */
  first(isHostAllowed?: IsHostAllowed): Candidate | undefined {
    const notPermitted: Candidate[] = [];
    let best = this.#shiftFirst();
    while (best && isHostAllowed && !isHostAllowed(best.host)) {
      notPermitted.push(best);
      best = this.#shiftFirst();
    }
    for (const candidate of notPermitted) this.#insert(candidate);
    if (best) this.#insert(best);
    return best;
  }

  /** Takes the first instance of a candidate, which {@link first} returned last. */
  take(candidate: Candidate): IdleInstance {
    const { host, at } = candidate;
    this.#candidates.splice(this.#candidates.indexOf(candidate), 1);
    this.#newlyBusy.set(host.agentId, (this.#newlyBusy.get(host.agentId) ?? 0) + 1);
    this.count--;
    if (at + 1 < host.instances.length) this.#add(host, at + 1);
    return host.instances[at] as IdleInstance;
  }

  #shiftFirst(): Candidate | undefined {
    for (;;) {
      const [known] = this.#candidates;
      const next = this.#hosts[this.#next];
      // A pairing only moves a host back, so the former order tells which one to examine next.
      if (next && (!known || compareLocations(next, known) < 0)) {
        this.#next++;
        this.#add(next, 0);
        continue;
      }
      if (!known) return undefined;
      this.#candidates.shift();
      if (known.busy === this.#busyNow(known.host)) return known;
      this.#add(known.host, known.at);
    }
  }

  #add(host: IdleOfHost, at: number): void {
    const { idleSinceMs } = host.instances[at] as IdleInstance;
    this.#insert({ host, at, busy: this.#busyNow(host), idleSinceMs, number: host.number });
  }

  #insert(candidate: Candidate): void {
    insertSorted(this.#candidates, candidate, compareLocations);
  }

  #busyNow({ agentId, busy }: IdleOfHost): number {
    return busy + (this.#newlyBusy.get(agentId) ?? 0);
  }
}
