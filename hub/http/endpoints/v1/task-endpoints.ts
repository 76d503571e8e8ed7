/** Tasks in API versions 1.x (contract 11.2 to 11.5). */
import type { TaskStatus } from '@workbench-hub/shared/domain/task';
import { z } from 'zod';
import type { TaskOrder } from '../../../core/ports/task-archive.js';
import type { Tasks } from '../../../engine/tasks/tasks.js';
import { idParams } from '../../requests/parsing/request-schemas.js';
import { pageQuery } from '../../requests/parsing/validation.js';
import { type Endpoint, endpoint } from '../../routing/endpoint.js';
import { pageOf } from '../../routing/responses/page.js';
import { type JobPresentation, jobEndpoints } from '../common/job-endpoints.js';
import { listClient } from '../common/list-client.js';
import type { TaskRequests } from '../common/task-requests.js';
import { operationIdOf } from './operation-id.js';
import {
  type ApiVersion,
  presentBatchJobResult,
  presentCreation,
  presentSimulateWorkResult,
  presentTask,
} from './present.js';
import { schemasOf } from './schemas.js';

const NOT_FOUND = { description: 'There is no such task.' };

interface List {
  readonly path: string;
  readonly operation: string;
  readonly summary: string;
  readonly description: string;
  readonly statuses: readonly TaskStatus[];
  readonly order: TaskOrder;
}

const LISTS: readonly List[] = [
  {
    path: 'list',
    operation: 'listTasks',
    summary: 'List tasks, newest request first',
    description: 'Pages of the tasks of all users, without filters.',
    statuses: [],
    order: 'NEWEST_FIRST',
  },
  {
    path: 'list/running',
    operation: 'listRunningTasks',
    summary: 'List the running tasks, longest running first',
    description: 'Pages of the tasks that workbench instances are executing.',
    statuses: ['RUNNING'],
    order: 'LONGEST_RUNNING_FIRST',
  },
  {
    path: 'list/waiting',
    operation: 'listWaitingTasks',
    summary: 'List the waiting tasks, next to run first',
    description: 'Pages of the queue, in the order in which tasks are considered.',
    statuses: ['WAITING'],
    order: 'NEXT_TO_RUN_FIRST',
  },
];

export function taskEndpointsV1(apiVersion: ApiVersion, tasks: Tasks, requests: TaskRequests): Endpoint[] {
  return [
    ...jobEndpoints(presentationOf(apiVersion), requests),
    ...readingEndpoints(apiVersion, tasks),
    ...(apiVersion === '1.0' ? [cancelEndpoint(tasks)] : []),
  ];
}

function presentationOf(apiVersion: ApiVersion): JobPresentation {
  return {
    ...groupOf(apiVersion),
    operationId: (operation) => operationIdOf(operation, apiVersion),
    schemas: schemasOf(apiVersion),
    takesIdempotencyKey: false,
    descriptions: { state: 'The state.', locked: 'The hub accepts no tasks at present.' },
    creation: presentCreation,
    simulateWorkResult: (task) => presentSimulateWorkResult(task, apiVersion),
    batchJobResult: (task) => presentBatchJobResult(task, apiVersion),
  };
}

function readingEndpoints(apiVersion: ApiVersion, tasks: Tasks): Endpoint[] {
  const { base, tag } = groupOf(apiVersion);
  const schemas = schemasOf(apiVersion);
  return [
    ...LISTS.map(({ path, operation, summary, description, statuses, order }) =>
      endpoint(
        {
          method: 'get',
          path: `${base}/${path}`,
          isLarge: true,
          tag,
          operationId: operationIdOf(operation, apiVersion),
          summary,
          description,
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
        operationId: operationIdOf('getTask', apiVersion),
        summary: 'One task',
        description: 'Type, priority, times and status of the task.',
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
      operationId: operationIdOf('cancelTask', '1.0'),
      summary: 'Cancel a waiting task',
      description: 'Ends a task that has not begun to run. The role USER may cancel its own tasks only.',
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
  return { base: `/api/${apiVersion}/workbench/task`, tag: `Tasks (${apiVersion})` as const };
}
