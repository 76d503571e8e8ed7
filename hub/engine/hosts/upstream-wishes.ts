/** Instances that upstreams want of the hosts of this hub. A wish that is not repeated ends. */
import { requirementKey } from '@workbench-hub/shared/domain/classifier';
import type { WantedInstances } from '@workbench-hub/shared/domain/lent-recipe';
import type { Clock } from '@workbench-hub/shared/runtime/runtime';
import type { WaitingGroup } from '../../core/hosts/plan.js';

/** Time for which a wish counts; the protocol of agents names it. */
const WISH_MS = 10_000;
/** User for whom their hosts are wanted: loans have no creator. */
const NOBODY = '';

export class UpstreamWishes {
  readonly #clock: Clock;
  /** By name of the upstream. */
  readonly #wishes = new Map<
    string,
    { readonly wanted: readonly WantedInstances[]; readonly atMs: number }
  >();

  #onChange: () => void = () => undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Sets what is called when instances are wanted, or no more. */
  onChange(listener: () => void): void {
    this.#onChange = listener;
  }

  /** Replaces what the upstream wants. */
  set(upstream: string, wanted: readonly WantedInstances[]): void {
    const hadWishes = this.#wishes.delete(upstream);
    if (wanted.length > 0) this.#wishes.set(upstream, { wanted, atMs: this.#clock.monotonicMs() });
    if (hadWishes !== wanted.length > 0) this.#onChange();
  }

  /** Wishes that count, by upstream and requirement. */
  groups(): WaitingGroup[] {
    const nowMs = this.#clock.monotonicMs();
    const groups: WaitingGroup[] = [];
    for (const [upstream, { wanted, atMs }] of this.#wishes) {
      if (nowMs - atMs < WISH_MS) groups.push(...groupsOf(upstream, wanted));
      else this.#wishes.delete(upstream);
    }
    return groups;
  }
}

function groupsOf(upstream: string, wanted: readonly WantedInstances[]): WaitingGroup[] {
  const groups = new Map<
    string,
    { requirement: WantedInstances['requirement']; counts: Map<string, number> }
  >();
  for (const { recipe, requirement, count } of wanted) {
    const key = requirementKey(requirement);
    const group = groups.get(key) ?? { requirement, counts: new Map<string, number>() };
    groups.set(key, group);
    group.counts.set(recipe, (group.counts.get(recipe) ?? 0) + count);
  }
  return [...groups.values()].map(({ requirement, counts }) => ({
    ...{ requirement, upstream, waitingFor: counts },
    forUser: NOBODY,
    medianMs: null,
  }));
}
