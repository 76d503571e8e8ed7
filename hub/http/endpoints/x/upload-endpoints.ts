/** Resumable uploads to the input storage (contract 12.20): tus 1.0 with the extensions creation, expiration and termination. */
import type { HttpBindings } from '@hono/node-server';
import { offsetTimestamp } from '@workbench-hub/shared/domain/timestamp';
import type { Context } from 'hono';
import { z } from 'zod';
import { creatorOf } from '../../../core/access.js';
import type { ResumableUpload } from '../../../core/ports/resumable-uploads.js';
import type { ResumableUploadService } from '../../../engine/storage/resumable-upload-service.js';
import { storageUserOf } from '../../../engine/storage/stored-file-rights.js';
import {
  bytesIn,
  metadataIn,
  PART_TYPE,
  refuseOtherType,
  refuseOtherVersion,
  TUS_VERSION,
} from '../../requests/parsing/upload-headers.js';
import { type Endpoint, endpoint } from '../../routing/endpoint.js';
import { uploadQuery } from '../v2/storage-endpoints.js';

const PATH = '/api/x/storage/input/uploads';
const EXTENSIONS = 'creation,expiration,termination';

const INPUT_OFF = { description: 'The input storage is not enabled by configuration.' };
const OTHER_VERSION = { description: 'The request is not one of tus 1.0.' };
const NOT_FOUND = { description: 'There is no such upload of this user, or it has expired.' };

const PROGRESS_HEADERS = {
  'Upload-Offset': 'Bytes that the hub has; the upload continues here.',
  'Upload-Expires': 'When the upload expires unless it makes progress.',
};

const versionHeader = z
  .string()
  .optional()
  .meta({ description: 'Version of the protocol; required, except for GET.', example: TUS_VERSION });

const uploadParams = z.object({ id: z.string() });

const upload = z
  .object({
    id: z.string(),
    name: z
      .string()
      .meta({ description: 'Name that the file gets in the input storage.', example: 'gearbox-7.wbpz' }),
    size: z.int().min(0).meta({ description: 'Bytes of the whole file.', example: 10_485_760 }),
    received: z.int().min(0).meta({ description: 'Bytes that the hub has, from the beginning.' }),
    digest: z
      .string()
      .optional()
      .meta({ description: 'SHA-256 that the client has announced, in hexadecimal.' }),
    overwrite: z.boolean(),
    encrypt: z.boolean(),
    stored: z.boolean().meta({ description: 'Whether the file is in the input storage.' }),
    createdAt: z.string().meta({ example: '2026-11-21T06:53:00.123+01:00' }),
    expiresAt: z.string().meta({ description: 'When the upload expires unless it makes progress.' }),
  })
  .meta({ id: 'InputUpload' });

const uploadList = z
  .object({ uploads: z.array(upload).meta({ description: 'Oldest first.' }) })
  .meta({ id: 'InputUploads' });

/** Part of the specification that all endpoints share. */
const COMMON = { tag: 'Storage', responseHeaders: { 'Tus-Resumable': TUS_VERSION } } as const;

export function uploadEndpoints(uploads: ResumableUploadService): Endpoint[] {
  return [
    optionsEndpoint(uploads),
    createEndpoint(uploads),
    listEndpoint(uploads),
    stateEndpoint(uploads),
    partEndpoint(uploads),
    deleteEndpoint(uploads),
  ];
}

function optionsEndpoint(uploads: ResumableUploadService): Endpoint {
  return endpoint(
    {
      ...COMMON,
      method: 'options',
      path: PATH,
      operationId: 'getUploadOptions',
      summary: 'Abilities of the hub for resumable uploads',
      description: 'Version, extensions and largest size, in headers (tus 1.0).',
      responses: {
        204: {
          description: 'The abilities.',
          headers: {
            'Tus-Version': 'Versions of the protocol.',
            'Tus-Extension': 'Extensions of the protocol.',
            'Tus-Max-Size': 'Bytes of the largest file.',
          },
        },
      },
    },
    ({ context }) =>
      context.body(null, 204, {
        'Tus-Version': TUS_VERSION,
        'Tus-Extension': EXTENSIONS,
        'Tus-Max-Size': String(uploads.maxBytes),
      }),
  );
}

