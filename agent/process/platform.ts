/** What the parts of this folder need to know of a system's processes; linux.ts and portable.ts know it. */

/** Set in the environment of every instance program, and so of all that it starts: `<nodeId>/<instanceId>`. */
export const COOKIE_VARIABLE = 'WORKBENCH_INSTANCE_COOKIE';

/** Set in the environment of a job's scripts, and so of all that they start; never in that of the instance program. */
export const TASK_VARIABLE = 'WORKBENCH_TASK_ID';

export interface Platform {
  /** Programs are started as leaders of a group of their own, which {@link signalGroup} reaches. */
  readonly hasGroups: boolean;
  /** Sends the signal to every process of the group; false when there is none left. */
  signalGroup(leaderPid: number, signal: 'SIGTERM' | 'SIGKILL'): boolean;
  /** The processes whose cookie is `cookie`, or begins with it when it ends with `/`; with a `taskId` only those that
   *  were started for this task. */
  findByCookie(cookie: string, taskId?: string): Promise<number[]>;
  /** Tells a process from a later one with the same id; undefined when there is none with this id. */
  identify(pid: number): string | undefined;
}
