/** What a load is put on: the hub, a peer, or a limit of the machine. */
import type { DialectName } from '../load/dialects.js';

export interface SubjectSetup {
  /** A folder of its own, empty. */
  readonly folder: string;
  /** How many tasks may run at the same time. */
  readonly slots: number;
  /** Ready, but nothing is taken before `resume`. */
  readonly paused: boolean;
  /** Where the processes of the product leave profiles of what they computed. */
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
  /** No more tasks than that, for those that would take minutes. */
  readonly mostTasks?: number;
  /** What this machine lacks for it, in words; undefined when nothing. */
  missing(): string | undefined;
  /** Resolves when it takes tasks, and when those who execute them are ready. */
  start(setup: SubjectSetup): Promise<RunningSubject>;
}