function createEndpoint(uploads: ResumableUploadService): Endpoint {
  return endpoint(
    {
      ...COMMON,
      method: 'post',
      path: PATH,
      operationId: 'beginInputUpload',
      summary: 'Begin a resumable upload to the input storage',
      description:
        'The content follows in parts to the address in `Location`. The file gets its name when all of it is durable; before, it is ' +
        'not visible. The whole size counts for the quota from now on.',
      query: uploadQuery,
      requestHeaders: z.object({
        'Tus-Resumable': versionHeader,
        'Upload-Length': z.string().optional().meta({ description: 'Required: bytes of the whole file.' }),
        'Upload-Metadata': z
          .string()
          .optional()
          .meta({
            description:
              'Required: pairs of a key and a value in Base64, separated by commas. `filename` is the name of the file; `sha256` ' +
              'is its digest in hexadecimal, which the hub then verifies.',
            example: 'filename Z2VhcmJveC03LndicHo=',
          }),
      }),
      responses: {
        201: {
          description: 'The upload has begun.',
          schema: upload,
          headers: { Location: 'Address of the upload.', ...PROGRESS_HEADERS },
        },
        409: { description: 'There is a file of this name.' },
        412: OTHER_VERSION,
        413: { description: 'The file is too large, or more than the user may store.' },
        423: INPUT_OFF,
      },
    },
    async ({ query, context, caller, audit }) => {
      refuseOtherVersion(context);
      const sizeBytes = bytesIn(context, 'Upload-Length');
      const metadata = metadataIn(context);
      audit.detail = metadata.name;
      const begun = await uploads.begin(storageUserOf(caller), { ...metadata, ...query, sizeBytes });
      setProgress(context, begun);
      // Relative to this address, whatever a proxy puts before it.
      context.header('Location', `uploads/${begun.id}`);
      return context.json(present(begun), 201);
    },
  );
}

function listEndpoint(uploads: ResumableUploadService): Endpoint {
  return endpoint(
    {
      ...COMMON,
      method: 'get',
      path: PATH,
      operationId: 'listInputUploads',
      summary: 'List the own unfinished uploads',
      description: 'Those that have not expired, oldest first.',
      responses: { 200: { description: 'The uploads.', schema: uploadList }, 423: INPUT_OFF },
    },
    async ({ context, caller }) =>
      context.json({ uploads: (await uploads.list(creatorOf(caller))).map(present) }),
  );
}

function stateEndpoint(uploads: ResumableUploadService): Endpoint {
  return endpoint(
    {
      ...COMMON,
      method: 'get',
      path: `${PATH}/{id}`,
      operationId: 'getInputUpload',
      summary: 'State of a resumable upload',
      description:
        'Clients of tus ask by HEAD, for the same headers without a body. An upload is shown for an hour after its end.',
      params: uploadParams,
      requestHeaders: z.object({ 'Tus-Resumable': versionHeader }),
      responses: {
        200: {
          description: 'The state.',
          schema: upload,
          headers: {
            'Upload-Length': 'Bytes of the whole file.',
            'Upload-Metadata': 'The metadata as sent.',
            ...PROGRESS_HEADERS,
          },
        },
        404: NOT_FOUND,
        409: { description: 'A file of this name was stored meanwhile; the upload has ended.' },
        412: OTHER_VERSION,
        413: { description: 'The file is more than the user may store.' },
        400: {
          description:
            'The parameters are not valid, or the content does not have the announced digest; then the upload has ended.',
        },
        423: { description: 'The input storage is not enabled, or the upload is being completed.' },
        507: { description: 'The disk of the hub is full.' },
      },
    },
    async ({ params, context, caller, reauthorize, audit }) => {
      if (context.req.raw.method === 'HEAD') refuseOtherVersion(context);
      const onNaming = ({ name }: ResumableUpload) => {
        audit.isChange = true;
        audit.detail = name;
      };
      const naming = { onNaming, reauthorize: async () => storageUserOf(await reauthorize()) };
      const found = await uploads.find(params.id, storageUserOf(caller), naming);
      setProgress(context, found);
      context.header('Upload-Length', String(found.sizeBytes));
      if (found.metadata !== '') context.header('Upload-Metadata', found.metadata);
      context.header('Cache-Control', 'no-store');
      return context.json(present(found));
    },
  );
}

