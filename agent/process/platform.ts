/** Processes of the operating system, as this folder needs them; implemented by linux.ts and portable.ts. */

/** Environment variable of every instance program and its descendants: `<nodeId>/<instanceId>`. */
export const COOKIE_VARIABLE = 'WORKBENCH_INSTANCE_COOKIE';

/** Environment variable of a job's scripts and their descendants, but not of the instance program. */
export const TASK_VARIABLE = 'WORKBENCH_TASK_ID';

/** Owner of the processes to be found. */
export interface TaskProcesses {
  readonly taskId: string;
  /** Newest process when the task began, if ids cannot have wrapped around since: older processes need not be examined. */
  readonly afterPid?: number | undefined;
}

export interface FoundProcesses {
  readonly pids: readonly number[];
  /** A process was in the middle of execve, when its owner cannot be determined. */
  readonly mayBeMore: boolean;
}

export interface Platform {
  /** Whether programs lead their own group, which {@link signalGroup} reaches. */
  readonly hasGroups: boolean;
  /** Signals every process of the group; false when none is left. */
  signalGroup(leaderPid: number, signal: 'SIGTERM' | 'SIGKILL'): boolean;
  /** The id assigned last; undefined where that is unknown. */
  newestPid(): number | undefined;
  /** Processes whose cookie is `cookie`, or begins with it when it ends with `/`; for a task only those started for it. */
  findByCookie(cookie: string, task?: TaskProcesses): Promise<FoundProcesses>;
  /** Owner of a process below a common process of this cookie, which ends with `/`: the instance's cookie in its environment, or in
   *  that of a process above it. PROGRAM: the program itself, or what it started with its own environment. CHILD: a child of the
   *  program without a cookie, or what that started. Undefined: it hides. */
  ownerOf(
    pid: number,
    cookie: string,
    programPid: number | undefined,
  ): Promise<string | 'PROGRAM' | 'CHILD' | undefined>;
  /** Identity that distinguishes a process from a later one with the same id; undefined when it does not exist. */
  identify(pid: number): string | undefined;
}
