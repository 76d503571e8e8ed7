/** The WebSocket endpoint for agents: each agent is identified before its connection is served. */
import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import { TLSSocket } from 'node:tls';
import { webSocketTransport } from '@workbench-hub/shared/agent-protocol/dial';
import {
  AGENT_PATHS,
  AGENT_PROTOCOL_VERSIONS,
  type LinkStatus,
  MAX_FRAME_BYTES,
  STATUS_QUERY,
} from '@workbench-hub/shared/agent-protocol/messages';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import { type WebSocket, WebSocketServer } from 'ws';
import type { AgentCredentials, AgentIdentity } from '../engine/accounts/agent-credentials.js';
import type { AgentAuthenticator } from './agent-authenticator.js';
import type { EngineForAgents, LinkTerms } from './agent-session.js';
import { serveConnection, type TransportHandlers } from './connection.js';
import { OpenConnections } from './open-connections.js';

export interface AgentEndpointOptions extends LinkTerms {
  /** Whether agents may join now; by default always. Those that have joined stay. */
  readonly isReady?: () => boolean;
  /** Addresses at which agents reach the other hubs of the cluster; by default, the hub is alone. */
  readonly otherHubs?: () => readonly string[];
  readonly agents: EngineForAgents;
  readonly authenticator: AgentAuthenticator;
  readonly credentials: AgentCredentials;
  /** Responds to an upgrade that is refused, and ends its connection. */
  readonly refuse: (request: IncomingMessage, socket: Duplex, refusal: UpgradeRefusal) => void;
  readonly runtime: Runtime;
  readonly log: Logger;
}

interface UpgradeRefusal {
  readonly status: number;
  readonly message: string;
  readonly headers?: readonly string[];
}

/** Serves the upgrade requests of `server`. Returns the connections that come of them. */
export function serveAgents(server: Server, options: AgentEndpointOptions): OpenConnections {
  const { authenticator, refuse, log } = options;
  const sockets = new WebSocketServer({
    noServer: true,
    maxPayload: MAX_FRAME_BYTES,
    perMessageDeflate: false,
  });
  sockets.on('wsClientError', ({ message }, socket, request) => {
    const headers = ['Sec-WebSocket-Version: 13'];
    refuse(request, socket, { status: request.method === 'GET' ? 400 : 405, message, headers });
  });
  const connections = new OpenConnections(options);
  // One for all: a listener made for each request would keep the request as long as its connection.
  const onError = (error: Error) => log.debug({ err: error }, 'a connection broke during its upgrade');
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on('error', onError);
    // The server has ended a connection with pending requests.
    if (socket.destroyed) return;
    if (request.headers.upgrade?.toLowerCase() !== 'websocket') {
      serveWithoutUpgrade(server, request, socket, head);
      // The server adds its own listener again; on a connection with many such requests these would pile up.
      socket.off('error', onError);
      return;
    }
    if (request.url?.split('?')[0] !== AGENT_PATHS.CONNECT) {
      return refuse(request, socket, { status: 404, message: 'no WebSocket has this path' });
    }
    upgradeAgent(request, socket, head).catch((error: unknown) => {
      options.log.error({ err: error }, 'a connection of an agent could not be opened');
      refuse(request, socket, { status: 503, message: 'the hub cannot check credentials now' });
    });
  });
  const upgradeAgent = async (request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> => {
    const identity = await authenticator.admit(request);
    // The client may have gone while its credential was looked up.
    if (socket.destroyed) return;
    if (!identity) {
      const message = 'the token or credential of the agent is wrong';
      return refuse(request, socket, { status: 401, message, headers: ['WWW-Authenticate: Bearer'] });
    }
    const asking = new URL(request.url ?? '', 'ws://hub').searchParams.get(STATUS_QUERY);
    if (asking !== null) {
      const status = await statusFor(identity, asking, options);
      if (socket.destroyed) return;
      return sockets.handleUpgrade(request, socket, head, (webSocket) => tell(webSocket, status));
    }
    if (options.isReady?.() === false) {
      const message = 'the hub is not ready for agents: it starts or stops, or its store does not respond';
      return refuse(request, socket, { status: 503, message });
    }
    const remoteAddress = authenticator.addressOf(request);
    sockets.handleUpgrade(request, socket, head, (webSocket) => {
      const carry = (handlers: TransportHandlers) => webSocketTransport(webSocket, handlers);
      const connection = serveConnection(carry, { identity, remoteAddress }, options);
      connections.add(connection);
      webSocket.once('close', () => connections.delete(connection));
    });
  };
  server.once('close', connections.watch());
  return connections;
}

/** Status for an agent that asks whether it could join with this id. Rejects as the credential store does. */
async function statusFor(
  identity: AgentIdentity,
  agentId: string,
  { credentials, runtime, hubVersion }: AgentEndpointOptions,
): Promise<LinkStatus> {
  const fault = (await credentials.faultOf(identity, agentId)) ?? null;
  const clockMs = Math.round(runtime.clock.nowMs());
  return { hubVersion, protocolVersions: [...AGENT_PROTOCOL_VERSIONS], clockMs, fault, takesHubs: true };
}

/** Sends the status and closes the connection, which the agent may have ended. */
function tell(socket: WebSocket, status: LinkStatus): void {
  socket.on('error', () => undefined);
  socket.send(JSON.stringify(status));
  socket.close(CLOSE_NORMAL, 'status');
}

/** WebSocket close code of a purpose fulfilled. */
const CLOSE_NORMAL = 1000;

/** Serves a request that offers another protocol as if it did not: a client may offer one with any request (the HTTP client of
 *  Java offers h2c), and a server may ignore that (RFC 9110, 7.8). Node hands every such request to the listener for upgrades,
 *  so the server receives it once more, without the offer. */
function serveWithoutUpgrade(server: Server, request: IncomingMessage, socket: Duplex, head: Buffer): void {
  const lines = [`${request.method} ${request.url} HTTP/${request.httpVersion}`];
  for (let at = 0; at < request.rawHeaders.length; at += 2) {
    const name = request.rawHeaders[at] ?? '';
    if (OFFER_HEADERS.has(name.toLowerCase())) continue;
    lines.push(`${name}: ${request.rawHeaders[at + 1]}`);
  }
  const options = (request.headers.connection ?? '').split(',').map((option) => option.trim());
  const kept = options.filter((option) => option !== '' && !OFFER_HEADERS.has(option.toLowerCase()));
  if (kept.length > 0) lines.push(`Connection: ${kept.join(', ')}`);
  socket.unshift(Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), head]));
  server.emit(socket instanceof TLSSocket ? 'secureConnection' : 'connection', socket);
}

const OFFER_HEADERS = new Set(['upgrade', 'http2-settings', 'connection']);
