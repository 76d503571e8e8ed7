/** The hubs that this hub joins as an agent, an extension of the contract (12.44). */
import { localTimestamp } from '@workbench-hub/shared/domain/timestamp';
import { z } from 'zod';
import { holdsRole } from '../../../core/access.js';
import type { Upstreams, UpstreamView } from '../../../core/ports/upstreams.js';
import { pageQuery } from '../../requests/parsing/validation.js';
import { type Endpoint, endpoint } from '../../routing/endpoint.js';
import { pageFrom, pageSchema } from '../../routing/responses/page.js';

const upstreamState = z
  .object({
    name: z.string().meta({ description: 'Its name in the configuration.', example: 'headquarters' }),
    agentId: z.string().meta({ description: 'Id of this hub there.', example: 'berlin' }),
    prefix: z.string().meta({
      description: 'Beginning of the ids that lent instances have there.',
      example: 'berlin:',
    }),
    addresses: z.array(z.string()).meta({ example: ['wss://hub.example.com'] }),
    status: z.enum(['UP', 'DOWN']).meta({ description: 'UP while this hub has joined it.' }),
    address: z.string().optional().meta({
      description: 'Only while UP. Address at which it was joined.',
      example: 'wss://hub.example.com',
    }),
    joinedAt: z.string().optional().meta({
      description: 'Only while UP. Local time of the hub.',
      example: '2026-11-21T06:53:00.123',
    }),
    message: z.string().optional().meta({
      description: 'Only while DOWN, and for the role ADMIN. Why the latest tries to join failed.',
      example: 'the address cannot be reached: ECONNREFUSED',
    }),
    instances: z.object({ OFFERED: z.int(), IN_USE: z.int(), KEPT: z.int() }).meta({
      description: 'Number of lent instances by state. OFFERED includes those that work on a loan.',
    }),
    loans: z.int().meta({ description: 'Loans whose end it has not acknowledged.', example: 3 }),
  })
  .meta({ id: 'UpstreamState' });

export function upstreamListEndpoint(upstreams: Pick<Upstreams, 'all'>): Endpoint {
  return endpoint(
    {
      method: 'get',
      path: '/api/x/upstreams',
      operationId: 'listUpstreams',
      tag: 'Administration',
      summary: 'List the hubs that this hub joins, in the order of its configuration',
      description: 'A hub joins another one as an agent and lends it instances.',
      query: z.object(pageQuery),
      responses: {
        200: { description: 'One page of hubs.', schema: pageSchema(upstreamState, 'UpstreamStatePage') },
        503: { description: 'The hub of the cluster that joins them does not respond.' },
      },
    },
    async ({ query, caller, context }) => {
      const page = pageFrom(await upstreams.all(), query);
      return context.json({
        ...page,
        content: page.content.map((view) => present(view, holdsRole(caller, 'ADMIN'))),
      });
    },
  );
}

function present({ joined, failure, ...view }: UpstreamView, isAdmin: boolean) {
  const { name, agentId, prefix, addresses, instances, loans } = view;
  return {
    ...{ name, agentId, prefix, addresses },
    status: joined ? ('UP' as const) : ('DOWN' as const),
    ...(joined && { address: joined.address, joinedAt: localTimestamp(joined.sinceMs) }),
    ...(failure === null || !isAdmin ? {} : { message: failure }),
    instances,
    loans,
  };
}
