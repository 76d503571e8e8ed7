/** The list of tasks by place, with the cursor at which their events continue (contract 12.9). */
import { TASK_STATUSES } from '@workbench-hub/shared/domain/task';
import { z } from 'zod';
import type { ChangeFeed } from '../../../engine/following/change-feed.js';
import type { Tasks } from '../../../engine/tasks/tasks.js';
import { queryInteger, queryString } from '../../requests/parsing/validation.js';
import { type Endpoint, endpoint } from '../../routing/endpoint.js';
import { shownDefault } from '../../wire/openapi-overrides.js';
import { listClient } from '../common/list-client.js';
import { presentTaskItem } from './present-task.js';
import { taskFilterFields, taskFilterOf } from './task-filter-query.js';
import { taskItem } from './task-schemas.js';

const DEFAULT_LIMIT = 100;

const query = z.object({
  ...taskFilterFields,
  limit: queryInteger({ minimum: 1, maximum: 2000 })
    .default(DEFAULT_LIMIT)
    .meta({ description: 'Tasks of a response.', example: 20, override: shownDefault(DEFAULT_LIMIT) }),
  after: queryString().optional().meta({
    description: 'The `next` of an earlier response; the newest task by default.',
    example: '1207',
  }),
});

const window = z
  .object({
    tasks: z.array(taskItem).meta({ description: 'Newest request first.' }),
    next: z.string().optional().meta({
      description: 'Value of `after` for older tasks; absent when there are none.',
      example: '1207',
    }),
    total: z.int().meta({ description: 'Number of all tasks that match.', example: 1 }),
    counts: z
      .object(Object.fromEntries(TASK_STATUSES.map((status) => [status, z.int()])))
      .meta({ description: 'Number of tasks of each status that match but for their status.' }),
    cursor: z.string().meta({
      description: 'Value of `since` with which the stream of events tells of all that has changed since.',
      example: '5f0c6a9e1b3d.1207',
    }),
  })
  .meta({ id: 'TaskWindow' });

export function taskListEndpoint(tasks: Tasks, feed: Pick<ChangeFeed, 'latest'>): Endpoint {
  return endpoint(
    {
      method: 'get',
      path: '/api/x/tasks',
      isLarge: true,
      tag: 'Tasks',
      operationId: 'listTasksByPlace',
      summary: 'List tasks, newest request first, with counts by status',
      description:
        'Tasks of all users that match every given parameter. New tasks shift nothing: `next` continues where a response ' +
        'has ended.',
      query,
      responses: { 200: { description: 'Tasks.', schema: window } },
    },
    async (request) => {
      const { limit, after = null, ...filter } = request.query;
      const wanted = taskFilterOf(filter);
      // First, so that the events tell of every change that the list does not show.
      const cursor = await feed.latest();
      const found = await tasks.window({ ...wanted, size: limit, after }, listClient(request));
      const { counts, next } = found;
      const statuses = wanted.statuses.length === 0 ? TASK_STATUSES : new Set(wanted.statuses);
      return request.context.json({
        tasks: found.tasks.map((task) => presentTaskItem(task, tasks.waitReason(task))),
        ...(next === null ? {} : { next }),
        total: [...statuses].reduce((sum, status) => sum + counts[status], 0),
        counts,
        cursor,
      });
    },
  );
}
