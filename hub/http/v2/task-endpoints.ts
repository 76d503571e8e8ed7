/** Tasks in API version 2.x (contract 2.6 to 2.11). */
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Context } from 'hono';
import { z } from 'zod';
import type { Tasks } from '../../engine/tasks.js';
import { listClient } from '../common/list-client.js';
import { CREATION_HEADERS, CREATION_REQUEST_HEADERS, type TaskRequests } from '../common/task-requests.js';
import {
  batchJobContents,
  executeBatchJobRequest,
  idParams,
  resultQuery,
  simulateWorkRequest,
} from '../parsing/request-schemas.js';
import { blobStream } from '../responses/blob-stream.js';
import { pageOf } from '../responses/page.js';
import { type Endpoint, endpoint } from '../routing/endpoint.js';
import { presentBatchJobResult, presentCreation, presentSimulateWorkResult, presentTask } from './present.js';
import {
  cancelQuery,
  creationResponse,
  executeBatchJobResult,
  simulateWorkResult,
  taskListQuery,
  taskPage,
  taskSchema,
} from './schemas.js';

const BASE = '/api/2.0/workbench/task';
const NOT_FOUND = { description: 'There is no such task.' };
const KEY_REUSED = { description: 'Another request was made with this Idempotency-Key.' };
const LOCKED = { description: 'The resource is locked: the hub accepts no tasks at present.' };

export function taskEndpoints(tasks: Tasks, requests: TaskRequests, log: Logger): Endpoint[] {
  return [
    ...simulateWorkEndpoints(tasks, requests),
    ...batchJobEndpoints(tasks, requests),
    ...readingEndpoints(tasks, log),
    ...endingEndpoints(tasks),
  ];
}

function simulateWorkEndpoints(tasks: Tasks, requests: TaskRequests): Endpoint[] {
  return [
    endpoint(
      {
        method: 'post',
        path: `${BASE}/simulate-work/create`,
        tag: 'Tasks',
        operationId: 'createSimulateWork',
        summary: 'Create a simulate-work task',
        description:
          'Blocks a workbench instance for a number of seconds. 201 is sent when the task is durable.',
        body: simulateWorkRequest,
        admit: requests.admit,
        warnsOfUnknownFields: true,
        requestHeaders: CREATION_REQUEST_HEADERS,
        responses: {
          201: { description: 'The task waits.', schema: creationResponse, headers: CREATION_HEADERS },
          422: KEY_REUSED,
          423: LOCKED,
        },
      },
      async (request) =>
        request.context.json(presentCreation(await requests.createSimulateWork(once(request))), 201),
    ),
    endpoint(
      {
        method: 'get',
        path: `${BASE}/simulate-work/{id}/result`,
        tag: 'Tasks',
        operationId: 'getSimulateWorkResult',
        summary: 'Result of a simulate-work task',
        description: 'Waits up to `timeout` seconds for the end of the task and returns its state then.',
        params: idParams,
        query: resultQuery,
        responses: { 200: { description: 'The current state.', schema: simulateWorkResult }, 404: NOT_FOUND },
      },
      (request) =>
        requests.simulateWorkResult(request, (task) =>
          Response.json(presentSimulateWorkResult(task, tasks.waitMessage(task))),
        ),
    ),
  ];
}

function batchJobEndpoints(tasks: Tasks, requests: TaskRequests): Endpoint[] {
  return [
    endpoint(
      {
        method: 'post',
        path: `${BASE}/execute-batch-job/create`,
        tag: 'Tasks',
        operationId: 'createBatchJob',
        summary: 'Create an execute-batch-job task',
        description:
          'Runs scripts on a workbench instance, optionally with a model, and keeps the files they produce.',
        body: executeBatchJobRequest,
        admit: requests.admit,
        warnsOfUnknownFields: true,
        requestHeaders: CREATION_REQUEST_HEADERS,
        blobs: batchJobContents,
        responses: {
          201: { description: 'The task waits.', schema: creationResponse, headers: CREATION_HEADERS },
          422: KEY_REUSED,
          423: LOCKED,
        },
      },
      async (request) =>
        request.context.json(presentCreation(await requests.createBatchJob(once(request))), 201),
    ),
    endpoint(
      {
        method: 'get',
        path: `${BASE}/execute-batch-job/{id}/result`,
        isLarge: true,
        tag: 'Tasks',
        operationId: 'getBatchJobResult',
        summary: 'Result of an execute-batch-job task',
        description: 'Waits up to `timeout` seconds for the end of the task and returns its state then.',
        params: idParams,
        query: resultQuery,
        responses: {
          200: { description: 'The current state.', schema: executeBatchJobResult },
          404: NOT_FOUND,
        },
      },
      (request) =>
        requests.batchJobResult(request, (task, storedFiles) =>
          presentBatchJobResult(task, storedFiles, tasks.waitMessage(task)),
        ),
    ),
  ];
}

