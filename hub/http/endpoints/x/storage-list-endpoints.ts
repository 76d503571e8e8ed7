/** Lists of the files in the storage (contract 12.15). */
import { offsetTimestamp } from '@workbench-hub/shared/domain/timestamp';
import { z } from 'zod';
import type { NamedObject, StorageArea } from '../../../core/ports/named-objects.js';
import type { Storage } from '../../../engine/storage/storage.js';
import { queryInteger, queryString } from '../../requests/parsing/validation.js';
import { type Endpoint, endpoint } from '../../routing/endpoint.js';
import { shownDefault } from '../../wire/openapi-overrides.js';

const DEFAULT_LIMIT = 100;

const listQuery = z.object({
  prefix: queryString()
    .optional()
    .meta({ description: 'Beginning of the names, with case.', example: 'gear' }),
  owner: queryString().optional().meta({ description: 'User who stored them.', example: 'anna' }),
  limit: queryInteger({ minimum: 1, maximum: 2000 })
    .default(DEFAULT_LIMIT)
    .meta({ description: 'Files of a response.', example: 20, override: shownDefault(DEFAULT_LIMIT) }),
  after: queryString().optional().meta({
    description: 'The `next` of an earlier response: continue there.',
    example: 'gearbox-7.wbpz',
  }),
});

const time = (description: string) =>
  z.string().meta({ description, example: '2026-11-21T06:53:00.123+01:00' });

const storedFile = z
  .object({
    name: z.string().meta({ example: 'gearbox-7.wbpz' }),
    size: z.int().min(0).meta({ description: 'Bytes.', example: 10_485_760 }),
    digest: z
      .string()
      .optional()
      .meta({ description: 'SHA-256 of the content, in hexadecimal; absent for an encrypted file.' }),
    encrypted: z.boolean(),
    owner: z
      .string()
      .optional()
      .meta({ description: 'User who stored it; present when security is enabled.' }),
    storedAt: time('When it was stored.'),
    expiresAt: time('When it ceases to exist.'),
  })
  .meta({ id: 'StoredFile' });

const storedFiles = z
  .object({
    files: z.array(storedFile).meta({ description: 'By name.' }),
    next: z
      .string()
      .optional()
      .meta({ description: 'Value of `after` for more; absent when there are none.' }),
  })
  .meta({ id: 'StoredFiles' });

export function storageListEndpoints(storage: Storage): Endpoint[] {
  return [
    listEndpoint(storage, 'INPUT', {
      path: '/api/x/storage/input',
      operationId: 'listInputFiles',
      summary: 'List the files in the input storage, by name',
    }),
    listEndpoint(storage, 'OUTPUT', {
      path: '/api/x/storage/output',
      operationId: 'listOutputFiles',
      summary: 'List the files in the output storage, by name',
    }),
  ];
}

function listEndpoint(
  storage: Storage,
  area: StorageArea,
  names: { readonly path: string; readonly operationId: string; readonly summary: string },
): Endpoint {
  return endpoint(
    {
      ...names,
      method: 'get',
      tag: 'Storage',
      description: 'Files of all users that have not expired.',
      query: listQuery,
      responses: {
        200: { description: 'The files.', schema: storedFiles },
        423: { description: 'This storage is not enabled by configuration.' },
      },
    },
    async ({ query: { limit, ...rest }, context }) => {
      // One more tells whether there are more.
      const found = await storage.list(area, { ...rest, limit: limit + 1 });
      const files = found.slice(0, limit);
      const next = found.length > limit ? files.at(-1)?.name : undefined;
      return context.json({ files: files.map(present), ...(next === undefined ? {} : { next }) });
    },
  );
}

function present({ name, sizeBytes, digest, encrypted, owner, storedAtMs, expiresAtMs }: NamedObject) {
  return {
    name,
    size: sizeBytes,
    ...(encrypted ? {} : { digest }),
    encrypted: encrypted === true,
    ...(owner === null ? {} : { owner }),
    storedAt: offsetTimestamp(storedAtMs),
    expiresAt: offsetTimestamp(expiresAtMs),
  };
}
