/** Process groups kept by the kernel: a process cannot leave its group by forking, by creating a session or by clearing its
 *  environment. Control groups of Linux (linux-control-groups.ts) and job objects of Windows (windows/job-objects.ts) implement them. */

import type { ResourceLimits } from '../core/resource-limits.js';

export interface ControlGroups {
  /** Term of the system for one of them, for the log. */
  readonly kind: 'control group' | 'job object';
  /** Folder of the groups, for the log; null where they have none. */
  readonly path: string | null;
  /** Whether groups of this kind keep limits. */
  readonly keepsLimits: boolean;
  /** Creates a group for one program; throws the system's error. Limits are null where none are kept. */
  create(instanceId: string, limits: ResourceLimits | null): ProgramGroup;
  /** Kills every process in every group without waiting, when this process exits. */
  killAll(): void;
  /** Ends all processes and removes all groups. Never rejects. */
  close(): Promise<void>;
}

/** Group of one instance program. Methods throw or reject with the system's error. */
export interface ProgramGroup {
  /** Adds a process with its descendants. */
  addProcess(pid: number): void;
  /** Takes the current members for the program itself; later ones belong to the job. */
  jobBegins(): void;
  /** Ends every process created since {@link jobBegins}; resolves with their number when none is left. */
  endJob(): Promise<number>;
  /** Ends every process created since {@link jobBegins} that `isSpared` does not spare, with all that these start meanwhile;
   *  resolves with their number when none is left. */
  endAllBut(isSpared: (pid: number) => Promise<boolean>): Promise<number>;
  /** Ends every process and removes the group; resolves when none is left. */
  end(): Promise<void>;
}

/** Result of the search for control groups. */
export type FoundControlGroups =
  | { readonly groups: ControlGroups; readonly leftOver: number }
  /** Continues "no control groups: …", on Windows "no job objects: …". */
  | { readonly unavailable: string };
