/** Exclusions of agents from tasks that they returned for a host fault. Changes survive a crash of the hub; the latest may be lost with
 *  the power. All reject as those of `task-queue.ts` do. */
import type { Requirement } from '@workbench-hub/shared/domain/classifier';
import type { Exclusion } from '../wait-reason.js';

export interface TaskExclusion {
  readonly taskId: string;
  readonly requirement: Requirement;
  readonly exclusion: Exclusion;
}

export interface TaskExclusions {
  /** Keeps an exclusion, in place of an earlier one of the same agent from the task. */
  put(taskId: string, exclusion: Exclusion): Promise<void>;
  /** Exclusions noted after this time from tasks that have not ended, in the order of their times. */
  since(atMs: number): Promise<TaskExclusion[]>;
}
