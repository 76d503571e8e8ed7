/** What the requests for tasks do, whatever generation of the interface presents the outcome. */
import { hasEnded } from '@workbench-hub/shared/domain/task';
import type { Context } from 'hono';
import type { z } from 'zod';
import type { FileStore } from '../core/ports/files.js';
import type { Task } from '../core/task.js';
import type { OutputFile, Tasks } from '../engine/tasks.js';
import { takeInBatchJob } from './batch-job-intake.js';
import type { ExecuteBatchJobRequest, resultQuery, SimulateWorkRequest } from './request-schemas.js';

interface ResultRequest {
  readonly params: { readonly id: string };
  readonly query: z.output<typeof resultQuery>;
  readonly context: Context;
}

export interface TaskRequests {
  createSimulateWork(body: SimulateWorkRequest): Promise<Task>;
  createBatchJob(body: ExecuteBatchJobRequest): Promise<Task>;
  /** Waits for the end as the request says. */
  simulateWorkResult(request: ResultRequest): Promise<Task>;
  /** The same; `outputs` is null before the end. */
  batchJobResult(request: ResultRequest): Promise<{ task: Task; outputs: readonly OutputFile[] | null }>;
}

export function taskRequests(tasks: Tasks, files: FileStore): TaskRequests {
  const head = (body: SimulateWorkRequest | ExecuteBatchJobRequest) => ({
    name: body.name ?? null,
    creator: null,
    classifiers: body.classifiers ?? [],
    timeLimitS: body.timeLimit ?? null,
  });
  const awaitEnd = ({ params, query, context }: ResultRequest, type: Task['type']) =>
    tasks.awaitEnd(params.id, type, query.timeout * 1000, () => context.req.raw.signal);

  return {
    createSimulateWork: (body) =>
      tasks.create({ ...head(body), job: { type: 'SIMULATE_WORK', durationS: body.duration } }),
    createBatchJob: async (body) => {
      tasks.refuseWhileLocked();
      const job = await takeInBatchJob(body, tasks.classifierFaults(body.classifiers ?? []), files);
      return tasks.create({ ...head(body), job });
    },
    simulateWorkResult: (request) => awaitEnd(request, 'SIMULATE_WORK'),
    batchJobResult: async (request) => {
      const task = await awaitEnd(request, 'EXECUTE_BATCH_JOB');
      return { task, outputs: hasEnded(task.status) ? await tasks.outputs(task.id) : null };
    },
  };
}
