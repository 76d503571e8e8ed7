/** Use cases of invalidations: which earlier results studies do not reuse. */
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import {
  type Caller,
  creatorOf,
  mayChangeTask,
  refuseForeignTask,
  refuseWithoutRole,
} from '../../core/access.js';
import { HubError } from '../../core/errors.js';
import type { Invalidations } from '../../core/ports/invalidations.js';
import type { TaskArchive } from '../../core/ports/task-archive.js';
import type { Invalidation, InvalidResults } from '../../core/studies/reuse/invalidation.js';

export interface InvalidationServiceOptions {
  readonly invalidations: Invalidations;
  readonly archive: Pick<TaskArchive, 'find'>;
  readonly runtime: Pick<Runtime, 'clock' | 'newId'>;
}

export class InvalidationService {
  readonly #options: InvalidationServiceOptions;

  constructor(options: InvalidationServiceOptions) {
    this.#options = options;
  }

  /** Newest first. */
  list(): Promise<readonly Invalidation[]> {
    return this.#options.invalidations.list();
  }

  /** Makes the results that there are until now invalid; resolves when that is durable. Rejects with FORBIDDEN, and TASK_NOT_FOUND. */
  async add(of: InvalidResults, note: string | null, caller: Caller): Promise<Invalidation> {
    const { invalidations, archive, runtime } = this.#options;
    if (of.kind === 'TASK') {
      const task = await archive.find(of.taskId);
      if (!task)
        throw new HubError('TASK_NOT_FOUND', `there is no task with the id ${JSON.stringify(of.taskId)}`);
      refuseForeignTask(caller, task);
    } else {
      refuseWithoutRole(caller, 'ADMIN');
    }
    const added = {
      ...{ id: runtime.newId(), of, note, creator: creatorOf(caller) },
      atMs: runtime.clock.nowMs(),
    };
    await invalidations.add(added);
    return added;
  }

  /** Makes its results valid again. Rejects with INVALIDATION_NOT_FOUND and FORBIDDEN. */
  async remove(id: string, caller: Caller): Promise<void> {
    const { invalidations } = this.#options;
    const found = await invalidations.find(id);
    if (found && !mayChangeTask(caller, found)) {
      throw new HubError(
        'FORBIDDEN',
        `invalidation ${id} is not yours: only its creator and the role ADMIN may do this`,
      );
    }
    if (found && (await invalidations.remove(id))) return;
    throw new HubError(
      'INVALIDATION_NOT_FOUND',
      `there is no invalidation with the id ${JSON.stringify(id)}`,
    );
  }
}
