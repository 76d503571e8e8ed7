/** Workbench instances and connected servers in API versions 1.x (contract 11.2, 11.7 and 11.8). */
import { z } from 'zod';
import { creatorOf } from '../../../core/access.js';
import type { Nodes } from '../../../core/ports/nodes.js';
import type { InstanceControl } from '../../../engine/instances/instance-control.js';
import { idParams } from '../../requests/parsing/request-schemas.js';
import { pageQuery } from '../../requests/parsing/validation.js';
import { type Endpoint, endpoint } from '../../routing/endpoint.js';
import { pageFrom } from '../../routing/responses/page.js';
import type { Tag } from '../../wire/tags.js';
import { findInstance, findServer } from '../common/lookups.js';
import { operationIdOf } from './operation-id.js';
import { type ApiVersion, presentInstance, presentServer } from './present.js';
import { schemasOf } from './schemas.js';

const NO_INSTANCE = { description: 'There is no such instance.' };
const NO_SERVER = { description: 'There is no such server.' };

export function nodeEndpointsV1(
  apiVersion: ApiVersion,
  nodes: Nodes,
  control: InstanceControl,
  hubUrl: string,
): Endpoint[] {
  const base = `/api/${apiVersion}/workbench/node`;
  const instanceTag = `Workbench instances (${apiVersion})` as const;
  const serverTag = `Servers (${apiVersion})` as const;
  const schemas = schemasOf(apiVersion);

  return [
    endpoint(
      {
        method: 'get',
        path: `${base}/instance/list`,
        isLarge: true,
        tag: instanceTag,
        operationId: operationIdOf('listInstances', apiVersion),
        summary: 'List the workbench instances, by id',
        description: 'Pages of all workbench instances, also of servers that are down.',
        query: z.object(pageQuery),
        responses: { 200: { description: 'One page of instances.', schema: schemas.instancePage } },
      },
      async ({ query, context }) => {
        const found = (await nodes.instances()).map((instance) => presentInstance(instance, apiVersion));
        return context.json(pageFrom(found, query));
      },
    ),
    endpoint(
      {
        method: 'get',
        path: `${base}/instance/{id}`,
        tag: instanceTag,
        operationId: operationIdOf('getInstance', apiVersion),
        summary: 'One workbench instance',
        description: 'Version, labels and status of the instance, and the server that holds it.',
        params: idParams,
        responses: { 200: { description: 'The instance.', schema: schemas.instance }, 404: NO_INSTANCE },
      },
      async ({ params, context }) =>
        context.json(presentInstance(await findInstance(nodes, params.id), apiVersion)),
    ),
    endpoint(
      {
        method: 'get',
        path: `${base}/server/list`,
        isLarge: true,
        tag: serverTag,
        operationId: operationIdOf('listServers', apiVersion),
        summary: 'List the connected servers, by id',
        description: 'Pages of the agents that the hub knows, each with its workbench instances.',
        query: z.object(pageQuery),
        responses: { 200: { description: 'One page of servers.', schema: schemas.serverPage } },
      },
      async ({ query, context }) => {
        const found = (await nodes.agents()).map((agent) => presentServer(agent, apiVersion, hubUrl));
        return context.json(pageFrom(found, query));
      },
    ),
    endpoint(
      {
        method: 'get',
        path: `${base}/server/{id}`,
        tag: serverTag,
        operationId: operationIdOf('getServer', apiVersion),
        summary: 'One connected server',
        description: 'Version and status of an agent, with its workbench instances.',
        params: idParams,
        responses: { 200: { description: 'The server.', schema: schemas.server }, 404: NO_SERVER },
      },
      async ({ params, context }) =>
        context.json(presentServer(await findServer(nodes, params.id), apiVersion, hubUrl)),
    ),
    ...(apiVersion === '1.0' ? commandEndpoints(base, instanceTag, control) : []),
  ];
}

function commandEndpoints(base: string, tag: Tag, control: InstanceControl): Endpoint[] {
  return (['start', 'stop'] as const).map((command) =>
    endpoint(
      {
        method: 'patch',
        path: `${base}/instance/{id}/${command}`,
        tag,
        operationId: operationIdOf(`${command}Instance`, '1.0'),
        summary: command === 'start' ? 'Start a workbench instance' : 'Stop a workbench instance',
        description: 'Acts in the background. The last of several requests counts.',
        params: idParams,
        responses: {
          202: { description: 'Requested.' },
          404: NO_INSTANCE,
          502: { description: 'The agent of the instance is not connected or did not answer within 10 s.' },
        },
      },
      async ({ params, caller, context }) => {
        await control.command(params.id, command, { user: creatorOf(caller) });
        return context.body(null, 202);
      },
    ),
  );
}
