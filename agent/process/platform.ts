/** What the parts of this folder need to know of a system's processes; linux.ts and portable.ts know it. */

/** Set in the environment of every instance program, and so of all that it starts: `<nodeId>/<instanceId>`. */
export const COOKIE_VARIABLE = 'WORKBENCH_INSTANCE_COOKIE';

/** Set in the environment of a job's scripts, and so of all that they start; never in that of the instance program. */
export const TASK_VARIABLE = 'WORKBENCH_TASK_ID';

/** Whose processes are looked for. */
export interface TaskProcesses {
  readonly taskId: string;
  /** The newest process when the task began, if that is so recent that ids cannot have come round to it since: then no
   *  older process need be looked at. */
  readonly afterPid?: number | undefined;
}

export interface FoundProcesses {
  readonly pids: readonly number[];
  /** A process was about to become another program: whose it is cannot be told in that moment. */
  readonly mayBeMore: boolean;
}

export interface Platform {
  /** Programs are started as leaders of a group of their own, which {@link signalGroup} reaches. */
  readonly hasGroups: boolean;
  /** Sends the signal to every process of the group; false when there is none left. */
  signalGroup(leaderPid: number, signal: 'SIGTERM' | 'SIGKILL'): boolean;
  /** The id that was given to a process last; undefined where that cannot be known. */
  newestPid(): number | undefined;
  /** The processes whose cookie is `cookie`, or begins with it when it ends with `/`; for a task only those that were
   *  started for it. */
  findByCookie(cookie: string, task?: TaskProcesses): Promise<FoundProcesses>;
  /** Tells a process from a later one with the same id; undefined when there is none with this id. */
  identify(pid: number): string | undefined;
}
