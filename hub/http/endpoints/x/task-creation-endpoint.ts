/** Creation of tasks of both types (contract 12.18). */
import { z } from 'zod';
import type { Task } from '../../../core/task.js';
import type { WaitReason } from '../../../core/wait-reason.js';
import {
  batchJobContents,
  executeBatchJobRequest,
  simulateWorkRequest,
} from '../../requests/parsing/request-schemas.js';
import { type Endpoint, endpoint } from '../../routing/endpoint.js';
import { shownWithoutNull } from '../../wire/openapi-overrides.js';
import { creationOf } from '../common/job-endpoints.js';
import type { TaskRequests } from '../common/task-requests.js';
import { presentTaskItem } from './present-task.js';
import { taskItem } from './task-schemas.js';

const notify = z.string().max(2000).nullish().meta({
  description: 'Address that gets a webhook when the task ends. An administrator decides which are allowed.',
  example: 'https://ci.example.org/hooks/hub',
  override: shownWithoutNull,
});

const newSimulateWork = z
  .object({ type: z.enum(['SIMULATE_WORK']), ...simulateWorkRequest.shape, notify })
  .meta({ id: 'NewSimulateWork' });

const newBatchJob = z
  .object({ type: z.enum(['EXECUTE_BATCH_JOB']), ...executeBatchJobRequest.shape, notify })
  .meta({ id: 'NewBatchJob' });

const newTask = z.discriminatedUnion('type', [newSimulateWork, newBatchJob], {
  error: 'must be SIMULATE_WORK or EXECUTE_BATCH_JOB',
});

export function taskCreationEndpoint(
  requests: TaskRequests,
  waitReason: (task: Task) => WaitReason | null,
): Endpoint {
  return endpoint(
    {
      ...creationOf(requests.admit, {
        schema: taskItem,
        locked: 'The hub accepts no tasks at present.',
        takesIdempotencyKey: true,
      }),
      method: 'post',
      path: '/api/x/tasks',
      tag: 'Tasks',
      operationId: 'createTask',
      summary: 'Create a task',
      description: 'A batch job or simulated work, by `type`. 201 is sent when the task is durable.',
      body: newTask,
      blobs: batchJobContents,
    },
    async ({ body, ...request }) => {
      const { context } = request;
      const task =
        body.type === 'SIMULATE_WORK'
          ? await requests.createSimulateWork({ ...request, body }, context)
          : await requests.createBatchJob({ ...request, body }, context);
      return context.json(presentTaskItem(task, waitReason(task)), 201);
    },
  );
}
