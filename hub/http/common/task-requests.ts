/** What the requests for tasks do, whatever generation of the interface presents the outcome. */
import type { Job } from '@workbench-hub/shared/domain/job';
import { hasEnded } from '@workbench-hub/shared/domain/task';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { z } from 'zod';
import { type Caller, creatorOf } from '../../core/access.js';
import type { FileStore, Hold } from '../../core/ports/files.js';
import type { NamedSize, Task } from '../../core/task.js';
import type { Disconnect } from '../../engine/result-waiters.js';
import type { Storage } from '../../engine/storage.js';
import type { Tasks } from '../../engine/tasks.js';
import { parseBatchJob } from '../parsing/batch-job-parsing.js';
import type { FileLimits } from '../parsing/body-blob.js';
import type { ExecuteBatchJobRequest, resultQuery, SimulateWorkRequest } from '../parsing/request-schemas.js';
import { DeferredResponse } from '../responses/deferred-response.js';
import { answerWithOutputs } from '../responses/job-result.js';
import type { ResponseRoom } from '../server/response-memory.js';

interface ResultRequest {
  readonly params: { readonly id: string };
  readonly query: z.output<typeof resultQuery>;
  readonly room: ResponseRoom;
}

interface CreationRequest<Body> {
  readonly body: Body;
  readonly caller: Caller;
  readonly requestId: string | null;
  readonly traceContext: string | null;
  readonly hold: Hold;
}

export interface TaskRequests {
  /** Throws SHUTDOWN_PREPARED while no tasks are taken. */
  readonly admit: () => void;
  createSimulateWork(request: CreationRequest<SimulateWorkRequest>): Promise<Task>;
  createBatchJob(request: CreationRequest<ExecuteBatchJobRequest>): Promise<Task>;
  /** Waits for the end as the request says. */
  simulateWorkResult(
    request: ResultRequest,
    present: (task: Task) => Response,
  ): DeferredResponse | Promise<Response>;
  /** The same, with the files that the task has produced; `storedFiles` names what went to the output storage. */
  batchJobResult(
    request: ResultRequest,
    present: (task: Task, storedFiles: readonly NamedSize[]) => object,
  ): DeferredResponse | Promise<Response>;
}

/** Whoever asks with a timeout of 0. */
const NOBODY_WAITS = new AbortController().signal;

export interface TaskRequestsOptions {
  readonly tasks: Tasks;
  readonly files: FileStore;
  readonly storage: Storage;
  readonly limits: FileLimits;
  readonly log: Logger;
}

export function taskRequests({ tasks, files, storage, limits, log }: TaskRequestsOptions): TaskRequests {
  const create = (
    { body, caller, requestId, traceContext }: CreationRequest<SimulateWorkRequest | ExecuteBatchJobRequest>,
    job: Job,
  ) =>
    tasks.create({
      name: body.name ?? null,
      creator: creatorOf(caller),
      classifiers: body.classifiers ?? [],
      timeLimitS: body.timeLimit ?? null,
      job,
      requestId,
      traceContext,
    });
  const atTheEnd = (
    { params: { id }, query: { timeout }, room: roomNow }: ResultRequest,
    type: Task['type'],
    present: (task: Task, room: ResponseRoom) => Response | Promise<Response>,
  ) => {
    const task = (client: Disconnect) => tasks.awaitEnd(id, type, timeout * 1000, () => client);
    if (timeout === 0) return task(NOBODY_WAITS).then((found) => present(found, roomNow));
    return new DeferredResponse(task, present);
  };

  return {
    admit: () => tasks.refuseWhileLocked(),
    createSimulateWork: (request) =>
      create(request, { type: 'SIMULATE_WORK', durationS: request.body.duration }),
    createBatchJob: async (request) => {
      const { body, hold } = request;
      const faults = tasks.classifierFaults(body.classifiers ?? []);
      const job = await parseBatchJob(body, faults, files, storage, limits, hold);
      return create(request, job);
    },
    simulateWorkResult: (request, present) => atTheEnd(request, 'SIMULATE_WORK', present),
    batchJobResult: (request, present) =>
      atTheEnd(request, 'EXECUTE_BATCH_JOB', async (task, room) => {
        const { id: taskId } = task;
        const isOver = hasEnded(task.status);
        const outputs = isOver ? await tasks.outputs(taskId) : null;
        const storedFiles = isOver ? await tasks.storedFiles(taskId) : [];
        const onFault = (error: unknown) =>
          log.error({ err: error, taskId }, 'response aborted: an output file cannot be read to its end');
        return answerWithOutputs(present(task, storedFiles), outputs, room, () => files.hold(), onFault);
      }),
  };
}
