/** Supply of a plan of hosts: the instances that take a task now, or soon. */
import { attemptKey } from '@workbench-hub/shared/domain/task';
import type { Clock } from '@workbench-hub/shared/runtime/runtime';
import type { NamedInstance } from '../../core/hosts/host-recipe.js';
import type { Supply, TakesTasksOf } from '../../core/hosts/plan.js';
import { classKey } from '../../core/idle-instances.js';
import type { Instances } from '../instances/instances.js';

export interface HostSupplyOptions {
  readonly instances: Pick<Instances, 'list' | 'find' | 'idleSinceMsOf' | 'attemptOn'>;
  /** Whose tasks an instance takes. */
  readonly takesTasksOf: (instance: NamedInstance) => TakesTasksOf;
  readonly clock: Clock;
}

/** Time within which an idle instance is expected to take a task that waits and fits it. */
const TAKES_TASKS_MS = 3000;
/** Time on one attempt after which an instance does not count as soon free. */
const BUSY_FOR_LONG_MS = 60_000;

export class HostSupply {
  readonly #options: HostSupplyOptions;
  /** Attempts that instances work on, or an empty text for one of another hub, and the time since which this hub has seen them. */
  readonly #busySince = new Map<string, { readonly key: string; readonly sinceMs: number }>();

  constructor(options: HostSupplyOptions) {
    this.#options = options;
  }

  reset(): void {
    this.#busySince.clear();
  }

  /** Instances by class, and by whose tasks they take. One that has been idle for a while although tasks wait that fit it cannot take them: it
   *  has no time for them, say. */
  read(): Supply[] {
    const { instances, clock, takesTasksOf } = this.#options;
    const byClass = new Map<string, Supply & { idle: number; busy: number }>();
    this.#forgetIdle();
    for (const { profile, status, working, lent, drain } of instances.list()) {
      const takes = takesTasksOf(profile);
      const isKept = lent !== undefined && lent !== 'OFFERED' && takes !== 'UPSTREAMS';
      if (status !== 'UP' || drain !== null || isKept) continue;
      const { version, labels, runs } = profile;
      const key = `${takes} ${classKey(profile)}`;
      const instanceClass = { version, labels, runs };
      const ofClass = byClass.get(key) ?? { ...{ instanceClass, takes }, idle: 0, busy: 0 };
      byClass.set(key, ofClass);
      const idleSinceMs = instances.idleSinceMsOf(profile.id);
      if (working) ofClass.busy += Number(!this.#isBusyForLong(profile.id));
      else if (idleSinceMs !== null && clock.monotonicMs() - idleSinceMs < TAKES_TASKS_MS) ofClass.idle++;
    }
    return [...byClass.values()];
  }

  #forgetIdle(): void {
    for (const id of this.#busySince.keys())
      if (!this.#options.instances.find(id)?.working) this.#busySince.delete(id);
  }

  /** Whether an instance has worked on one attempt for so long that it is not soon free, however short the tasks are that wait. */
  #isBusyForLong(instanceId: string): boolean {
    const { instances, clock } = this.#options;
    const nowMs = clock.monotonicMs();
    const attempt = instances.attemptOn(instanceId);
    const key = attempt ? attemptKey(attempt) : '';
    const known = this.#busySince.get(instanceId);
    const sinceMs = known?.key === key ? known.sinceMs : nowMs;
    this.#busySince.set(instanceId, { key, sinceMs });
    return nowMs - sinceMs > BUSY_FOR_LONG_MS;
  }
}
