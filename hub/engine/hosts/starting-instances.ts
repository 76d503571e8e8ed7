/** Instances of allocations whose agents have joined that have never been up, and may come up soon. */
import type { AgentView } from '../../core/ports/nodes.js';

export class StartingInstances {
  /** Ids of instances that have been seen, by allocation, and whether they have been up. */
  readonly #seen = new Map<string, Map<string, boolean>>();

  reset(): void {
    this.#seen.clear();
  }

  /** Forgets all other allocations. */
  keep(ids: ReadonlySet<string>): void {
    for (const id of this.#seen.keys()) if (!ids.has(id)) this.#seen.delete(id);
  }

  /** Number of instances of an agent that have never been up. Those of an agent that is unreachable are as they were seen last: the tasks of one
   *  that was up need another host. */
  countOf(
    id: string,
    { isReady, instances }: { readonly isReady: boolean } & Pick<AgentView, 'instances'>,
  ): number {
    const seen = this.#seen.get(id) ?? new Map<string, boolean>();
    this.#seen.set(id, seen);
    if (isReady) {
      for (const { profile, status } of instances)
        seen.set(profile.id, status === 'UP' || seen.get(profile.id) === true);
    }
    return instances.filter(({ profile }) => seen.get(profile.id) === false).length;
  }
}
