/** Workbench instances and agents in API version 2.x (contract 6.1 and 6.5). */
import { matchesWildcard } from '@workbench-hub/shared/domain/wildcard';
import type { Nodes } from '../../../core/ports/nodes.js';
import { idParams } from '../../requests/parsing/request-schemas.js';
import { type Endpoint, endpoint } from '../../routing/endpoint.js';
import { pageFrom } from '../../routing/responses/page.js';
import { findAgent, findInstance, listAgents } from '../common/lookups.js';
import { presentAgent, presentInstance } from './present.js';
import {
  agentListQuery,
  agentPage,
  agentSchema,
  instanceListQuery,
  instancePage,
  instanceSchema,
} from './schemas.js';

const BASE = '/api/2.0/workbench/node';

export function nodeEndpoints(nodes: Nodes): Endpoint[] {
  return [...instanceEndpoints(nodes), ...agentEndpoints(nodes)];
}

function instanceEndpoints(nodes: Nodes): Endpoint[] {
  return [
    endpoint(
      {
        method: 'get',
        path: `${BASE}/instance/list`,
        isLarge: true,
        tag: 'Workbench instances',
        operationId: 'listInstances',
        summary: 'List the workbench instances of all agents, by id',
        description: 'Pages of the workbench instances that match every given parameter.',
        query: instanceListQuery,
        responses: { 200: { description: 'One page of instances.', schema: instancePage } },
      },
      async ({ query, context }) => {
        const found = (await nodes.instances()).filter(({ profile, status, working }) => {
          const carried = new Set(profile.labels.map((label) => label.toLowerCase()));
          return (
            matches(query.id, profile.id) &&
            matches(query.version, profile.version) &&
            query.labels.every((label) => carried.has(label.toLowerCase())) &&
            (query.status.length === 0 || query.status.includes(status)) &&
            (query.working === undefined || query.working === working)
          );
        });
        return context.json(pageFrom(found.map(presentInstance), query));
      },
    ),
    endpoint(
      {
        method: 'get',
        path: `${BASE}/instance/{id}`,
        tag: 'Workbench instances',
        operationId: 'getInstance',
        summary: 'One workbench instance',
        description: 'Version, labels and status of the instance, and the agent that holds it.',
        params: idParams,
        responses: {
          200: { description: 'The instance.', schema: instanceSchema },
          404: { description: 'There is no such instance.' },
        },
      },
      async ({ params, context }) => context.json(presentInstance(await findInstance(nodes, params.id))),
    ),
  ];
}

function agentEndpoints(nodes: Nodes): Endpoint[] {
  return [
    endpoint(
      {
        method: 'get',
        path: `${BASE}/agent/list`,
        isLarge: true,
        tag: 'Agents',
        operationId: 'listAgents',
        summary: 'List the agents, by id',
        description: 'Pages of the agents that match every given parameter, with their workbench instances.',
        query: agentListQuery,
        responses: { 200: { description: 'One page of agents.', schema: agentPage } },
      },
      async ({ query, context }) => {
        const found = (await listAgents(nodes)).filter(
          ({ id, version, status }) =>
            matches(query.id, id) &&
            matches(query.version, version) &&
            (query.status.length === 0 || query.status.includes(status)),
        );
        return context.json(pageFrom(found.map(presentAgent), query));
      },
    ),
    endpoint(
      {
        method: 'get',
        path: `${BASE}/agent/{id}`,
        tag: 'Agents',
        operationId: 'getAgent',
        summary: 'One agent',
        description: 'Version and status of the agent, with its workbench instances.',
        params: idParams,
        responses: {
          200: { description: 'The agent.', schema: agentSchema },
          404: { description: 'There is no such agent.' },
        },
      },
      async ({ params, context }) => context.json(presentAgent(await findAgent(nodes, params.id))),
    ),
  ];
}

function matches(pattern: string | undefined, value: string): boolean {
  return pattern === undefined || matchesWildcard(pattern, value);
}
