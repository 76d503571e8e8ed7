/** Monitoring and administration in API version 2.x (contract 9.5 and 9.6). */
import { localTimestamp } from '@workbench-hub/shared/domain/timestamp';
import type { Context } from 'hono';
import { z } from 'zod';
import type { Hubs } from '../../../core/ports/hubs.js';
import type { ShutdownPreparation, ShutdownStatus } from '../../../engine/scheduling/shutdown-preparation.js';
import { type Endpoint, endpoint } from '../../routing/endpoint.js';

const text = z.string();
const bytes = z.int().meta({ description: 'Bytes.' });
const space = {
  total: bytes,
  used: bytes,
  free: bytes,
  totalFormatted: text,
  usedFormatted: text,
  freeFormatted: text,
  freePercentage: z.int(),
};

const serverInfoSchema = z
  .object({
    systemInfo: z.object({
      version: text,
      revision: text,
      buildDate: text,
      serverTime: text,
      uptime: text,
      javaVersion: text.meta({ description: 'Version of Node.js, the actual runtime.' }),
      javaVendor: text,
      javaVm: text,
      javaVmVersion: text,
      javaRuntime: text,
      javaHome: text.meta({ description: 'Folder of the executable of the runtime.' }),
      osName: text,
      osArchitecture: text,
      osVersion: text,
      fileEncoding: text,
      userName: text,
      userDir: text,
      userTimezone: text,
      userLocale: text,
      inputArguments: z.array(text),
    }),
    memoryInfo: z.object({ ...space, max: bytes, maxFormatted: text }),
    diskSpaceInfo: z.object(space),
  })
  .meta({ id: 'ServerInfo' });
export type ServerInfo = z.output<typeof serverInfoSchema>;

const shutdownStatusSchema = z
  .object({
    initiated: z.boolean(),
    initiationTime: z.string().optional().meta({
      description: 'Only while initiated. Local time of the hub.',
      example: '2026-11-21T06:53:00.123',
    }),
    scope: z.enum(['hub', 'cluster']).optional().meta({
      description:
        'Whether this is the status of one hub or of its cluster; absent for a hub that has no others.',
    }),
    hub: z.string().optional().meta({ description: 'Id of the hub, with the scope `hub`.' }),
  })
  .meta({ id: 'ShutdownStatus' });

const shutdownScope = z
  .enum(['hub', 'cluster'], { error: 'must be hub or cluster' })
  .optional()
  .meta({
    description:
      'The hub that responds, or all hubs of its cluster. By default the cluster for requests to `server.publicUrl` of a cluster, and ' +
      'the hub for others.',
  });
type Scope = z.output<typeof shutdownScope>;

const SCOPES = { hub: 'HUB', cluster: 'CLUSTER' } as const;

const shutdownChange = z.object({ initiated: z.boolean() }).meta({ id: 'ShutdownChange' });

export interface AdminParts {
  readonly serverInfo: () => Promise<ServerInfo>;
  readonly shutdown: ShutdownPreparation;
  readonly hubs: Pick<Hubs, 'ownId'>;
  /** `server.publicUrl` */
  readonly publicUrl: string | null;
}

export function adminEndpoints({ serverInfo, shutdown, hubs, publicUrl }: AdminParts): Endpoint[] {
  const scopeOf = (asked: Scope, context: Context) => {
    const isPublic = shutdown.isOfCluster && isHostOf(publicUrl, context.req.header('host'));
    return asked ?? (isPublic ? 'cluster' : 'hub');
  };
  const present = ({ initiated, initiatedAtMs }: ShutdownStatus, scope: 'hub' | 'cluster') => ({
    initiated,
    ...(initiatedAtMs === null ? {} : { initiationTime: localTimestamp(initiatedAtMs) }),
    ...(scope === 'cluster' ? { scope } : shutdown.isOfCluster ? { scope, hub: hubs.ownId } : {}),
  });
  return [
    endpoint(
      {
        method: 'get',
        path: '/api/2.0/monitoring/server-info',
        tag: 'Administration',
        operationId: 'getServerInfo',
        summary: 'The machine, its runtime, memory and disk',
        description: 'Describes the process of the hub and its machine at present.',
        responses: { 200: { description: 'As of now.', schema: serverInfoSchema } },
      },
      async ({ context }) => context.json(await serverInfo()),
    ),
    endpoint(
      {
        method: 'get',
        path: '/api/2.0/admin/prepare-shutdown',
        tag: 'Administration',
        operationId: 'getShutdownPreparation',
        summary: 'Whether a shutdown is being prepared',
        description: 'While initiated, the hub accepts and dispatches no tasks.',
        query: z.object({ scope: shutdownScope }),
        responses: { 200: { description: 'The status.', schema: shutdownStatusSchema } },
      },
      async ({ query, context }) => {
        const scope = scopeOf(query.scope, context);
        return context.json(present(await shutdown.current(SCOPES[scope]), scope));
      },
    ),
    endpoint(
      {
        method: 'post',
        path: '/api/2.0/admin/prepare-shutdown/change',
        tag: 'Administration',
        operationId: 'changeShutdownPreparation',
        summary: 'Prepare a shutdown, or cancel the preparation',
        description:
          'While initiated, creating a task fails with 423, running tasks end as usual, and waiting ones stay in the queue.',
        query: z.object({ scope: shutdownScope }),
        body: shutdownChange,
        responses: { 200: { description: 'The new status.', schema: shutdownStatusSchema } },
      },
      async ({ body, query, context }) => {
        const scope = scopeOf(query.scope, context);
        return context.json(present(await shutdown.change(body.initiated, SCOPES[scope]), scope));
      },
    ),
  ];
}

/** Whether the header `Host` names the host of this address. */
function isHostOf(address: string | null, host: string | undefined): boolean {
  if (address === null || host === undefined) return false;
  const url = new URL(address);
  const named = `${url.protocol}//${host}`;
  return URL.canParse(named) && new URL(named).host === url.host;
}
