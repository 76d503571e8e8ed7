/** A task whole, and its files one by one (contract 12.8). */
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { z } from 'zod';
import { mayChangeTask } from '../../../core/access.js';
import type { TaskDetailsReader } from '../../../engine/tasks/task-details.js';
import type { Tasks } from '../../../engine/tasks/tasks.js';
import { idParams } from '../../requests/parsing/request-schemas.js';
import { type Endpoint, endpoint } from '../../routing/endpoint.js';
import { attachment, blobResponse } from '../../routing/responses/download.js';
import { tarBody } from '../../routing/responses/tar-body.js';
import { presentInput, presentOutputs, presentTaskDetails } from './present-task.js';
import { filePath, inputFiles, outputFiles, taskDetails } from './task-schemas.js';

const PATH = '/api/x/tasks/{id}';
const BINARY = 'application/octet-stream';
const binary = z.string().meta({ format: 'binary' });
const NOT_FOUND = { description: 'There is no such task.' };

export interface TaskDetailEndpointsOptions {
  readonly tasks: Tasks;
  readonly details: TaskDetailsReader;
  readonly log: Logger;
}

export function taskDetailEndpoints(options: TaskDetailEndpointsOptions): Endpoint[] {
  return [detailsEndpoint(options), ...inputEndpoints(options), ...outputEndpoints(options)];
}

function detailsEndpoint({ tasks, details }: TaskDetailEndpointsOptions): Endpoint {
  return endpoint(
    {
      method: 'get',
      path: PATH,
      tag: 'Tasks',
      operationId: 'getTaskDetails',
      summary: 'One task, whole',
      description:
        'The task with its inputs, variables, attempts and files. Contents of files are downloaded one by one.',
      params: idParams,
      responses: { 200: { description: 'The task.', schema: taskDetails }, 404: NOT_FOUND },
    },
    async ({ params: { id }, context, caller }) => {
      const found = await details.read(id);
      const inputs = await details.inputs(id);
      const wait = tasks.waitReason(found.task);
      const shownAs = { wait, mayChange: mayChangeTask(caller, found.task) };
      return context.json(presentTaskDetails(found, inputs, shownAs));
    },
  );
}

function inputEndpoints({ details, log }: TaskDetailEndpointsOptions): Endpoint[] {
  return [
    endpoint(
      {
        method: 'get',
        path: `${PATH}/inputs`,
        tag: 'Tasks',
        operationId: 'listTaskInputs',
        summary: 'Files that were handed in with a task',
        description:
          'Model, scripts in their order, and additional files: what it takes to run the job again.',
        params: idParams,
        responses: { 200: { description: 'The files.', schema: inputFiles }, 404: NOT_FOUND },
      },
      async ({ params: { id }, context }) =>
        context.json({ files: (await details.inputs(id)).map(presentInput) }),
    ),
    downloadEndpoint(
      {
        path: `${PATH}/inputs/{path}`,
        operationId: 'downloadTaskInput',
        summary: 'Download an input of a task',
      },
      (id, path) => details.input(id, path),
      log,
    ),
  ];
}

function outputEndpoints({ details, log }: TaskDetailEndpointsOptions): Endpoint[] {
  return [
    endpoint(
      {
        method: 'get',
        path: `${PATH}/outputs`,
        tag: 'Tasks',
        operationId: 'listTaskOutputs',
        summary: 'Files that a task produced',
        description: 'Sorted by path, without their contents. Empty before the end of the task.',
        params: idParams,
        responses: { 200: { description: 'The files.', schema: outputFiles }, 404: NOT_FOUND },
      },
      async ({ params: { id }, context }) =>
        context.json({ files: presentOutputs(await details.outputs(id)) }),
    ),
    downloadEndpoint(
      {
        path: `${PATH}/outputs/{path}`,
        operationId: 'downloadTaskOutput',
        summary: 'Download one output file of a task',
      },
      (id, path) => details.output(id, path),
      log,
    ),
    archiveEndpoint({ details, log }),
  ];
}

const TAR = 'application/x-tar';

function archiveEndpoint({ details, log }: Omit<TaskDetailEndpointsOptions, 'tasks'>): Endpoint {
  return endpoint(
    {
      method: 'get',
      path: `${PATH}/archive`,
      isLarge: true,
      tag: 'Tasks',
      operationId: 'downloadTaskOutputs',
      summary: 'Download all output files of a task as one archive',
      description:
        'A tar archive with the files under their paths, in a folder that is named after the task. It is made while it is ' +
        'sent. Without any file before the end of the task.',
      params: idParams,
      responses: { 200: { description: 'The archive.', schema: binary, contentType: TAR }, 404: NOT_FOUND },
    },
    async ({ params: { id }, context }) => {
      const { task, refs: files, beginHold, find } = await details.allOutputs(id);
      const modifiedAtMs = task.endedAtMs ?? task.requestedAtMs;
      const onFailure = (error: unknown) =>
        log.warn(
          { err: error, id },
          'the download of all outputs was aborted: one of them cannot be read to its end',
        );
      const archived = { files, folder: id, modifiedAtMs, beginHold, find };
      const body = context.req.raw.method === 'HEAD' ? null : tarBody(archived, onFailure);
      return new Response(body, {
        headers: { 'content-type': TAR, 'content-disposition': attachment(`${id}.tar`) },
      });
    },
  );
}

function downloadEndpoint(
  names: { readonly path: string; readonly operationId: string; readonly summary: string },
  find: (id: string, path: string) => ReturnType<TaskDetailsReader['output']>,
  log: Logger,
): Endpoint {
  return endpoint(
    {
      ...names,
      method: 'get',
      isLarge: true,
      tag: 'Tasks',
      description:
        'Supports `Range: bytes=…` with one range, `If-Range` and `If-None-Match`; the entity tag is the SHA-256 of the ' +
        'content.',
      params: z.object({ id: z.string(), path: filePath }),
      responses: {
        200: { description: 'The content.', schema: binary, contentType: BINARY },
        206: { description: 'The requested range.', schema: binary, contentType: BINARY },
        304: { description: 'The client has this content.' },
        404: { description: 'There is no such task or file.' },
        416: { description: 'The file has no such range.' },
      },
    },
    async ({ params: { id, path }, context }) => blobResponse(context, await find(id, path), log),
  );
}