function readingEndpoints(tasks: Tasks, log: Logger): Endpoint[] {
  return [
    endpoint(
      {
        method: 'get',
        path: `${BASE}/list`,
        isLarge: true,
        tag: 'Tasks',
        operationId: 'listTasks',
        summary: 'List tasks, newest request first',
        description: 'Pages of the tasks of all users that match every given parameter.',
        query: taskListQuery,
        responses: { 200: { description: 'One page of tasks.', schema: taskPage } },
      },
      async (request) => {
        const { status, ...query } = request.query;
        const { context } = request;
        const page = tasks.list({ ...query, statuses: status }, listClient(request));
        const { tasks: found, totalElements } = await page;
        const content = found.map((task) => presentTask(task, tasks.waitMessage(task)));
        return context.json(pageOf(content, totalElements, query));
      },
    ),
    endpoint(
      {
        method: 'get',
        path: `${BASE}/{id}`,
        tag: 'Tasks',
        operationId: 'getTask',
        summary: 'One task',
        description: 'Job type, classifiers, times and status of the task, without its files.',
        params: idParams,
        responses: { 200: { description: 'The task.', schema: taskSchema }, 404: NOT_FOUND },
      },
      async ({ params, context }) => {
        const task = await tasks.get(params.id);
        return context.json(presentTask(task, tasks.waitMessage(task)));
      },
    ),
    endpoint(
      {
        method: 'get',
        path: `${BASE}/{id}/log`,
        isLarge: true,
        tag: 'Tasks',
        operationId: 'getTaskLog',
        summary: 'What the scripts of a task printed',
        description: 'While the task runs, the latest of it; afterwards all of it.',
        params: idParams,
        responses: {
          200: { description: 'The log.', schema: z.string(), contentType: 'text/plain' },
          204: { description: 'Nothing was printed.' },
          404: NOT_FOUND,
        },
      },
      async ({ params, context }) => {
        const printed = await tasks.log(params.id);
        const headers = { 'content-type': 'text/plain; charset=utf-8' };
        if (printed.kind === 'NONE') return context.body(null, 204);
        if (printed.kind === 'TEXT') return context.body(printed.text, 200, headers);
        const body = blobStream(printed.file, (error) =>
          log.error(
            { err: error, taskId: params.id },
            'response aborted: the log of a task cannot be read to its end',
          ),
        );
        return context.body(body, 200, { ...headers, 'content-length': String(printed.file.sizeBytes) });
      },
    ),
  ];
}

function endingEndpoints(tasks: Tasks): Endpoint[] {
  return [
    endpoint(
      {
        method: 'delete',
        path: `${BASE}/{id}/cancel`,
        tag: 'Tasks',
        operationId: 'cancelTask',
        summary: 'Cancel a waiting task',
        description: 'With `force`, ends a running task too. The role USER may cancel its own tasks only.',
        params: idParams,
        query: cancelQuery,
        responses: {
          204: { description: 'The task is CANCELED.' },
          404: NOT_FOUND,
          409: { description: 'The task runs or has ended.' },
        },
      },
      async ({ params, query, context, caller }) => {
        await tasks.cancel(params.id, query.force, caller);
        return context.body(null, 204);
      },
    ),
    endpoint(
      {
        method: 'delete',
        path: `${BASE}/{id}/delete`,
        tag: 'Tasks',
        operationId: 'deleteTask',
        summary: 'Delete an ended task with all its results',
        description: 'The role USER may delete its own tasks only.',
        params: idParams,
        responses: {
          204: { description: 'The task is gone.' },
          404: NOT_FOUND,
          409: { description: 'The task has not ended.' },
        },
      },
      async ({ params, context, caller }) => {
        await tasks.remove(params.id, caller);
        return context.body(null, 204);
      },
    ),
  ];
}

function once<Request extends { readonly context: Context }>(request: Request) {
  return { ...request, onceBy: request.context };
}
