/** A part of the workload, with clusters of its own. */
import type { Run, WorkloadOptions } from '../workload.js';

export interface Part {
  readonly name: string;
  /** @param folder A folder of its own, empty. */
  measure(folder: string, options: Pick<WorkloadOptions, 'scale' | 'seed'>): Promise<Run>;
}
