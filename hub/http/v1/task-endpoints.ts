/** Tasks in API versions 1.x (contract 11.2 to 11.5). */
import type { TaskStatus } from '@workbench-hub/shared/domain/task';
import { z } from 'zod';
import type { TaskOrder } from '../../core/ports/task-store.js';
import type { Tasks } from '../../engine/tasks.js';
import { listClient } from '../common/list-client.js';
import type { TaskRequests } from '../common/task-requests.js';
import {
  batchJobContents,
  executeBatchJobRequest,
  idParams,
  resultQuery,
  simulateWorkRequest,
} from '../parsing/request-schemas.js';
import { pageQuery } from '../parsing/validation.js';
import { pageOf } from '../responses/page.js';
import { type Endpoint, endpoint } from '../routing/endpoint.js';
import {
  type ApiVersion,
  presentBatchJobResult,
  presentCreation,
  presentSimulateWorkResult,
  presentTask,
} from './present.js';
import { schemasOf } from './schemas.js';

const NOT_FOUND = { description: 'There is no such task.' };
const LOCKED = { description: 'The hub accepts no tasks at present.' };

const LISTS: readonly { path: string; summary: string; statuses: readonly TaskStatus[]; order: TaskOrder }[] =
  [
    { path: 'list', summary: 'List tasks, newest request first', statuses: [], order: 'NEWEST_FIRST' },
    {
      path: 'list/running',
      summary: 'List the running tasks, longest running first',
      statuses: ['RUNNING'],
      order: 'LONGEST_RUNNING_FIRST',
    },
    {
      path: 'list/waiting',
      summary: 'List the waiting tasks, next to run first',
      statuses: ['WAITING'],
      order: 'NEXT_TO_RUN_FIRST',
    },
  ];

export function taskEndpointsV1(apiVersion: ApiVersion, tasks: Tasks, requests: TaskRequests): Endpoint[] {
  return [
    ...jobEndpoints(apiVersion, requests),
    ...readingEndpoints(apiVersion, tasks),
    ...(apiVersion === '1.0' ? [cancelEndpoint(tasks)] : []),
  ];
}

/** Creation and result of each type of task. */
function jobEndpoints(apiVersion: ApiVersion, requests: TaskRequests): Endpoint[] {
  const { base, tag } = groupOf(apiVersion);
  const schemas = schemasOf(apiVersion);
  const created = { 201: { description: 'The task waits.', schema: schemas.creation }, 423: LOCKED };

  return [
    endpoint(
      {
        method: 'post',
        path: `${base}/simulate-work/create`,
        tag,
        summary: 'Create a simulate-work task',
        body: simulateWorkRequest,
        admit: requests.admit,
        responses: created,
      },
      async (request) =>
        request.context.json(presentCreation(await requests.createSimulateWork(request)), 201),
    ),
    endpoint(
      {
        method: 'get',
        path: `${base}/simulate-work/{id}/result`,
        tag,
        summary: 'Result of a simulate-work task',
        params: idParams,
        query: resultQuery,
        responses: { 200: { description: 'The state.', schema: schemas.simulateWorkResult }, 404: NOT_FOUND },
      },
      (request) =>
        requests.simulateWorkResult(request, (task) =>
          Response.json(presentSimulateWorkResult(task, apiVersion)),
        ),
    ),
    endpoint(
      {
        method: 'post',
        path: `${base}/execute-batch-job/create`,
        tag,
        summary: 'Create an execute-batch-job task',
        body: executeBatchJobRequest,
        admit: requests.admit,
        blobs: batchJobContents,
        responses: created,
      },
      async (request) => request.context.json(presentCreation(await requests.createBatchJob(request)), 201),
    ),
    endpoint(
      {
        method: 'get',
        path: `${base}/execute-batch-job/{id}/result`,
        isLarge: true,
        tag,
        summary: 'Result of an execute-batch-job task',
        params: idParams,
        query: resultQuery,
        responses: { 200: { description: 'The state.', schema: schemas.batchJobResult }, 404: NOT_FOUND },
      },
      (request) => requests.batchJobResult(request, (task) => presentBatchJobResult(task, apiVersion)),
    ),
  ];
}

function readingEndpoints(apiVersion: ApiVersion, tasks: Tasks): Endpoint[] {
  const { base, tag } = groupOf(apiVersion);
  const schemas = schemasOf(apiVersion);
  return [
    ...LISTS.map(({ path, summary, statuses, order }) =>
      endpoint(
        {
          method: 'get',
          path: `${base}/${path}`,
          isLarge: true,
          tag,
          summary,
          query: z.object(pageQuery),
          responses: { 200: { description: 'One page of tasks.', schema: schemas.taskPage } },
        },
        async (request) => {
          const { query, context } = request;
          const page = tasks.list({ ...query, statuses, order }, listClient(request));
          const { tasks: found, totalElements } = await page;
          return context.json(pageOf(found.map(presentTask), totalElements, query));
        },
      ),
    ),
    endpoint(
      {
        method: 'get',
        path: `${base}/{id}`,
        tag,
        summary: 'One task',
        params: idParams,
        responses: { 200: { description: 'The task.', schema: schemas.task }, 404: NOT_FOUND },
      },
      async ({ params, context }) => context.json(presentTask(await tasks.get(params.id))),
    ),
  ];
}

function cancelEndpoint(tasks: Tasks): Endpoint {
  const { base, tag } = groupOf('1.0');
  return endpoint(
    {
      method: 'delete',
      path: `${base}/{id}/cancel`,
      tag,
      summary: 'Cancel a waiting task',
      params: idParams,
      responses: {
        204: { description: 'The task is CANCELED.' },
        404: NOT_FOUND,
        409: { description: 'The task runs or has ended.' },
      },
    },
    async ({ params, context, caller }) => {
      await tasks.cancel(params.id, false, caller);
      return context.body(null, 204);
    },
  );
}

function groupOf(apiVersion: ApiVersion) {
  return { base: `/api/${apiVersion}/workbench/task`, tag: `Tasks (${apiVersion})` };
}
