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
export function countFitting(suitable: SuitableKinds, idle: readonly IdleInstance[]): number {
  let count = 0;
  for (const { kind } of idle) if (suitable.has(kind)) count++;
  return count;
}

/** Whether an agent may be given a task, which an instance of it suits. */
export type MayGet = (taskId: string, agentId: string) => boolean;

/**
 * Gives each task, best first, the instance that suits it best, each instance at most once. Tasks for which no
 * instance is left stay unpaired. Without `mayGet` every agent may be given every task.
 */
export function pair(
  groups: readonly WaitingGroup[],
  idle: readonly IdleInstance[],
  mayGet?: MayGet,
): Pairing[] {
  const free = new Set(idle);
  const newlyBusy = new Map<string, number>();
  const pairings: Pairing[] = [];
  const left = groups.map(({ suitable, heads }) => ({ suitable, heads, next: 0 }));

  while (free.size > 0) {
    let best: { task: WaitingTask; of: (typeof left)[number] } | undefined;
    for (const of of left) {
      if (mayGet) passHeldBack(of, free, mayGet);
      const task = of.heads[of.next];
      if (!task || (best && compareWaiting(best.task, task) < 0)) continue;
      if (anySuits(of.suitable, free)) best = { task, of };
    }
    if (!best) break;
    best.of.next++;
    const { taskId } = best.task;
    const allowed = mayGet ? new Set([...free].filter(({ agentId }) => mayGet(taskId, agentId))) : free;
    const instance = mostSuitable(best.of.suitable, allowed, newlyBusy);
    free.delete(instance);
    newlyBusy.set(instance.agentId, (newlyBusy.get(instance.agentId) ?? 0) + 1);
    pairings.push({ task: best.task, instance });
  }
  return pairings;
}

/** Goes on to the first task that some free instance may be given, as far as there are any that suit. */
function passHeldBack(
  group: { readonly suitable: SuitableKinds; readonly heads: readonly WaitingTask[]; next: number },
  free: ReadonlySet<IdleInstance>,
  mayGet: MayGet,
): void {
  const suiting = [...free].filter(({ kind }) => group.suitable.has(kind));
  if (suiting.length === 0) return;
  for (; ; group.next++) {
    const task = group.heads[group.next];
    if (!task || suiting.some(({ agentId }) => mayGet(task.taskId, agentId))) return;
  }
}

function anySuits(suitable: SuitableKinds, free: ReadonlySet<IdleInstance>): boolean {
  for (const { kind } of free) if (suitable.has(kind)) return true;
  return false;
}

/** The one with the fewest labels in excess, then on the least busy agent, then idle for longest. One of them suits. */
function mostSuitable(
  suitable: SuitableKinds,
  free: ReadonlySet<IdleInstance>,
  newlyBusy: ReadonlyMap<string, number>,
): IdleInstance {
  const busy = ({ agentId, busyOnAgent }: IdleInstance) => busyOnAgent + (newlyBusy.get(agentId) ?? 0);
  let best: { instance: IdleInstance; surplus: number } | undefined;
  for (const instance of free) {
    const surplus = suitable.get(instance.kind);
    if (surplus === undefined) continue;
    const order = best
      ? surplus - best.surplus ||
        busy(instance) - busy(best.instance) ||
        instance.idleSinceMs - best.instance.idleSinceMs
      : -1;
    if (order < 0) best = { instance, surplus };
  }
  return (best as { instance: IdleInstance }).instance;
}
