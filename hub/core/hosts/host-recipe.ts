/** Recipes of hosts, which a workload manager is asked for when tasks wait. */
import type { InstanceClass } from '../idle-instances.js';

/** A workload manager, and how it is asked. `via` is the beginning of each command, such as `ssh` and a submit host; empty for this machine. */
export type ManagerSettings =
  | {
      readonly kind: 'slurm' | 'grid-engine';
      readonly via: readonly string[];
      /** Further arguments of `sbatch` or `qsub`. */
      readonly options: readonly string[];
    }
  | {
      readonly kind: 'htcondor';
      readonly via: readonly string[];
      /** Further lines of the submit description. */
      readonly options: readonly string[];
    }
  | {
      readonly kind: 'slurmrestd';
      readonly via: readonly string[];
      readonly url: string;
      readonly user: string;
      readonly tokenFile: string;
      /** Further members of the job in the request. */
      readonly options: Readonly<Record<string, unknown>>;
    }
  | {
      readonly kind: 'command';
      readonly via: readonly string[];
      readonly submit: readonly string[];
      readonly list: readonly string[];
      readonly cancel: readonly string[];
      /** Null: nothing can be asked without a job. */
      readonly check: readonly string[] | null;
    };

/** Agent of an allocation, with its files and its time. */
export interface AllocationSettings {
  /** Absolute path of a folder that the machine of the commands and the hosts share; it has a private folder for each allocation. */
  readonly folder: string;
  /** Folder of a host for the agent's data; null for that of its environment (TMPDIR). */
  readonly scratch: string | null;
  /** The agent program and its arguments. */
  readonly agentCommand: readonly string[];
  /** Configuration of the agent of an allocation with this name, without dataDir and tokenFile. */
  readonly agentConfigOf: (name: string) => Readonly<Record<string, unknown>>;
  readonly wallTimeMs: number;
}

/** Bounds of the allocations of a recipe. */
export interface RecipeLimits {
  /** Allocations that have not ended. */
  readonly allocations: number;
  /** Allocations that have not started. */
  readonly queued: number;
  /** Host-hours that begin within 24 hours; null for no bound. */
  readonly hostHoursPerDay: number | null;
  /** Bounds of those that are wanted for the tasks of one user; left out for none. */
  readonly perUser?: UserLimits | undefined;
}

/** Bounds by user; null for none. */
export interface UserLimits {
  readonly allocations: number | null;
  readonly hostHoursPerDay: number | null;
}

/** Instances of one class of one host. */
export interface InstancesOfHost {
  readonly instanceClass: InstanceClass;
  readonly count: number;
  /** Their ids, without the name of the allocation. */
  readonly ids: readonly string[];
}

/** A recipe, as the engine needs it. */
export interface HostRecipe {
  readonly name: string;
  readonly manager: ManagerSettings['kind'];
  /** Text that recipes for the same workload manager have in common. */
  readonly managerKey: string;
  /** Instances of one allocation, by class. */
  readonly instances: readonly InstancesOfHost[];
  readonly wallTimeMs: number;
  readonly limits: RecipeLimits;
  /** Time without a task after which an allocation is given back. */
  readonly idleMs: number;
  /** Time from its start within which an agent joins. */
  readonly joinWithinMs: number;
  /** Time before its end at which an allocation begins no more tasks. */
  readonly drainBeforeMs: number;
}

/** Whether instances that have joined are those of a recipe, as far as its configuration says: their agents may add labels and kinds. */
export function areOfRecipe(
  joined: readonly InstancesOfHost[],
  { instances }: Pick<HostRecipe, 'instances'>,
): boolean {
  const isOf = (each: InstanceClass, configured: InstanceClass) =>
    each.version === configured.version && configured.labels.every((label) => each.labels.includes(label));
  return (
    joined.every(({ instanceClass }) => instances.some((each) => isOf(instanceClass, each.instanceClass))) &&
    instances.every(({ instanceClass }) => joined.some((each) => isOf(each.instanceClass, instanceClass)))
  );
}

/** Instances of one class of a host; those of a recipe of another hub have no ids here. */
export type ClassOfHost = Omit<InstancesOfHost, 'ids'> & Partial<Pick<InstancesOfHost, 'ids'>>;

/** An instance as rules of lending see it. */
export interface NamedInstance {
  readonly id: string;
  readonly labels: readonly string[];
}

/** Part of the names of allocations to come, for the comparison of ids with patterns. */
const ANY_ALLOCATION = '0'.repeat(12);

/** Stands for the name of an allocation to come, with its length. */
export function hostToCome(recipe: string): string {
  return `${recipe}-${ANY_ALLOCATION}`;
}

/** The instances of a host to come, by class and by what `partOf` says of each. Those without ids have the id of the host. */
export function partedInstances<Part extends string | boolean>(
  recipe: string,
  instances: readonly ClassOfHost[],
  partOf: (instance: NamedInstance) => Part,
): { readonly instanceClass: InstanceClass; readonly count: number; readonly part: Part }[] {
  const host = hostToCome(recipe);
  return instances.flatMap(({ instanceClass, count, ids }) => {
    const { labels } = instanceClass;
    if (ids === undefined) return [{ instanceClass, count, part: partOf({ id: host, labels }) }];
    const counts = new Map<Part, number>();
    for (const id of ids) {
      const part = partOf({ id: `${host}-${id}`, labels });
      counts.set(part, (counts.get(part) ?? 0) + 1);
    }
    return [...counts].map(([part, number]) => ({ instanceClass, count: number, part }));
  });
}
