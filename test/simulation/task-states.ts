/** Tasks as the database of the simulated hub has them, in the terms of the invariants. */
import type { TaskState } from '@workbench-hub/hub/store/sqlite/fixtures/database-in-memory';
import type { AttemptRef } from '@workbench-hub/shared/domain/task';

export const ENDED: ReadonlySet<string> = new Set(['FINISHED', 'FAILED', 'CANCELED']);

export function refOf({ id, attempt, instance_id: instanceId }: TaskState): AttemptRef {
  return { taskId: id, attempt, instanceId: instanceId ?? '' };
}

export function endOf({ status, ended_at }: TaskState): string {
  return `${status} at ${ended_at}`;
}

export function wordsOf({ status, attempt, instance_id }: TaskState): string {
  return `${status} ${attempt}${instance_id === null ? '' : ` on ${instance_id}`}`;
}
