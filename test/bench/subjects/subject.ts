/** The subject of a load: the hub, a peer, or a limit of the machine. */
import type { DialectName } from '../load/dialects.js';

export interface SubjectSetup {
  /** A folder of its own, empty. */
  readonly folder: string;
  /** Number of simultaneous tasks. */
  readonly slots: number;
  /** Starts paused: no task runs before `resume`. */
  readonly paused: boolean;
  /** Folder for the profiles of the product's processes. */
  readonly profiles?: string;
}

export interface RunningSubject {
  readonly port: number;
  readonly dialect: DialectName;
  /** Process ids by name; each counts with the processes beneath it. */
  readonly pids: ReadonlyMap<string, number>;
  resume(): Promise<void>;
  stop(): Promise<void>;
}

export interface Subject {
  readonly name: string;
  /** A peer or a limit: a run of it that fails does not end the workload. */
  readonly isCompared?: boolean;
  /** Maximum of tasks, for subjects that would take minutes. */
  readonly mostTasks?: number;
  /** The missing requirement of this machine; undefined when nothing is missing. */
  missing(): string | undefined;
  /** Resolves when it accepts tasks and its workers are ready. */
  start(setup: SubjectSetup): Promise<RunningSubject>;
}
