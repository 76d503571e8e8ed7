/** Number of instances by class and state, kept with each change: reading it costs nothing, however many instances there are. */
import { carriedLabels } from '@workbench-hub/shared/domain/matching';
import type { InstanceClass } from '../../core/idle-instances.js';
import { type CountedClass, type CountedState, instancesIn, noInstances } from '../../core/wait-reason.js';

interface Counted {
  readonly instanceClass: InstanceClass;
}

interface MutableClass extends CountedClass {
  readonly counts: Record<CountedState, number>;
}

export class InstanceCounts {
  readonly #classes = new Map<InstanceClass, MutableClass>();
  readonly #stateOf = new Map<Counted, CountedState>();

  #version = 0;

  /** Rises with each change. */
  get version(): number {
    return this.#version;
  }

  /** Classes of the counted instances; their counts are live. */
  get classes(): Iterable<CountedClass> {
    return this.#classes.values();
  }

  /** Records the state of the instance; null when it is removed. */
  set(instance: Counted, state: CountedState | null): void {
    const former = this.#stateOf.get(instance) ?? null;
    if (state === former) return;
    this.#version++;
    const { instanceClass } = instance;
    const counted = this.#classes.get(instanceClass) ?? newClass(instanceClass);
    if (former !== null) counted.counts[former]--;
    if (state === null) this.#stateOf.delete(instance);
    else {
      counted.counts[state]++;
      this.#stateOf.set(instance, state);
    }
    if (instancesIn(counted.counts) === 0) this.#classes.delete(instanceClass);
    else this.#classes.set(instanceClass, counted);
  }
}

function newClass({ version, labels, runs }: InstanceClass): MutableClass {
  return {
    version,
    runs,
    carried: carriedLabels({ labels }),
    counts: noInstances(),
  };
}
