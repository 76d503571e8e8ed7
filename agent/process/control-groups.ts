/** Groups of processes that the kernel keeps, so that a process cannot leave its group by forking, by a session of its own
 *  or by clearing its environment. linux-control-groups.ts implements them. */

export interface ControlGroups {
  /** The folder of the groups, for the log. */
  readonly path: string;
  /** Makes a group for one program; throws the system's error when it cannot be made. */
  create(instanceId: string): ProgramGroup;
  /** Ends every process in every group at once, without waiting: for the last moment of this process. */
  killAll(): void;
  /** Ends what is left, and removes all groups. Never rejects. */
  close(): Promise<void>;
}

/** The group of one instance program. Methods throw or reject with the system's error. */
export interface ProgramGroup {
  /** Takes a process in, with everything that it has started so far. */
  takeIn(pid: number): void;
  /** Takes what is in the group now for the program itself; what is born from now on belongs to the job. */
  jobBegins(): void;
  /** Ends whatever was born since {@link jobBegins}; resolves, when nothing of it is left, with the number of processes. */
  endJob(): Promise<number>;
  /** Ends everything in the group, and removes it; resolves when nothing is left. */
  end(): Promise<void>;
}

/** The outcome of looking for control groups. */
export type FoundControlGroups =
  | { readonly groups: ControlGroups; readonly leftOver: number }
  /** Continues "no control groups: …". */
  | { readonly unavailable: string };
