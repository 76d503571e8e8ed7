/** Cancel or delete by filter, in parts as large as the hub permits. */
import { api, type TaskFilter } from '@workbench-hub/client';
import { hub } from '../../../data/hub.js';

export type BulkKind = 'cancel' | 'delete';

export interface BulkRequest {
  readonly kind: BulkKind;
  readonly filter: TaskFilter;
  /** Cancels also running tasks. */
  readonly force: boolean;
}

type Send = (request: BulkRequest, dryRun: boolean, signal?: AbortSignal) => Promise<api.BulkOutcome>;

/** Number of tasks that the change would affect. Nothing is changed. */
export const previewOf = (request: BulkRequest, signal: AbortSignal) => send(request, true, signal);

/** Changes all that match. Calls back with the number of changed tasks after each part; resolves with it at the end. */
export async function changeAll(
  request: BulkRequest,
  onProgress: (changed: number) => void,
  by: Send = send,
): Promise<number> {
  let all = 0;
  for (;;) {
    const { changed, more } = await by(request, false);
    all += changed;
    onProgress(all);
    // Without a change, a repetition would find the same tasks again.
    if (!more || changed === 0) return all;
  }
}

const send: Send = async ({ kind, filter, force }, dryRun, signal) => {
  const options = { client: hub.client, throwOnError: true, ...(signal ? { signal } : {}) } as const;
  const { data } =
    kind === 'cancel'
      ? await api.cancelTasks({ ...options, body: { filter, dryRun, force } })
      : await api.deleteTasks({ ...options, body: { filter, dryRun } });
  return data;
};
