/** Instances that upstreams want of the hosts of this hub. A wish that is not repeated brings no more hosts, and ends. */
import type { WantedInstances } from '@workbench-hub/shared/domain/lent-recipe';
import type { Clock } from '@workbench-hub/shared/runtime/runtime';
import { NOBODY, type WaitingGroup } from '../../core/hosts/plan.js';

/** Time for which a wish keeps what is coming for it; the README of the protocol of agents names it. */
const WISH_MS = 10_000;
/** Time after which a wish is late: upstreams repeat theirs each second. */
const LATE_MS = 3000;

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

  /** Sets what is called when instances are wanted, or no longer wanted. */
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
      if (nowMs - atMs < WISH_MS) groups.push(...groupsOf(upstream, wanted, nowMs - atMs >= LATE_MS));
      else this.#wishes.delete(upstream);
    }
    return groups;
  }
}

function groupsOf(upstream: string, wanted: readonly WantedInstances[], isFading: boolean): WaitingGroup[] {
  return wanted.map(({ recipe, requirement, count }) => ({
    ...{ requirement, upstream, isFading },
    waitingFor: new Map([[recipe, count]]),
    forUser: NOBODY,
    medianMs: null,
  }));
}
