/** What a workload is: made ready once, measured several times, and cleared away. To add one: a file that exports a
 *  `Workload`, and its name in `workloads.ts`. */

export type Unit = 'ms' | 's' | 'MiB' | 'KiB' | 'MiB/s' | 'per s' | 'times' | '';

/** One measured value. */
export interface Sample {
  readonly name: string;
  readonly value: number;
  readonly unit: Unit;
  /** The value is meant to be below this. */
  readonly limit?: number;
}

/** What a workload is to reach: its own figure, or that of another as a yardstick. */
export interface Target {
  /** Name of the figure. */
  readonly figure: string;
  readonly is: 'at least' | 'at most';
  /** So much, or so many times the other figure. */
  readonly value: number;
  readonly times?: string;
}

/** What a process has used by now. */
export interface ProcessUse {
  readonly name: string;
  readonly cpuS: number;
  readonly peakRssMib: number;
}

export interface WorkloadOptions {
  /** A folder that is removed afterwards. */
  readonly folder: string;
  readonly seed: number;
  /** Part of the full size, above 0: small ones are for finding out whether it works. */
  readonly scale: number;
  /** Measures these alone, of those that a workload compares; by default all. */
  readonly only?: readonly string[];
  /** Where hub and agents leave profiles of what they computed (`.cpuprofile`), if anywhere. */
  readonly profiles?: string;
  /** Shows query plans, where there are any. */
  readonly plans: boolean;
  readonly say: (line: string) => void;
}

export interface ReadyWorkload {
  /** Measures everything once. A name comes at most once, and in every run. */
  measure(): Promise<Sample[]>;
  /** What its processes have used; asked for before `end`. */
  use(): ProcessUse[];
  /** What could not be measured on this machine, and why, in words. */
  skipped?(): string[];
  /** Ends everything that was started. */
  end(): Promise<void>;
}

export interface Workload {
  readonly name: string;
  /** In one line. */
  readonly what: string;
  /** Beside the limits of single samples. */
  readonly targets?: readonly Target[];
  prepare(options: WorkloadOptions): Promise<ReadyWorkload>;
}
