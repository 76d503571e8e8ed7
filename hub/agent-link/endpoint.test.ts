/** Lifetime of connections at the endpoint; test/contract tests their messages. */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { AGENT_PATHS } from '@workbench-hub/shared/agent-protocol/messages';
import { type ManualRuntime, manualRuntime } from '@workbench-hub/shared/runtime/manual-runtime';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { type AgentEndpointOptions, serveAgents } from './endpoint.js';

const ignore = () => undefined;

let server: Server;
let runtime: ManualRuntime;
/** Increases with each change of the credentials. */
let version: number;
/** Number of checks of a credential. */
let checks: number;

beforeEach(async () => {
  runtime = manualRuntime();
  version = 1;
  checks = 0;
  server = createServer();
  serveAgents(server, {
    agents: { leave: () => undefined },
    authenticator: { admit: async () => ({ by: 'TOKEN' }), addressOf: () => null, record: () => undefined },
    credentials: {
      version: async () => version,
      endOf: async () => {
        checks++;
        return undefined;
      },
    },
    runtime,
    log: { debug: ignore, info: ignore, warn: ignore, error: ignore },
    heartbeatIntervalMs: 5000,
    silenceLimitMs: 30_000,
    inlineBlobBytes: 16_384,
  } as unknown as AgentEndpointOptions);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});

afterEach(() => server.close());

async function connect(): Promise<WebSocket> {
  const { port } = server.address() as AddressInfo;
  const socket = new WebSocket(`ws://127.0.0.1:${port}${AGENT_PATHS.CONNECT}`);
  await once(socket, 'open');
  return socket;
}

/** Changes the credentials and lets the endpoint check them. */
async function changeCredentials(): Promise<void> {
  version++;
  await runtime.advance(2000);
}

it('the credentials of open connections, and only those, are checked after each change', async () => {
  const sockets = [await connect(), await connect()];
  await changeCredentials();
  expect(checks).toBe(2);
  await runtime.advance(2000);
  expect(checks).toBe(2);
  const [first, second] = sockets;
  first?.close();
  await once(first as WebSocket, 'close');
  // The hub has noticed it before it closed its side.
  await changeCredentials();
  expect(checks).toBe(3);
  second?.terminate();
});

it('a closed server leaves no timer', async () => {
  const socket = await connect();
  socket.close();
  await once(socket, 'close');
  server.close();
  await once(server, 'close');
  expect(runtime.pendingTimers).toBe(0);
});