function partEndpoint(uploads: ResumableUploadService): Endpoint {
  return endpoint(
    {
      ...COMMON,
      method: 'patch',
      path: `${PATH}/{id}`,
      operationId: 'sendInputUploadPart',
      summary: 'Send a part of a resumable upload',
      description:
        'Continues at `Upload-Offset`, with as much of the rest as the client likes. What arrived of a part that breaks off is kept. ' +
        'The response to the last part is sent when file and name are durable.',
      params: uploadParams,
      requestHeaders: z.object({
        'Tus-Resumable': versionHeader,
        'Upload-Offset': z.string().optional().meta({ description: 'Required: where this part begins.' }),
      }),
      stream: { contentType: PART_TYPE, description: 'The bytes from the offset on.' },
      responses: {
        204: { description: 'The part is durable.', headers: PROGRESS_HEADERS },
        404: NOT_FOUND,
        409: {
          description: 'The upload continues at another offset, or a file of its name was stored meanwhile.',
        },
        412: OTHER_VERSION,
        413: {
          description: 'The part is longer than the rest, or the file is more than the user may store.',
        },
        415: { description: `The content type is not ${PART_TYPE}.` },
        400: {
          description:
            'The parameters are not valid, or the content does not have the announced digest; then the upload has ended.',
        },
        423: { description: 'Another request sends this upload, or the input storage is not enabled.' },
      },
    },
    async ({ params, context, caller, reauthorize, audit }) => {
      refuseOtherVersion(context);
      refuseOtherType(context);
      const { incoming } = context.env as HttpBindings;
      const length = incoming.headers['content-length'];
      const received = await uploads.receive(params.id, storageUserOf(caller), {
        fromByte: bytesIn(context, 'Upload-Offset'),
        lengthBytes: length === undefined ? null : Number(length),
        content: incoming,
        reauthorize: async () => storageUserOf(await reauthorize()),
      });
      audit.detail = received.name;
      setProgress(context, received);
      return context.body(null, 204);
    },
  );
}

function deleteEndpoint(uploads: ResumableUploadService): Endpoint {
  return endpoint(
    {
      ...COMMON,
      method: 'delete',
      path: `${PATH}/{id}`,
      operationId: 'deleteInputUpload',
      summary: 'End a resumable upload',
      description: 'Removes the received bytes. The file of a finished upload stays.',
      params: uploadParams,
      requestHeaders: z.object({ 'Tus-Resumable': versionHeader }),
      responses: {
        204: { description: 'The upload does not exist any more.' },
        404: NOT_FOUND,
        412: OTHER_VERSION,
        423: INPUT_OFF,
      },
    },
    async ({ params, context, caller }) => {
      refuseOtherVersion(context);
      await uploads.remove(params.id, creatorOf(caller));
      return context.body(null, 204);
    },
  );
}

function setProgress(context: Context, { receivedBytes, expiresAtMs, isStored }: ResumableUpload): void {
  context.header('Upload-Offset', String(receivedBytes));
  if (!isStored) context.header('Upload-Expires', new Date(expiresAtMs).toUTCString());
}

function present(shown: ResumableUpload): z.input<typeof upload> {
  const { id, name, sizeBytes, receivedBytes, announcedDigest, overwrite, encrypt, isStored } = shown;
  return {
    id,
    name,
    size: sizeBytes,
    received: receivedBytes,
    ...(announcedDigest === null ? {} : { digest: announcedDigest }),
    overwrite,
    encrypt,
    stored: isStored,
    createdAt: offsetTimestamp(shown.createdAtMs),
    expiresAt: offsetTimestamp(shown.expiresAtMs),
  };
}
