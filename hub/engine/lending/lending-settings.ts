/** Settings of lending: the upstreams, and which instances are lent to them. */
import { matchesWildcard } from '@workbench-hub/shared/domain/wildcard';
import type { NamedInstance } from '../../core/hosts/host-recipe.js';
import type { TakesTasksOf } from '../../core/hosts/plan.js';

/** Time of the day, by the clock of the machine: minutes from midnight. `to` is excluded, and may be earlier than `from`: over midnight. */
export interface Hours {
  readonly fromMinute: number;
  readonly toMinute: number;
}

export interface LendingRule {
  /** Labels of which a lent instance has at least one, in lower case; none: of any instance. */
  readonly labels: readonly string[];
  /** Ids of lent instances, with the wildcards `*` and `?`; none: any. */
  readonly instances: readonly string[];
  /** Number of instances that are offered or on loan at a time; null for any. */
  readonly max: number | null;
  /** Whether the instances take tasks of the upstream only. */
  readonly isAlways: boolean;
  /** Time for which a task of this hub waits before a loan is taken back for it; null: for ever. */
  readonly takeBackMs: number | null;
  /** Hours in which instances are offered; none: always. */
  readonly hours: readonly Hours[];
  /** Whether recipes bring hosts for tasks of the upstream. */
  readonly hasHosts: boolean;
}

/** A hub that this hub joins as an agent. */
export interface UpstreamSettings {
  /** Name by which this hub knows it. */
  readonly name: string;
  /** Id of this hub there. */
  readonly agentId: string;
  /** Beginning of the ids that lent instances have there. */
  readonly prefix: string;
  readonly lend: LendingRule;
}

/** Whether an instance with this id and these labels may be lent. */
export function mayBeLent({ labels, instances }: LendingRule, profile: NamedInstance): boolean {
  const isNamed = instances.length === 0 || instances.some((pattern) => matchesWildcard(pattern, profile.id));
  return (
    isNamed && (labels.length === 0 || profile.labels.some((label) => labels.includes(label.toLowerCase())))
  );
}

/** Whether an instance takes tasks of one of these upstreams only. */
export function isLentForGood(upstreams: readonly UpstreamSettings[]): (profile: NamedInstance) => boolean {
  const rules = upstreams.map(({ lend }) => lend).filter(({ isAlways }) => isAlways);
  return (profile) => rules.some((rule) => mayBeLent(rule, profile));
}

/** Whose tasks an instance takes: those of this hub, of upstreams, or both. */
export function takesTasksOf(
  upstreams: readonly UpstreamSettings[],
): (instance: NamedInstance) => TakesTasksOf {
  const isForGood = isLentForGood(upstreams);
  return (instance) => {
    if (isForGood(instance)) return 'UPSTREAMS';
    return upstreams.some(({ lend }) => lend.hasHosts && mayBeLent(lend, instance)) ? 'BOTH' : 'OWN';
  };
}

/** Whether instances are offered at this minute of the day. */
export function isWithin(hours: readonly Hours[], minute: number): boolean {
  if (hours.length === 0) return true;
  return hours.some(({ fromMinute, toMinute }) =>
    fromMinute <= toMinute
      ? minute >= fromMinute && minute < toMinute
      : minute >= fromMinute || minute < toMinute,
  );
}
