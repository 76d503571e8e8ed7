/** Handling of task requests that all API versions share; each presents the outcome itself. */
import type { Job } from '@workbench-hub/shared/domain/job';
import { hasEnded } from '@workbench-hub/shared/domain/task';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Context } from 'hono';
import type { z } from 'zod';
import { type Caller, creatorOf } from '../../../core/access.js';
import type { BlobStore, Hold } from '../../../core/ports/blobs.js';
import type { NamedSize, Task } from '../../../core/task.js';
import type { Disconnect } from '../../../engine/following/result-waiters.js';
import type { Storage } from '../../../engine/storage/storage.js';
import type { TaskRequest } from '../../../engine/tasks/new-task.js';
import type { Tasks } from '../../../engine/tasks/tasks.js';
import type { AuditDetails } from '../../requests/audit.js';
import { parseBatchJob } from '../../requests/parsing/batch-job-parsing.js';
import type { FileLimits } from '../../requests/parsing/body-blob.js';
import type {
  ExecuteBatchJobRequest,
  resultQuery,
  SimulateWorkRequest,
} from '../../requests/parsing/request-schemas.js';
import { DeferredResponse } from '../../routing/responses/deferred-response.js';
import type { ResponseRoom } from '../../wire/response-memory.js';
import { warningValue } from '../../wire/warning-value.js';
import { idempotencyKeyOf, markReplayed } from './idempotency-key.js';
import { resultResponse } from './job-result.js';

interface ResultRequest {
  readonly params: { readonly id: string };
  readonly query: z.output<typeof resultQuery>;
  readonly room: ResponseRoom;
}

interface Notifying {
  /** Address that is told of the end of the task. */
  readonly notify?: string | null | undefined;
}

interface CreationRequest<Body> {
  readonly body: Body & Notifying;
  readonly caller: Caller;
  readonly requestId: string | null;
  readonly traceContext: string | null;
  readonly ignoredFields: string | null;
  readonly hold: Hold;
  readonly audit: AuditDetails;
}

export interface TaskRequests {
  /** Throws SHUTDOWN_PREPARED while no tasks are accepted. */
  readonly admit: () => void;
  /** `onceBy` is the context whose header Idempotency-Key counts, and whose response may have warnings; absent where the API version has
   *  none. */
  createSimulateWork(request: CreationRequest<SimulateWorkRequest>, onceBy?: Context): Promise<Task>;
  createBatchJob(request: CreationRequest<ExecuteBatchJobRequest>, onceBy?: Context): Promise<Task>;
  /** Waits for the end for as long as the request says. */
  simulateWorkResult(
    request: ResultRequest,
    present: (task: Task) => Response,
  ): DeferredResponse | Promise<Response>;
  /** The same, with the output files; `storedFiles` are those in the output storage. */
  batchJobResult(
    request: ResultRequest,
    present: (task: Task, storedFiles: readonly NamedSize[]) => object,
  ): DeferredResponse | Promise<Response>;
}

/** Headers of the 201 of a create request. */
export const CREATION_HEADERS = {
  Warning:
    'Names request fields that the hub does not know and ignored, and warns when a batch job without labels fits instances of ' +
    'different kinds; absent otherwise.',
  'Idempotency-Replayed':
    '`true` when the task was created by an earlier request with the same Idempotency-Key.',
};

/** Client of a request with a timeout of 0. */
const NO_WAIT = new AbortController().signal;

export interface TaskRequestsOptions {
  readonly tasks: Tasks;
  readonly files: BlobStore;
  readonly storage: Storage;
  readonly limits: FileLimits;
  readonly log: Logger;
}

export function taskRequests({ tasks, files, storage, limits, log }: TaskRequestsOptions): TaskRequests {
  const create = async (
    {
      body,
      caller,
      requestId,
      traceContext,
      ignoredFields,
      audit,
    }: CreationRequest<SimulateWorkRequest | ExecuteBatchJobRequest>,
    job: Job,
    onceBy: Context | undefined,
  ) => {
    const request = {
      name: body.name ?? null,
      note: body.note ?? null,
      creator: creatorOf(caller),
      classifiers: body.classifiers ?? [],
      timeLimitS: body.timeLimit ?? null,
      job,
      requestId,
      traceContext,
      ignoredFields,
      notify: body.notify ?? null,
    };
    const key = onceBy && idempotencyKeyOf(onceBy);
    const task = await (key === undefined ? tasks.create(request) : createOnce(request, key, onceBy));
    audit.detail = `task ${task.id}`;
    const warning = onceBy && tasks.warningOf(task);
    if (warning !== undefined && warning !== null) onceBy?.header('Warning', warningValue(warning));
    return task;
  };
  const createOnce = async (request: TaskRequest, key: string, onceBy: Context | undefined) => {
    const { task, isNew } = await tasks.createOnce(request, key);
    if (!isNew && onceBy) markReplayed(onceBy);
    return task;
  };
  const atEnd = (
    { params: { id }, query: { timeout }, room: roomNow }: ResultRequest,
    type: Task['type'],
    present: (task: Task, room: ResponseRoom) => Response | Promise<Response>,
  ) => {
    const task = (client: Disconnect) => tasks.awaitEnd(id, type, timeout * 1000, () => client);
    if (timeout === 0) return task(NO_WAIT).then((found) => present(found, roomNow));
    return new DeferredResponse(task, present);
  };

  return {
    admit: () => tasks.refuseWhenShutdownPrepared(),
    createSimulateWork: async (request, onceBy) =>
      create(request, { type: 'SIMULATE_WORK', durationS: request.body.duration }, onceBy),
    createBatchJob: async (request, onceBy) => {
      const { body, hold } = request;
      const errors = [...tasks.classifierErrors(body.classifiers ?? []), ...tasks.notifyErrors(body.notify)];
      const job = await parseBatchJob(body, errors, { files, storage, limits }, hold);
      return create(request, job, onceBy);
    },
    simulateWorkResult: (request, present) => atEnd(request, 'SIMULATE_WORK', present),
    batchJobResult: (request, present) =>
      atEnd(request, 'EXECUTE_BATCH_JOB', async (task, room) => {
        const { id: taskId } = task;
        const isEnded = hasEnded(task.status);
        const storedFiles = isEnded ? await tasks.storedFiles(taskId) : [];
        // The last read: it finds out whether the task was deleted before any of them.
        const outputs = isEnded ? await tasks.outputs(taskId) : null;
        const onFailure = (error: unknown) =>
          log.error({ err: error, taskId }, 'response aborted: an output file cannot be read to its end');
        return resultResponse(present(task, storedFiles), outputs, room, () => files.hold(), onFailure);
      }),
  };
}
