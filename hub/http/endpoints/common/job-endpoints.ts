/** Endpoints that create tasks and return their results, which all API versions have (contract 2.2, 3.1 and 4.1). */
import type { Context } from 'hono';
import type { z } from 'zod';
import type { NamedSize, Task } from '../../../core/task.js';
import {
  batchJobContents,
  executeBatchJobRequest,
  idParams,
  resultQuery,
  simulateWorkRequest,
} from '../../requests/parsing/request-schemas.js';
import { type Endpoint, endpoint } from '../../routing/endpoint.js';
import type { Tag } from '../../wire/tags.js';
import { KEY_REUSED, TASK_KEY } from './idempotency-key.js';
import { CREATION_HEADERS, type TaskRequests } from './task-requests.js';

/** Presentation of tasks in one API version. */
export interface JobPresentation {
  /** `/api/2.0/workbench/task` */
  readonly base: string;
  readonly tag: Tag;
  /** Operation id in this version of an operation of 2.x. */
  readonly operationId: (operation: string) => string;
  readonly schemas: Readonly<Record<'creation' | 'simulateWorkResult' | 'batchJobResult', z.ZodType>>;
  readonly descriptions: Readonly<Record<'state' | 'locked', string>>;
  /** Whether create requests may carry the header Idempotency-Key (contract 12.12). */
  readonly takesIdempotencyKey: boolean;
  creation(task: Task): object;
  simulateWorkResult(task: Task): object;
  /** Without the output files, which are written into the response as they are read. */
  batchJobResult(task: Task, storedFiles: readonly NamedSize[]): object;
}

export interface CreationSpec {
  /** Schema of the 201. */
  readonly schema: z.ZodType;
  /** Description of the 423. */
  readonly locked: string;
  readonly takesIdempotencyKey: boolean;
}

/** Common part of the create endpoints of a version. */
export function creationOf(admit: () => void, { schema, locked, takesIdempotencyKey }: CreationSpec) {
  return {
    admit,
    warnsOfUnknownFields: true,
    ...(takesIdempotencyKey ? { requestHeaders: TASK_KEY } : {}),
    responses: {
      201: { description: 'The task waits.', schema, headers: CREATION_HEADERS },
      ...(takesIdempotencyKey ? { 422: KEY_REUSED } : {}),
      423: { description: locked },
    },
  };
}

export function jobEndpoints(version: JobPresentation, requests: TaskRequests): Endpoint[] {
  const { base, tag, operationId, schemas, descriptions, takesIdempotencyKey } = version;
  const creation = creationOf(requests.admit, {
    schema: schemas.creation,
    locked: descriptions.locked,
    takesIdempotencyKey,
  });
  const onceBy = (context: Context) => (takesIdempotencyKey ? context : undefined);
  const created = (context: Context, task: Parameters<typeof version.creation>[0]) =>
    context.json(version.creation(task), 201);
  const result = {
    description: 'Waits up to `timeout` seconds for the end of the task and returns its state then.',
    params: idParams,
    query: resultQuery,
  };
  const resultResponses = (schema: z.ZodType) => ({
    200: { description: descriptions.state, schema },
    404: { description: 'There is no such task.' },
  });
  return [
    endpoint(
      {
        ...creation,
        method: 'post',
        path: `${base}/simulate-work/create`,
        tag,
        operationId: operationId('createSimulateWork'),
        summary: 'Create a simulate-work task',
        description:
          'Blocks a workbench instance for a number of seconds. 201 is sent when the task is durable.',
        body: simulateWorkRequest,
      },
      async (request) =>
        created(request.context, await requests.createSimulateWork(request, onceBy(request.context))),
    ),
    endpoint(
      {
        ...result,
        method: 'get',
        path: `${base}/simulate-work/{id}/result`,
        tag,
        operationId: operationId('getSimulateWorkResult'),
        summary: 'Result of a simulate-work task',
        responses: resultResponses(schemas.simulateWorkResult),
      },
      (request) =>
        requests.simulateWorkResult(request, (task) => Response.json(version.simulateWorkResult(task))),
    ),
    endpoint(
      {
        ...creation,
        method: 'post',
        path: `${base}/execute-batch-job/create`,
        tag,
        operationId: operationId('createBatchJob'),
        summary: 'Create an execute-batch-job task',
        description:
          'Runs scripts on a workbench instance, optionally with a model, and keeps the files they produce.',
        body: executeBatchJobRequest,
        blobs: batchJobContents,
      },
      async (request) =>
        created(request.context, await requests.createBatchJob(request, onceBy(request.context))),
    ),
    endpoint(
      {
        ...result,
        method: 'get',
        path: `${base}/execute-batch-job/{id}/result`,
        isLarge: true,
        tag,
        operationId: operationId('getBatchJobResult'),
        summary: 'Result of an execute-batch-job task',
        responses: resultResponses(schemas.batchJobResult),
      },
      (request) =>
        requests.batchJobResult(request, (task, storedFiles) => version.batchJobResult(task, storedFiles)),
    ),
  ];
}
