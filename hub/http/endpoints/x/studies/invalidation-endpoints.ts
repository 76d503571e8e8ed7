/** Invalidations: which earlier results studies do not reuse (contract 12.45). */
import { offsetTimestamp } from '@workbench-hub/shared/domain/timestamp';
import { z } from 'zod';
import type { Invalidation } from '../../../../core/studies/reuse/invalidation.js';
import type { InvalidationService } from '../../../../engine/studies/invalidation-service.js';
import { idParams } from '../../../requests/parsing/request-schemas.js';
import { type Endpoint, endpoint } from '../../../routing/endpoint.js';
import { shownWithoutNull } from '../../../wire/openapi-overrides.js';

const PATH = '/api/x/invalidations';
const TAG = 'Studies';

const text = (description: string, example: string) =>
  z.string().min(1).max(200).meta({ description, example });

const note = z
  .string()
  .max(2000)
  .nullish()
  .meta({ description: 'Reason, for people.', override: shownWithoutNull });

const newInvalidation = z.discriminatedUnion(
  'kind',
  [
    z
      .object({
        kind: z.literal('TASK'),
        taskId: text('Task whose result is invalid.', '019aa4f2-6d3c-7c41-9f0e-5b2f6f1d2a77'),
        note,
      })
      .meta({ id: 'NewTaskInvalidation' }),
    z
      .object({
        kind: z.literal('INSTANCE'),
        instanceId: text('Instance whose results are invalid. Requires the role ADMIN.', 'sim-1'),
        note,
      })
      .meta({ id: 'NewInstanceInvalidation' }),
    z
      .object({
        kind: z.literal('REVISION'),
        version: text('Version of the workbench whose results are invalid. Requires the role ADMIN.', '9.2'),
        revision: text('Its revision.', 'r1042'),
        note,
      })
      .meta({ id: 'NewRevisionInvalidation' }),
  ],
  { error: 'must have a kind: TASK, INSTANCE or REVISION' },
);

const invalidation = z
  .object({
    id: z.string(),
    kind: z.enum(['TASK', 'INSTANCE', 'REVISION']),
    taskId: z.string().optional(),
    instanceId: z.string().optional(),
    version: z.string().optional(),
    revision: z.string().optional(),
    note: z.string().optional(),
    creator: z.string().optional().meta({ description: 'Present when security is enabled.' }),
    at: z.string().meta({
      description: 'Results of tasks that ended later are valid.',
      example: '2026-11-21T06:53:00.123+01:00',
    }),
  })
  .meta({ id: 'Invalidation' });

export function invalidationEndpoints(invalidations: InvalidationService): Endpoint[] {
  return [listEndpoint(invalidations), addEndpoint(invalidations), removeEndpoint(invalidations)];
}

function listEndpoint(invalidations: InvalidationService): Endpoint {
  return endpoint(
    {
      method: 'get',
      path: PATH,
      tag: TAG,
      operationId: 'listInvalidations',
      summary: 'List which results are not reused',
      description: 'Invalidations of all users, newest first.',
      responses: {
        200: {
          description: 'Invalidations.',
          schema: z.object({ invalidations: z.array(invalidation) }).meta({ id: 'InvalidationList' }),
        },
      },
    },
    async ({ context }) => context.json({ invalidations: (await invalidations.list()).map(present) }),
  );
}

function addEndpoint(invalidations: InvalidationService): Endpoint {
  return endpoint(
    {
      method: 'post',
      path: PATH,
      tag: TAG,
      operationId: 'addInvalidation',
      summary: 'Do not reuse results any more',
      description:
        'Studies no longer reuse the results that there are until now of a task, of an instance, or of a version and revision of the workbench.',
      body: newInvalidation,
      responses: {
        201: { description: 'The invalidation is durable.', schema: invalidation },
        404: { description: 'There is no such task.' },
      },
    },
    async ({ body: { note: reason, ...of }, caller, context, audit }) => {
      const added = await invalidations.add(of, reason ?? null, caller);
      audit.detail = `invalidation ${added.id}, ${Object.values(of).join(' ')}`;
      return context.json(present(added), 201);
    },
  );
}

function removeEndpoint(invalidations: InvalidationService): Endpoint {
  return endpoint(
    {
      method: 'delete',
      path: `${PATH}/{id}`,
      tag: TAG,
      operationId: 'deleteInvalidation',
      summary: 'Reuse results again',
      description: 'The results are valid again, unless another invalidation names them.',
      params: idParams,
      responses: {
        204: { description: 'It is deleted.' },
        404: { description: 'There is no such invalidation.' },
      },
    },
    async ({ params, caller, context, audit }) => {
      audit.detail = `invalidation ${params.id}`;
      await invalidations.remove(params.id, caller);
      return context.body(null, 204);
    },
  );
}

function present({ id, of, note: reason, creator, atMs }: Invalidation) {
  return {
    id,
    ...of,
    ...(reason === null ? {} : { note: reason }),
    ...(creator === null ? {} : { creator }),
    at: offsetTimestamp(atMs),
  };
}
