/** Health and info (contract 9.1 to 9.3), and the two probes for orchestrators. */
import type { BuildInfo } from '@workbench-hub/shared/runtime/build-info';
import { z } from 'zod';
import type { Nodes } from '../../../core/ports/nodes.js';
import { type Endpoint, endpoint } from '../../routing/endpoint.js';

export interface DiskSpace {
  readonly totalBytes: number;
  readonly freeBytes: number;
  readonly exists: boolean;
}

export interface HealthOptions {
  readonly nodes: Pick<Nodes, 'instances'>;
  readonly diskSpace: () => Promise<DiskSpace>;
  readonly thresholdBytes: number;
  /** HTTP status of a health document with status DOWN. */
  readonly downStatus: 200 | 503;
  readonly build: BuildInfo;
  /** Null for a store on files. */
  readonly isDatabaseReachable: (() => boolean) | null;
  /** Null for blobs in a folder. */
  readonly isObjectStoreUsable: (() => boolean) | null;
  /** True from the end of the start until the stop begins. */
  readonly isReady: () => boolean;
}

const status = z.enum(['UP', 'DOWN']);

const healthSchema = z
  .object({
    status: status.meta({ description: 'UP when every component is.' }),
    components: z.object({
      diskSpace: z.object({
        status,
        details: z.object({
          total: z.int().meta({ description: 'Bytes.' }),
          free: z.int().meta({ description: 'Bytes.' }),
          threshold: z.int().meta({ description: 'Less free space than this, in bytes, is DOWN.' }),
          exists: z.boolean(),
        }),
      }),
      nodes: z.object({
        status,
        details: z.object({
          totalInstances: z.int().meta({ description: 'Configured workbench instances.' }),
          runningInstances: z.int(),
        }),
      }),
      ping: z.object({ status }),
      db: z
        .object({ status })
        .optional()
        .meta({ description: 'Whether the database server responds; absent with a store on files.' }),
      objectStore: z.object({ status }).optional().meta({
        description: 'Whether the object store of blobs can be used; absent with blobs in a folder.',
      }),
    }),
  })
  .meta({ id: 'Health' });

const infoSchema = z
  .object({
    application: z.object({
      name: z.string(),
      version: z.string(),
      revision: z.string(),
      buildDate: z.string().meta({ example: '2022-05-27T13:50:08.523+0100' }),
      vendor: z.string(),
    }),
  })
  .meta({ id: 'Info' });

const probe = z.object({ status });

export function actuatorEndpoints(options: HealthOptions): Endpoint[] {
  return [...healthEndpoints(options), ...buildAndProbeEndpoints(options)];
}

function healthEndpoints(options: HealthOptions): Endpoint[] {
  const { nodes } = options;
  return [
    endpoint(
      {
        method: 'get',
        path: '/actuator/health',
        tag: 'Service',
        operationId: 'getHealth',
        summary: 'Health of the hub and its components',
        description:
          'DOWN when the disk is short of space, when no configured workbench instance is up, or when the database server or the object store does not respond.',
        responses: {
          200: { description: 'The health, whatever it is.', schema: healthSchema },
          503: { description: 'Health is DOWN and health.downStatus is 503.', schema: healthSchema },
        },
      },
      async ({ context }) => {
        const space = await options.diskSpace();
        const list = await nodes.instances();
        const running = list.filter((instance) => instance.status === 'UP').length;
        const diskUp = space.exists && space.freeBytes >= options.thresholdBytes;
        const nodesUp = list.length === 0 || running > 0;
        const databaseUp = options.isDatabaseReachable?.() ?? true;
        const objectStoreUp = options.isObjectStoreUsable?.() ?? true;
        const health = {
          status: upOrDown(diskUp && nodesUp && databaseUp && objectStoreUp),
          components: {
            diskSpace: {
              status: upOrDown(diskUp),
              details: {
                total: space.totalBytes,
                free: space.freeBytes,
                threshold: options.thresholdBytes,
                exists: space.exists,
              },
            },
            nodes: {
              status: upOrDown(nodesUp),
              details: { totalInstances: list.length, runningInstances: running },
            },
            ping: { status: 'UP' },
            ...(options.isDatabaseReachable === null ? {} : { db: { status: upOrDown(databaseUp) } }),
            ...(options.isObjectStoreUsable === null
              ? {}
              : { objectStore: { status: upOrDown(objectStoreUp) } }),
          },
        };
        return context.json(health, health.status === 'UP' ? 200 : options.downStatus);
      },
    ),
  ];
}

function buildAndProbeEndpoints({ build, isReady }: HealthOptions): Endpoint[] {
  return [
    endpoint(
      {
        method: 'get',
        path: '/actuator/info',
        tag: 'Service',
        operationId: 'getInfo',
        summary: 'Which build of the hub this is',
        description: 'Name, version, revision and build date.',
        responses: { 200: { description: 'The build.', schema: infoSchema } },
      },
      ({ context }) => {
        const { version, revision, buildDate, vendor } = build;
        return context.json({ application: { name: 'Workbench Hub', version, revision, buildDate, vendor } });
      },
    ),
    endpoint(
      {
        method: 'get',
        path: '/livez',
        tag: 'Service',
        operationId: 'getLiveness',
        summary: 'Whether the process is alive',
        description: 'Liveness probe for orchestrators: without a response, the hub is to be restarted.',
        responses: { 200: { description: 'It is.', schema: probe } },
      },
      ({ context }) => context.json({ status: 'UP' }),
    ),
    endpoint(
      {
        method: 'get',
        path: '/readyz',
        tag: 'Service',
        operationId: 'getReadiness',
        summary: 'Whether the hub accepts requests',
        description: 'Readiness probe for load balancers and orchestrators.',
        responses: {
          200: { description: 'It does.', schema: probe },
          503: {
            description:
              'It is starting or stopping, or its database server or object store does not respond.',
            schema: probe,
          },
        },
      },
      ({ context }) => (isReady() ? context.json({ status: 'UP' }) : context.json({ status: 'DOWN' }, 503)),
    ),
  ];
}

function upOrDown(up: boolean): 'UP' | 'DOWN' {
  return up ? 'UP' : 'DOWN';
}
