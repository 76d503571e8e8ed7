/** Which waiting task goes to which idle instance (decisions 3, "Order"). */
import type { Requirement } from '@workbench-hub/shared/domain/classifier';
import type { InstanceProfile } from '@workbench-hub/shared/domain/instance';
import { fits, surplusLabels } from '@workbench-hub/shared/domain/matching';

/** A task at or near the head of its group. */
export interface WaitingTask {
  readonly taskId: string;
  /** The group: the canonical requirement. */
  readonly requirementKey: string;
  readonly priorityRank: number;
  /** Grows with the time of the request. */
  readonly sequence: number;
}

/** What matching looks at in an instance; one object for all instances that are alike in it. */
export type InstanceKind = Pick<InstanceProfile, 'version' | 'labels'>;

export interface IdleInstance {
  readonly profile: InstanceProfile;
  readonly kind: InstanceKind;
  readonly agentId: string;
  /** How many instances of the same agent are working. */
  readonly busyOnAgent: number;
  readonly idleSinceMs: number;
}

/** By their kind; only kinds of which some are idle. */
export type IdleInstances = ReadonlyMap<InstanceKind, IdleOfKind>;

export interface IdleOfKind {
  readonly count: number;
  /** The ones of each agent, idle for longest first; only agents that have some. */
  readonly byAgent: ReadonlyMap<string, readonly IdleInstance[]>;
}

/** The kinds that satisfy a requirement, each with the number of labels that it has in excess: the fewer, the less is
 *  wasted on it. */
export type SuitableKinds = ReadonlyMap<InstanceKind, number>;

/** Tasks that require the same. */
export interface WaitingGroup {
  readonly suitable: SuitableKinds;
  /** Its first tasks, in order: at least as many as {@link countFitting} says could begin, if so many wait. */
  readonly heads: readonly WaitingTask[];
}

export interface Pairing {
  readonly task: WaitingTask;
  readonly instance: IdleInstance;
}

/** Negative when `a` comes first: by priority, then by time of the request. */
export function compareWaiting(a: WaitingTask, b: WaitingTask): number {
  return a.priorityRank - b.priorityRank || a.sequence - b.sequence;
}

export function suitableKinds(requirement: Requirement, kinds: Iterable<InstanceKind>): SuitableKinds {
  const suitable = new Map<InstanceKind, number>();
  for (const kind of kinds) {
    if (fits(requirement, kind)) suitable.set(kind, surplusLabels(requirement, kind));
  }
  return suitable;
}

/** How many of the idle instances are of these kinds. */
export function countFitting(suitable: SuitableKinds, idle: IdleInstances): number {
  let count = 0;
  for (const [kind, ofKind] of idle) if (suitable.has(kind)) count += ofKind.count;
  return count;
}

/** Whether an agent may be given a task, which an instance of it suits. */
export type MayGet = (taskId: string, agentId: string) => boolean;

/**
 * Gives each task, best first, the instance that suits it best, each instance at most once. Tasks for which no
 * instance is left stay unpaired. Without `mayGet` every agent may be given every task.
 */
export function pair(groups: readonly WaitingGroup[], idle: IdleInstances, mayGet?: MayGet): Pairing[] {
  const free = new FreeInstances(idle);
  const pairings: Pairing[] = [];
  const left = groups.map(({ suitable, heads }) => ({ suitable, heads, next: 0 }));

  while (free.areAny) {
    let best: { task: WaitingTask; of: (typeof left)[number] } | undefined;
    for (const of of left) {
      if (mayGet) passHeldBack(of, free, mayGet);
      const task = of.heads[of.next];
      if (!task || (best && compareWaiting(best.task, task) < 0)) continue;
      if (free.areAnyOf(of.suitable)) best = { task, of };
    }
    if (!best) break;
    const { task, of } = best;
    of.next++;
    const mayAgent = mayGet && ((agentId: string) => mayGet(task.taskId, agentId));
    pairings.push({ task, instance: free.take(of.suitable, mayAgent) });
  }
  return pairings;
}

