/** The audit log for administrators, an extension of the contract. */
import { offsetTimestamp } from '@workbench-hub/shared/domain/timestamp';
import { z } from 'zod';
import {
  AUDIT_EVENTS,
  AUDIT_MEANS,
  AUDIT_OUTCOMES,
  type AuditEntry,
  type AuditReader,
} from '../../../core/ports/audit.js';
import { enumeration, queryInteger, queryString, queryTimestamp } from '../../requests/parsing/validation.js';
import { type Endpoint, endpoint } from '../../routing/endpoint.js';
import { shownDefault } from '../../wire/openapi-overrides.js';

const DEFAULT_LIMIT = 100;

const auditQuery = z.object({
  limit: queryInteger({ minimum: 1, maximum: 1000 })
    .default(DEFAULT_LIMIT)
    .meta({
      description: 'How many entries at most.',
      example: DEFAULT_LIMIT,
      override: shownDefault(DEFAULT_LIMIT),
    }),
  before: queryString().optional().meta({
    description: 'The `next` of an earlier response: continues where that ended.',
    example: 'hub~1.52817-1.0-2.880-1.0',
  }),
  user: queryString().optional().meta({ description: 'Entries of this user only.', example: 'anna' }),
  action: queryString()
    .optional()
    .meta({ description: 'This action only.', example: 'DELETE /api/2.0/workbench/task/{id}/cancel' }),
  outcome: enumeration(AUDIT_OUTCOMES)
    .optional()
    .meta({ description: 'With this outcome only.', example: 'REFUSED' }),
  from: queryTimestamp()
    .optional()
    .meta({ description: 'Entries from this time on.', example: '2026-11-21T06:00:00Z' }),
  to: queryTimestamp()
    .optional()
    .meta({ description: 'Entries before this time.', example: '2026-11-21T07:00:00Z' }),
});

const auditEntry = z
  .object({
    at: z.string().meta({ description: 'When, with offset.', example: '2026-11-21T06:53:00.123+01:00' }),
    user: z
      .string()
      .optional()
      .meta({
        description:
          'Name of the user or agent, or of the account that ran a command; absent for an unidentified caller. Without ' +
          '`by` it is only a claim.',
        example: 'anna',
      }),
    by: z
      .enum(AUDIT_MEANS)
      .optional()
      .meta({ description: 'Means of the identification.', example: 'SESSION' }),
    address: z.string().optional().meta({
      description: 'Address of the client; absent for commands on the machine of the hub.',
      example: '10.0.0.17',
    }),
    action: z.string().meta({
      description: `Method and path template of an endpoint, or one of ${AUDIT_EVENTS.join(', ')}.`,
      example: 'DELETE /api/2.0/workbench/task/{id}/cancel',
    }),
    resource: z.string().meta({
      description: 'The path with its identifiers, without query.',
      example: '/api/2.0/workbench/task/019aa4f2-6d3c-7c41-9f0e-000000000001/cancel',
    }),
    outcome: z.enum(AUDIT_OUTCOMES).meta({
      description: 'REFUSED: the caller was not allowed. FAILED: another reason.',
      example: 'ALLOWED',
    }),
    status: z.int().optional().meta({ description: 'HTTP status, where there was one.', example: 204 }),
    detail: z.string().optional().meta({ description: 'Details, or the reason.' }),
  })
  .meta({ id: 'AuditEntry' });

const auditPage = z
  .object({
    entries: z.array(auditEntry).meta({ description: 'Newest first.' }),
    next: z.string().optional().meta({
      description: 'Value of `before` for older entries; absent when there are none.',
      example: 'hub~1.52817-1.0-2.880-1.0',
    }),
  })
  .meta({ id: 'AuditPage' });

export function auditEndpoints(audit: AuditReader): Endpoint[] {
  return [
    endpoint(
      {
        method: 'get',
        path: '/api/x/audit',
        tag: 'Administration',
        operationId: 'listAuditEntries',
        summary: 'Who did what, newest first',
        description:
          'Every change and every refused request of all hubs that run, recorded while security is on.',
        query: auditQuery,
        responses: { 200: { description: 'The entries.', schema: auditPage } },
      },
      async ({ query: { from, to, ...query }, context }) => {
        const page = await audit.read({ ...query, fromMs: from, toMs: to }, context.req.raw.signal);
        return context.json({
          entries: page.entries.map(present),
          ...(page.next === null ? {} : { next: page.next }),
        });
      },
    ),
  ];
}

function present({ atMs, ...entry }: AuditEntry) {
  const told = Object.entries(entry).filter(([, value]) => value !== null);
  return { at: offsetTimestamp(atMs), ...Object.fromEntries(told) };
}
