import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { HubListener } from '@workbench-hub/shared/joining/ports/hub';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { upstreamSchema } from '../upstream-config.js';
import type { Setup } from './setup.js';
import { openUpstreams } from './upstreams.js';

/** Status with which the upstream answers. */
let status: string;
let server: Server;
let stops: (() => unknown)[];

beforeEach(async () => {
  stops = [];
  server = createServer().listen(0, '127.0.0.1');
  server.on('upgrade', (_, socket) => socket.end(`HTTP/1.1 ${status}\r\ncontent-length: 0\r\n\r\n`));
  await once(server, 'listening');
});

afterEach(async () => {
  for (const stop of stops) await stop();
  server.close();
});

it.each([
  ['401 Unauthorized', true],
  ['503 Service Unavailable', false],
])('an upstream that answers %s has refused the token: %s', async (answer, isUnauthorized) => {
  status = answer;
  const url = `ws://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const upstreams = [upstreamSchema.parse({ url, id: 'berlin', token: 'wrong', lend: {} })];
  const setup = { config: { upstreams, dataDir: '' }, runtime: systemRuntime } as unknown as Setup;
  const [opened] = await openUpstreams(setup, 'site', (stop) => void stops.push(stop));
  const joining = opened?.hub.join(url, {} as HubListener, AbortSignal.timeout(60_000));
  await expect(joining).rejects.toMatchObject({ name: 'JoinFailed', isUnauthorized });
});
