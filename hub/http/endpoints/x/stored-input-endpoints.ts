/** One file of the input storage: its content, and the tasks that use it (contract 12.27). */
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { z } from 'zod';
import type { Storage } from '../../../engine/storage/storage.js';
import type { Tasks } from '../../../engine/tasks/tasks.js';
import { inputNameSchema } from '../../requests/parsing/request-schemas.js';
import { type Endpoint, endpoint } from '../../routing/endpoint.js';
import { blobResponse } from '../../routing/responses/download.js';
import { presentTaskItem } from './present-task.js';
import { taskItem } from './task-schemas.js';

const PATH = '/api/x/storage/inputs/{name}';
const MAX_TASKS = 100;

const BINARY = 'application/octet-stream';
const binary = z.string().meta({ format: 'binary' });
const params = z.object({ name: inputNameSchema });
const NOT_FOUND = { description: 'There is no such file, or it has expired.' };
const OFF = { description: 'The input storage is not enabled by configuration.' };

const users = z
  .object({
    tasks: z.array(taskItem).meta({ description: `Newest first, ${MAX_TASKS} at most.` }),
    more: z.boolean().meta({ description: 'Whether there may be more.' }),
  })
  .meta({ id: 'TasksOfInput' });

export function storedInputEndpoints(storage: Storage, tasks: Tasks, log: Logger): Endpoint[] {
  return [
    endpoint(
      {
        method: 'get',
        path: PATH,
        isLarge: true,
        tag: 'Storage',
        operationId: 'downloadInputFile',
        summary: 'Download a file from the input storage',
        description:
          'Supports `Range: bytes=…` with one range, `If-Range` and `If-None-Match`; the entity tag is the SHA-256 of the ' +
          'content.',
        params,
        responses: {
          200: { description: 'The content.', schema: binary, contentType: BINARY },
          206: { description: 'The requested range.', schema: binary, contentType: BINARY },
          304: { description: 'The client has this content.' },
          404: NOT_FOUND,
          416: { description: 'The file has no such range.' },
          423: OFF,
        },
      },
      async ({ params: { name }, context }) =>
        blobResponse(context, { name, ...(await storage.inputContent(name)) }, log),
    ),
    endpoint(
      {
        method: 'get',
        path: `${PATH}/tasks`,
        tag: 'Storage',
        operationId: 'listTasksOfInput',
        summary: 'Tasks that use a file of the input storage',
        description:
          'Those that have its present content among their inputs, whether they named the file or brought it along.',
        params,
        responses: { 200: { description: 'The tasks.', schema: users }, 404: NOT_FOUND, 423: OFF },
      },
      async ({ params: { name }, context }) => {
        const found = await tasks.withInput(await storage.stored('INPUT', name), MAX_TASKS);
        return context.json({
          tasks: found.tasks.map((task) => presentTaskItem(task, tasks.waitReason(task))),
          more: !found.isComplete,
        });
      },
    ),
  ];
}
