/** Cancels or removes all tasks that match a filter, as far as the caller may. */
import type { TaskStatus } from '@workbench-hub/shared/domain/task';
import { type Caller, mayChangeTask } from '../../core/access.js';
import type { BlobStore } from '../../core/ports/blobs.js';
import { TASK_TRANSITIONS, type Task } from '../../core/task.js';
import type { TaskFilter } from '../../core/task-filter.js';
import type { TaskTransitions } from '../transitions/task-transitions.js';
import type { ListClient } from './list-turns.js';
import type { TaskLists } from './task-lists.js';

export type BulkAction = 'CANCEL' | 'CANCEL_BY_FORCE' | 'REMOVE';

export interface BulkRequest {
  readonly action: BulkAction;
  readonly filter: TaskFilter;
  readonly caller: Caller;
  /** Only says what would happen. */
  readonly isDryRun: boolean;
  /** Maximum number of tasks that are changed. */
  readonly limit: number;
  readonly client: ListClient;
  /** The caller with the roles of now; asked before each part. Rejects when the caller may no longer do this. */
  readonly reauthorize: () => Promise<Caller>;
}

export interface BulkOutcome {
  /** Tasks that match, are in a status that permits the action, and are the caller's to change. */
  readonly matched: number;
  /** 0 in a dry run. Fewer than matched when tasks have changed meanwhile, or there were more than the limit. */
  readonly changed: number;
  /** Whether there are more tasks than the limit. */
  readonly hasMore: boolean;
  /** The first of the matching tasks, newest first. */
  readonly examples: readonly Task[];
}

export interface BulkChangesOptions {
  readonly lists: Pick<TaskLists, 'window'>;
  readonly transitions: Pick<TaskTransitions, 'cancel' | 'remove'>;
  readonly files: Pick<BlobStore, 'reclaim'>;
}

/** Tasks that are changed at a time, in one transaction. */
const PART = 500;

const MAX_EXAMPLES = 100;

const PERMITTED: Readonly<Record<BulkAction, readonly TaskStatus[]>> = {
  CANCEL: TASK_TRANSITIONS.cancel.from,
  CANCEL_BY_FORCE: TASK_TRANSITIONS.cancelByForce.from,
  REMOVE: TASK_TRANSITIONS.remove.from,
};

export class BulkChanges {
  readonly #options: BulkChangesOptions;

  constructor(options: BulkChangesOptions) {
    this.#options = options;
  }

  /** Rejects as lists do, and as the store does; then a part of the tasks may have been changed. */
  async perform(request: BulkRequest): Promise<BulkOutcome> {
    const { action, isDryRun, limit, client } = request;
    const filter = permitted(request.filter, action);
    const examples: Task[] = [];
    let matched = 0;
    let changed = 0;
    let after: string | null = null;
    let isCut = false;
    // No status is left that both the filter and the action permit.
    if (filter.statuses.length === 0) return { matched, changed, hasMore: false, examples };
    do {
      const window = await this.#options.lists.window({ ...filter, after, size: PART }, client);
      const permittedTasks = await changeable(window.tasks, request);
      const own = permittedTasks.slice(0, limit - matched);
      isCut = own.length < permittedTasks.length;
      matched += own.length;
      examples.push(...own.slice(0, MAX_EXAMPLES - examples.length));
      if (!isDryRun && own.length > 0) changed += await this.#change(action, own);
      after = window.next;
    } while (after !== null && matched < limit);
    if (action === 'REMOVE' && changed > 0) void this.#options.files.reclaim();
    return { matched, changed, hasMore: isCut || after !== null, examples };
  }

  async #change(action: BulkAction, tasks: readonly Task[]): Promise<number> {
    const { transitions } = this.#options;
    const changed =
      action === 'REMOVE'
        ? await transitions.remove(tasks.map(({ id }) => id))
        : await Promise.all(tasks.map((task) => transitions.cancel(task, action === 'CANCEL_BY_FORCE')));
    return changed.filter(Boolean).length;
  }
}

function permitted(filter: TaskFilter, action: BulkAction): TaskFilter {
  const statuses = PERMITTED[action].filter(
    (status) => filter.statuses.length === 0 || filter.statuses.includes(status),
  );
  return { ...filter, statuses };
}

/** Tasks that the caller may change, both with the roles of the beginning and with those of now. */
async function changeable(
  tasks: readonly Task[],
  { caller, isDryRun, reauthorize }: BulkRequest,
): Promise<readonly Task[]> {
  const own = tasks.filter((task) => mayChangeTask(caller, task));
  if (isDryRun || own.length === 0) return own;
  const callerNow = await reauthorize();
  return own.filter((task) => mayChangeTask(callerNow, task));
}
