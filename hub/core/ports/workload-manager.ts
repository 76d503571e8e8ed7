/** A workload manager of the site (Slurm, Grid Engine, HTCondor and the like), which runs agents as its jobs. */

/** Job by which an agent is to be started. */
export interface Launch {
  /** Name of the job, unique for all time, by which it is found again: letters, digits and hyphens. It is the id of the agent, too. */
  readonly name: string;
  /** Secret with which the agent joins. */
  readonly credential: string;
}

/** QUEUED: it waits. STUCK: it waits, and does not start by itself, as one that could not be started. ENDED: it is over. */
export type ManagedJobState = 'QUEUED' | 'STUCK' | 'RUNNING' | 'ENDED';

/** A job as the workload manager knows it. */
export interface ManagedJob {
  /** Name from its {@link Launch}. */
  readonly name: string;
  /** Id that the workload manager gave it, which may be given again after a crash. */
  readonly jobId: string;
  readonly state: ManagedJobState;
  /** Time until the workload manager ends it; null while it does not run, or when it has no end. */
  readonly remainingMs: number | null;
  /** Reason why it waits or ended, in the workload manager's words. */
  readonly reason: string | null;
}

/**
 * REFUSED: the workload manager answered that it does not take the job. UNAVAILABLE: it did not answer, or not in a form that is
 * understood, so nothing is known about what was asked.
 */
export type WorkloadManagerFault = 'REFUSED' | 'UNAVAILABLE';

/** The message says what was asked, and what the workload manager answered. */
export class WorkloadManagerError extends Error {
  readonly fault: WorkloadManagerFault;

  constructor(fault: WorkloadManagerFault, message: string, options?: ErrorOptions) {
    super(message, options);
    this.fault = fault;
  }
}

/** A workload manager with what one allocation asks of it. All methods reject with {@link WorkloadManagerError}, within a minute. */
export interface WorkloadManager {
  /** Hands in a job that starts the agent; resolves with the job's id. Rejected as UNAVAILABLE, it may have been taken: {@link jobs} tells. */
  submit(launch: Launch): Promise<string>;
  /** The jobs of these names that the workload manager knows, some of them ended. A job that was handed in twice is there twice. */
  jobs(names: readonly string[]): Promise<readonly ManagedJob[]>;
  /** Ends all jobs of this name; resolves also when there is none. */
  cancel(name: string): Promise<void>;
  /** End of what the job has printed, at most 16 KiB; empty when it has printed nothing. */
  output(name: string): Promise<string>;
  /** Removes the files of a job that has ended. */
  remove(name: string): Promise<void>;
  /** Asks whether the workload manager would take the job, without running it; resolves with the reason why not, or null. */
  check(): Promise<string | null>;
}
