/** Which waiting task goes to which idle instance (decisions 3, "Order"). */
import { type Requirement, requirementOfKey } from '@workbench-hub/shared/domain/classifier';
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

export interface IdleInstance {
  readonly profile: InstanceProfile;
  readonly agentId: string;
  /** How many instances of the same agent are working. */
  readonly busyOnAgent: number;
  readonly idleSinceMs: number;
}

export interface Pairing {
  readonly task: WaitingTask;
  readonly instance: IdleInstance;
}

/** Negative when `a` comes first: by priority, then by time of the request. */
export function compareWaiting(a: WaitingTask, b: WaitingTask): number {
  return a.priorityRank - b.priorityRank || a.sequence - b.sequence;
}

/**
 * Gives each task, best first, the instance that suits it best, each instance at most once. Tasks for which no
 * instance is left stay unpaired.
 */
export function pair(tasks: readonly WaitingTask[], idle: readonly IdleInstance[]): Pairing[] {
  const free = new Set(idle);
  const newlyBusy = new Map<string, number>();
  const busy = ({ agentId, busyOnAgent }: IdleInstance) => busyOnAgent + (newlyBusy.get(agentId) ?? 0);
  const pairings: Pairing[] = [];

  for (const task of [...tasks].sort(compareWaiting)) {
    if (free.size === 0) break;
    const requirement = requirementOfKey(task.requirementKey);
    let best: { instance: IdleInstance; surplus: number } | undefined;
    for (const instance of free) {
      if (!fits(requirement, instance.profile)) continue;
      const surplus = surplusLabels(requirement, instance.profile);
      const order = best
        ? surplus - best.surplus ||
          busy(instance) - busy(best.instance) ||
          instance.idleSinceMs - best.instance.idleSinceMs
        : -1;
      if (order < 0) best = { instance, surplus };
    }
    if (!best) continue;
    free.delete(best.instance);
    newlyBusy.set(best.instance.agentId, (newlyBusy.get(best.instance.agentId) ?? 0) + 1);
    pairings.push({ task, instance: best.instance });
  }
  return pairings;
}

/** How many of the idle instances satisfy the requirement. */
export function countFitting(requirement: Requirement, idle: readonly IdleInstance[]): number {
  return idle.reduce((count, { profile }) => count + (fits(requirement, profile) ? 1 : 0), 0);
}