/** Goes on to the first task that some free instance may be given, as far as there are any that suit. */
function passHeldBack(
  group: { readonly suitable: SuitableKinds; readonly heads: readonly WaitingTask[]; next: number },
  free: FreeInstances,
  mayGet: MayGet,
): void {
  if (!free.areAnyOf(group.suitable)) return;
  for (; ; group.next++) {
    const task = group.heads[group.next];
    if (!task || free.areAnyOf(group.suitable, (agentId) => mayGet(task.taskId, agentId))) return;
  }
}

/** Idle instances that have not been given a task yet. */
class FreeInstances {
  readonly #idle: IdleInstances;
  /** How many there are of each kind of which there are any. */
  readonly #left = new Map<InstanceKind, number>();
  /** How many were taken of those of an agent: always the first. */
  readonly #taken = new Map<readonly IdleInstance[], number>();
  readonly #newlyBusy = new Map<string, number>();

  constructor(idle: IdleInstances) {
    this.#idle = idle;
    for (const [kind, { count }] of idle) this.#left.set(kind, count);
  }

  get areAny(): boolean {
    return this.#left.size > 0;
  }

  /** Of these kinds, and of agents that may; without `mayAgent` all may. */
  areAnyOf(suitable: SuitableKinds, mayAgent?: (agentId: string) => boolean): boolean {
    for (const kind of this.#left.keys()) {
      if (!suitable.has(kind)) continue;
      if (!mayAgent) return true;
      for (const [agentId, ofAgent] of this.#agentsWith(kind)) {
        if (this.#firstOf(ofAgent) && mayAgent(agentId)) return true;
      }
    }
    return false;
  }

  /** The one with the fewest labels in excess, then on the least busy agent, then idle for longest. There is one. */
  take(suitable: SuitableKinds, mayAgent?: (agentId: string) => boolean): IdleInstance {
    let best: IdleInstance | undefined;
    let from: readonly IdleInstance[] = [];
    let surplusOfBest = 0;
    let busyWithBest = 0;
    for (const kind of this.#left.keys()) {
      const surplus = suitable.get(kind);
      if (surplus === undefined || (best && surplus > surplusOfBest)) continue;
      for (const ofAgent of this.#agentsWith(kind).values()) {
        const first = ofAgent[0] as IdleInstance;
        // What was taken of an agent only sets it back: of a thousand, most are passed over here.
        if (best && surplus === surplusOfBest && isBehind(first, best, busyWithBest)) continue;
        const { agentId } = first;
        const instance = this.#firstOf(ofAgent);
        if (!instance || (mayAgent && !mayAgent(agentId))) continue;
        const busy = instance.busyOnAgent + (this.#newlyBusy.get(agentId) ?? 0);
        const order = best
          ? surplus - surplusOfBest || busy - busyWithBest || instance.idleSinceMs - best.idleSinceMs
          : -1;
        if (order >= 0) continue;
        best = instance;
        from = ofAgent;
        surplusOfBest = surplus;
        busyWithBest = busy;
      }
    }
    this.#note(best as IdleInstance, from);
    return best as IdleInstance;
  }

  #agentsWith(kind: InstanceKind): ReadonlyMap<string, readonly IdleInstance[]> {
    return (this.#idle.get(kind) as IdleOfKind).byAgent;
  }

  #firstOf(ofAgent: readonly IdleInstance[]): IdleInstance | undefined {
    return ofAgent[this.#taken.get(ofAgent) ?? 0];
  }

  #note({ kind, agentId }: IdleInstance, ofAgent: readonly IdleInstance[]): void {
    this.#taken.set(ofAgent, (this.#taken.get(ofAgent) ?? 0) + 1);
    this.#newlyBusy.set(agentId, (this.#newlyBusy.get(agentId) ?? 0) + 1);
    const left = (this.#left.get(kind) ?? 0) - 1;
    if (left > 0) this.#left.set(kind, left);
    else this.#left.delete(kind);
  }
}

function isBehind(instance: IdleInstance, best: IdleInstance, busyWithBest: number): boolean {
  return (instance.busyOnAgent - busyWithBest || instance.idleSinceMs - best.idleSinceMs) >= 0;
}
