/** Open loans: tasks of other hubs whose ends these have not acknowledged yet. A task with one is not removed. Rejects as `task-queue.ts`
 *  says. */
import type { Task } from '../task.js';

export interface OpenLoans {
  /** The tasks, as they are now. A new task with a loan is among them. */
  all(): Promise<Task[]>;
  /** Their ends are acknowledged; resolves when that is durable. */
  close(taskIds: readonly string[]): Promise<void>;
}
