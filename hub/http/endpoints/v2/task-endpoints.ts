/** Tasks in API version 2.x (contract 2.6 to 2.11). */
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Tasks } from '../../../engine/tasks/tasks.js';
import { logQuery } from '../../requests/parsing/log-query.js';
import { idParams } from '../../requests/parsing/request-schemas.js';
import { type Endpoint, endpoint } from '../../routing/endpoint.js';
import { pageOf } from '../../routing/responses/page.js';
import { type JobPresentation, jobEndpoints } from '../common/job-endpoints.js';
import { listClient } from '../common/list-client.js';
import { logResponses } from '../common/log-response.js';
import { taskLogResponse } from '../common/task-log-response.js';
import type { TaskRequests } from '../common/task-requests.js';
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

export function taskEndpoints(tasks: Tasks, requests: TaskRequests, log: Logger): Endpoint[] {
  return [
    ...jobEndpoints(presentationOf(tasks), requests),
    ...readingEndpoints(tasks, log),
    ...endingEndpoints(tasks),
  ];
}

function presentationOf(tasks: Tasks): JobPresentation {
  return {
    base: BASE,
    tag: 'Tasks',
    operationId: (operation) => operation,
    schemas: { creation: creationResponse, simulateWorkResult, batchJobResult: executeBatchJobResult },
    descriptions: {
      state: 'The current state.',
      locked: 'The resource is locked: the hub accepts no tasks at present.',
    },
    takesIdempotencyKey: true,
    creation: presentCreation,
    simulateWorkResult: (task) => presentSimulateWorkResult(task, tasks.waitMessage(task)),
    batchJobResult: (task, storedFiles) => presentBatchJobResult(task, storedFiles, tasks.waitMessage(task)),
  };
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
        summary: 'Output of the scripts of a task',
        description:
          'While the task runs, the latest of it; afterwards all of it. `tail` and `offset` select a part, and `Range: ' +
          'bytes=…` one range of that.',
        params: idParams,
        query: logQuery,
        responses: {
          ...logResponses('The log.'),
          204: { description: 'Nothing was printed, or nothing in the requested part.' },
          404: NOT_FOUND,
        },
      },
      async ({ params, query, context }) =>
        taskLogResponse(context, await tasks.log(params.id), query, (error) =>
          log.error(
            { err: error, taskId: params.id },
            'response aborted: the log of a task cannot be read to its end',
          ),
        ),
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
