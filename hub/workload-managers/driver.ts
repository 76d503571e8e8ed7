/** Drivers of workload managers, which know jobs and not their files. */
import type { ManagedJob } from '../core/ports/workload-manager.js';

/** Job to hand in. */
export interface JobRequest {
  readonly name: string;
  /** Path of the script, on the machine of the commands and on the hosts. */
  readonly script: string;
}

/** The part of the port `WorkloadManager` that differs from one workload manager to another, with the same promises. */
export interface Driver {
  submit(request: JobRequest): Promise<string>;
  /** `names` has one name at least. */
  jobs(names: readonly string[]): Promise<readonly ManagedJob[]>;
  cancel(name: string): Promise<void>;
  check(): Promise<string | null>;
}

/** Lines of an output that are not empty. */
export function linesOf(text: string): string[] {
  return text.split('\n').flatMap((line) => (line.trim() === '' ? [] : [line.trimEnd()]));
}
