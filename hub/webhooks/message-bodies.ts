/** Bodies of the messages to receivers, one for each kind of webhook. */
import { offsetTimestamp } from '@workbench-hub/shared/domain/timestamp';
import type { Task } from '../core/task.js';

/** Body of the message that a task has ended. `present` gives the task as lists and events show it. */
export function taskEnded(task: Task, present: (task: Task) => object): string {
  const timestamp = offsetTimestamp(task.endedAtMs ?? 0);
  return JSON.stringify({ type: 'task.ended', timestamp, data: present(task) });
}
