/** A workload: prepared once, measured several times, and removed. To add one: a file that exports a `Workload`, and its name
 *  in `workloads.ts`. */

export type Unit = 'ms' | 's' | 'MiB' | 'KiB' | 'MiB/s' | 'per s' | 'times' | '';

/** One measured value. */
export interface Sample {
  readonly name: string;
  readonly value: number;
  readonly unit: Unit;
  /** Value that it should stay below. */
  readonly limit?: number;
}

/** Target of a workload: a figure of its own, or one of another workload. */
export interface Target {
  /** Name of the figure. */
  readonly figure: string;
  readonly is: 'at least' | 'at most';
  /** The value, or a multiple of the other figure. */
  readonly value: number;
  readonly times?: string;
  /** Added to that. */
  readonly plus?: number;
}

/** Resource use of a process, or of several of a kind. */
export interface ProcessUse {
  readonly name: string;
  readonly cpuS: number;
  readonly peakRssMib: number;
}

export interface WorkloadOptions {
  /** A folder for what all runs need; removed at the end. */
  readonly folder: string;
  readonly seed: number;
  /** Part of the full size, above 0; small ones are for trials. */
  readonly scale: number;
  /** Measures these alone, of those that a workload compares; by default all. */
  readonly only?: readonly string[];
  /** Folder for the profiles of hub and agents (`.cpuprofile`), if any. */
  readonly profiles?: string;
  /** Shows query plans, where there are any. */
  readonly plans: boolean;
  readonly say: (line: string) => void;
}

/** One run of a workload. Each name is unique, and present in every run. */
export interface Run {
  readonly samples: readonly Sample[];
  readonly processes: readonly ProcessUse[];
}

export interface ReadyWorkload {
  /** Measures everything once, in an empty folder that is removed afterwards. */
  measure(folder: string): Promise<Run>;
  /** Figures that could not be measured on this machine, with the reason. */
  skipped?(): string[];
  /** Whether a figure or a process, by its name, is of a subject of which a run failed. */
  isLeftOut?(name: string): boolean;
  /** Ends what `prepare` has started. */
  end?(): Promise<void>;
}

export interface Workload {
  readonly name: string;
  /** In one line. */
  readonly what: string;
  /** Beside the limits of single samples. */
  readonly targets?: readonly Target[];
  prepare(options: WorkloadOptions): Promise<ReadyWorkload>;
}
