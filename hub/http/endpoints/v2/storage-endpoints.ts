/** The storage in API version 2.x (contract 7.2 to 7.6). */
import type { HttpBindings } from '@hono/node-server';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { z } from 'zod';
import { refuseWithoutRole } from '../../../core/access.js';
import type { Storage } from '../../../engine/storage/storage.js';
import { storageUserOf } from '../../../engine/storage/stored-file-rights.js';
import { receiveFile } from '../../requests/parsing/multipart.js';
import { inputNameSchema, newInputNameSchema } from '../../requests/parsing/request-schemas.js';
import { queryBoolean, validated } from '../../requests/parsing/validation.js';
import { type Endpoint, endpoint } from '../../routing/endpoint.js';
import { blobResponse } from '../../routing/responses/download.js';
import { shownDefault } from '../../wire/openapi-overrides.js';

const BASE = '/api/2.0/storage';
const INPUT_OFF = { description: 'The input storage is not enabled by configuration.' };

const inputParams = z.object({ name: inputNameSchema });

/** Query of an upload, in one request or resumable. */
export const uploadQuery = z.object({
  overwrite: queryBoolean()
    .default(false)
    .meta({
      description: 'Replace a file of this name.',
      example: false,
      override: shownDefault(false),
    }),
  encrypt: queryBoolean()
    .default(false)
    .meta({
      description: 'Store the file encrypted (AES-256-GCM).',
      example: false,
      override: shownDefault(false),
    }),
});

const infoQuery = z.object({
  renewExpirationTimestamp: queryBoolean()
    .default(false)
    .meta({
      description: 'Restart the time after which the file expires. Requires the role USER.',
      example: false,
      override: shownDefault(false),
    }),
});

const inputStatus = z
  .object({ active: z.boolean().meta({ description: 'Whether the input storage is enabled.' }) })
  .meta({ id: 'InputStatus' });
const inputInfo = z
  .object({ exists: z.boolean().meta({ description: 'Whether there is a file of this name.' }) })
  .meta({ id: 'InputFileInfo' });

/** Limit of the bytes of a form beside the file itself. */
const MULTIPART_BYTES = 1024 * 1024;

export function storageEndpoints(storage: Storage, log: Logger): Endpoint[] {
  return [...inputEndpoints(storage), downloadEndpoint(storage, log)];
}

function inputEndpoints(storage: Storage): Endpoint[] {
  return [statusEndpoint(storage), uploadEndpoint(storage), infoEndpoint(storage), deleteEndpoint(storage)];
}

function statusEndpoint(storage: Storage): Endpoint {
  return endpoint(
    {
      method: 'get',
      path: '/api/2.1/storage/input/status',
      operationId: 'getInputStorageStatus',
      tag: 'Storage',
      summary: 'Whether the input storage is enabled',
      description: 'While it is not, the other endpoints of the input storage respond with 423.',
      responses: { 200: { description: 'The status.', schema: inputStatus } },
    },
    ({ context }) => context.json({ active: storage.isInputOn }),
  );
}

function uploadEndpoint(storage: Storage): Endpoint {
  return endpoint(
    {
      method: 'post',
      path: `${BASE}/input/upload`,
      operationId: 'uploadInputFile',
      tag: 'Storage',
      summary: 'Upload a file to the input storage',
      description:
        'The file name is taken from the Content-Disposition header of the part. 204 is sent when file and name are ' +
        'durable; before, the file is not visible. The name expires after a configured time.',
      query: uploadQuery,
      form: {
        file: {
          description: 'The file, of any size up to the limit of the hub.',
          kind: 'FILE',
          isRequired: true,
        },
      },
      responses: {
        204: { description: 'The file is stored.' },
        409: { description: 'There is a file of this name.' },
        413: { description: 'The file is too large, or more than the user may store.' },
        423: INPUT_OFF,
      },
    },
    async ({ query, context, caller, reauthorize, audit }) => {
      storage.refuseWhileInputIsOff();
      const { incoming } = context.env as HttpBindings;
      const announced = Number(incoming.headers['content-length'] ?? 0);
      if (announced > storage.maxInputBytes + MULTIPART_BYTES) throw storage.tooLarge();
      const upload = storage.beginUpload(storageUserOf(caller));
      try {
        await receiveFile(incoming, async (fileName, content) => {
          const name = validated(z.object({ file: newInputNameSchema }), { file: fileName }).file;
          audit.detail = name;
          await upload.take({ name, ...query }, content);
        });
        await upload.name(storageUserOf(await reauthorize()));
      } finally {
        await upload.end();
      }
      return context.body(null, 204);
    },
  );
}

function infoEndpoint(storage: Storage): Endpoint {
  return endpoint(
    {
      method: 'get',
      path: `${BASE}/input/{name}`,
      operationId: 'checkInputFile',
      tag: 'Storage',
      summary: 'Whether a file is in the input storage',
      description: 'Optionally restarts the time after which the file expires.',
      params: inputParams,
      query: infoQuery,
      responses: { 200: { description: 'Whether it exists.', schema: inputInfo }, 423: INPUT_OFF },
    },
    async ({ params, query, context, caller, audit }) => {
      const { name } = params;
      if (!query.renewExpirationTimestamp) return context.json({ exists: await storage.inputExists(name) });
      refuseWithoutRole(caller, 'USER');
      audit.isChange = true;
      return context.json({ exists: await storage.renewInput(name, storageUserOf(caller)) });
    },
  );
}

function deleteEndpoint(storage: Storage): Endpoint {
  return endpoint(
    {
      method: 'delete',
      path: `${BASE}/input/{name}/delete`,
      operationId: 'deleteInputFile',
      tag: 'Storage',
      summary: 'Delete a file from the input storage',
      description:
        'Tasks that refer to it keep its content. If there is no such file, the response is 204 too.',
      params: inputParams,
      responses: { 204: { description: 'The file does not exist any more.' }, 423: INPUT_OFF },
    },
    async ({ params, context, caller }) => {
      await storage.removeInput(params.name, storageUserOf(caller));
      return context.body(null, 204);
    },
  );
}

function downloadEndpoint(storage: Storage, log: Logger): Endpoint {
  return endpoint(
    {
      method: 'get',
      path: `${BASE}/output/{name}/download`,
      isLarge: true,
      tag: 'Storage',
      operationId: 'downloadOutputFile',
      summary: 'Download a file from the output storage',
      description:
        'Its name is `<task id>-<file name>`, as listed under `storedFiles` in the result of the task. Supports `Range: ' +
        'bytes=…` with one range, `If-Range` and `If-None-Match`; the entity tag is the SHA-256 of the content.',
      params: z.object({
        name: z.string().meta({ description: 'Name of the file.', example: `${EXAMPLE_TASK}-motion.csv` }),
      }),
      responses: {
        200: { description: 'The content.', schema: binary, contentType: BINARY },
        206: { description: 'The requested range.', schema: binary, contentType: BINARY },
        304: { description: 'The client has this content.' },
        404: { description: 'There is no such file, or it has expired.' },
        416: { description: 'The file has no such range.' },
        423: { description: 'The output storage is not enabled by configuration.' },
      },
    },
    async ({ params: { name }, context }) =>
      blobResponse(context, { name, ...(await storage.output(name)) }, log),
  );
}

const BINARY = 'application/octet-stream';
const binary = z.string().meta({ format: 'binary' });
const EXAMPLE_TASK = '019aa4f2-6d3c-7c41-9f0e-5b2f6f1d2a77';
