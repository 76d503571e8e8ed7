/** The hubs of a cluster, an extension of the contract. */
import { localTimestamp } from '@workbench-hub/shared/domain/timestamp';
import { z } from 'zod';
import type { Hubs, HubView } from '../../../core/ports/hubs.js';
import { pageQuery } from '../../requests/parsing/validation.js';
import { type Endpoint, endpoint } from '../../routing/endpoint.js';
import { pageFrom, pageSchema } from '../../routing/responses/page.js';

const TIME = '2026-11-21T06:53:00.123';

const hubState = z
  .object({
    id: z.string().meta({ example: 'a1b2c3d4e5f6' }),
    version: z.string(),
    address: z.string().optional().meta({
      description: 'URL of this hub itself, for agents and clients. Absent until it listens.',
      example: 'https://hub-1.example.com',
    }),
    status: z.enum(['UP', 'DOWN']).meta({ description: 'DOWN when it has not been seen for 15 s.' }),
    responding: z.boolean().meta({ description: 'True for the hub that responds.' }),
    scheduler: z.boolean().meta({ description: 'True for the hub that gives out tasks.' }),
    term: z.int().optional().meta({ description: 'Only of the scheduler. Number of its term.', example: 7 }),
    startedAt: z.string().meta({ description: 'Local time of the hub that responds.', example: TIME }),
    seenAt: z.string().meta({ description: 'When it last showed that it runs.', example: TIME }),
    agents: z.int().meta({ description: 'Agents that are connected to it.', example: 12 }),
    runningTasks: z.int().meta({ description: 'Tasks that run on these agents.', example: 40 }),
    clockOffsetMs: z.int().optional().meta({
      description: "Lead of its clock over the store's, in milliseconds. Absent until it is known.",
      example: -3,
    }),
    shutdownPreparedAt: z.string().optional().meta({
      description: 'Only while it is being prepared for a shutdown.',
      example: TIME,
    }),
  })
  .meta({ id: 'HubState' });

export function hubListEndpoint(hubs: Hubs): Endpoint {
  return endpoint(
    {
      method: 'get',
      path: '/api/x/hubs',
      operationId: 'listHubs',
      tag: 'Administration',
      summary: 'List the hubs of the cluster, by id',
      description:
        'Hubs with the same PostgreSQL database are a cluster. A hub that has its store alone is the only one.',
      query: z.object(pageQuery),
      responses: { 200: { description: 'One page of hubs.', schema: pageSchema(hubState, 'HubStatePage') } },
    },
    async ({ query, context }) => {
      const page = pageFrom(await hubs.all(), query);
      return context.json({ ...page, content: page.content.map((hub) => present(hub, hubs.ownId)) });
    },
  );
}

function present(hub: HubView, ownId: string) {
  const { id, version, address, isLive, isScheduler, term, agents, runningTasks } = hub;
  return {
    id,
    version,
    ...(address === '' ? {} : { address }),
    status: isLive ? ('UP' as const) : ('DOWN' as const),
    responding: id === ownId,
    scheduler: isScheduler,
    ...(term === null ? {} : { term }),
    startedAt: localTimestamp(hub.startedAtMs),
    seenAt: localTimestamp(hub.seenAtMs),
    agents,
    runningTasks,
    ...(hub.clockOffsetMs === null ? {} : { clockOffsetMs: hub.clockOffsetMs }),
    ...(hub.preparedAtMs === null ? {} : { shutdownPreparedAt: localTimestamp(hub.preparedAtMs) }),
  };
}
