import type { TaskArchive } from './ports/task-archive.js';
import type { ClaimedTask } from './ports/task-queue.js';
import { attemptOf } from './task.js';

/** Reads the tasks among these that run, as their claims were told. Rejects as the store does. */
export async function claimedTasks(
  archive: Pick<TaskArchive, 'find' | 'jobOf' | 'checkpointOf'>,
  taskIds: readonly string[],
): Promise<ClaimedTask[]> {
  const read = async (taskId: string): Promise<ClaimedTask[]> => {
    const [task, job] = await Promise.all([archive.find(taskId), archive.jobOf(taskId)]);
    const ref = task && attemptOf(task);
    const agentId = task?.instance?.agentId;
    if (!ref || !job || agentId === undefined) return [];
    const checkpoint = ref.attempt > 1 ? await archive.checkpointOf(taskId) : [];
    return [{ ref, agentId, task, job, ...(checkpoint.length > 0 && { checkpoint }) }];
  };
  return (await Promise.all(taskIds.map(read))).flat();
}
