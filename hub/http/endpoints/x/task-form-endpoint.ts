/** Creation of a batch job by a form, without Base64 (contract 12.21). */
import type { HttpBindings } from '@hono/node-server';
import type { BlobStore } from '../../../core/ports/blobs.js';
import type { Task } from '../../../core/task.js';
import type { WaitReason } from '../../../core/wait-reason.js';
import type { FileLimits } from '../../requests/parsing/body-blob.js';
import { receiveForm } from '../../requests/parsing/form-files.js';
import { JOB_FIELD_PARTS, JOB_FILE_PARTS, JOB_FORM, jobOfForm } from '../../requests/parsing/job-form.js';
import { type Endpoint, endpoint } from '../../routing/endpoint.js';
import { TASK_KEY } from '../common/idempotency-key.js';
import type { TaskRequests } from '../common/task-requests.js';
import { presentTaskItem } from './present-task.js';
import { taskItem } from './task-schemas.js';

export interface TaskFormOptions {
  readonly requests: TaskRequests;
  readonly files: BlobStore;
  readonly limits: FileLimits;
  /** Limit of the whole form. */
  readonly maxBytes: number;
  readonly waitReason: (task: Task) => WaitReason | null;
}

export function taskFormEndpoint({
  requests,
  files,
  limits,
  maxBytes,
  waitReason,
}: TaskFormOptions): Endpoint {
  const options = { files, limits, maxBytes, fileParts: JOB_FILE_PARTS, fieldParts: JOB_FIELD_PARTS };
  return endpoint(
    {
      method: 'post',
      path: '/api/x/tasks/form',
      tag: 'Tasks',
      operationId: 'createBatchJobByForm',
      summary: 'Create a batch job by a form',
      description:
        'The same as `createBatchJob`, with files as parts of a form instead of Base64. 201 is sent when the task is durable.',
      admit: requests.admit,
      requestHeaders: TASK_KEY,
      form: JOB_FORM,
      responses: {
        201: {
          description: 'The task waits.',
          schema: taskItem,
          headers: {
            Warning: 'Warns when a job without labels fits instances of different kinds; absent otherwise.',
            'Idempotency-Replayed':
              '`true` when the task was created by an earlier request with the same Idempotency-Key.',
          },
        },
        413: { description: 'The form, a file or the texts are too large.' },
        422: { description: 'Another request was made with this Idempotency-Key.' },
        423: { description: 'The hub accepts no tasks at present, or the input storage is off.' },
      },
    },
    async ({ context, caller, requestId, traceContext, hold, audit, reauthorize }) => {
      const { incoming } = context.env as HttpBindings;
      const body = jobOfForm(await receiveForm(incoming, options, hold));
      await reauthorize();
      const request = { body, caller, requestId, traceContext, hold, audit, ignoredFields: null };
      const task = await requests.createBatchJob(request, context);
      return context.json(presentTaskItem(task, waitReason(task)), 201);
    },
  );
}
