/** The WebSocket endpoint for agents: who they are first, then one connection each. */
import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import { TLSSocket } from 'node:tls';
import { webSocketTransport } from '@workbench-hub/shared/agent-protocol/dial';
import { AGENT_PATHS, MAX_FRAME_BYTES } from '@workbench-hub/shared/agent-protocol/messages';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import { WebSocketServer } from 'ws';
import type { AgentCredentials } from '../engine/accounts/agent-credentials.js';
import type { AgentAuthenticator } from './agent-authenticator.js';
import type { EngineForAgents, LinkTerms } from './agent-session.js';
import { type EndIfRevoked, serveConnection, type TransportHandlers } from './connection.js';

export interface AgentEndpointOptions extends LinkTerms {
  readonly agents: EngineForAgents;
  readonly authenticator: AgentAuthenticator;
  readonly credentials: AgentCredentials;
  readonly runtime: Runtime;
  readonly log: Logger;
}

/** Interval of the check for credentials that a command has revoked. */
const LOOK_FOR_REVOKED_MS = 2000;

/** Serves the upgrade requests of `server`. */
export function serveAgents(server: Server, options: AgentEndpointOptions): void {
  const sockets = new WebSocketServer({
    noServer: true,
    maxPayload: MAX_FRAME_BYTES,
    perMessageDeflate: false,
  });
  const connections = new Set<EndIfRevoked>();
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    const onError = (error: Error) =>
      options.log.debug({ err: error }, 'a connection broke during its upgrade');
    socket.on('error', onError);
    // The server has ended a connection on which requests are under way.
    if (socket.destroyed) return;
    if (request.headers.upgrade?.toLowerCase() !== 'websocket') {
      answerWithoutUpgrade(server, request, socket, head);
      // The server listens by itself again; on a connection of many such requests these would add up.
      socket.off('error', onError);
      return;
    }
    if (request.url?.split('?')[0] !== AGENT_PATHS.CONNECT) return refuse(socket, 404, 'Not Found');
    upgradeAgent(request, socket, head).catch((error: unknown) => {
      options.log.error({ err: error }, 'a connection of an agent could not be opened');
      refuse(socket, 503, 'Service Unavailable');
    });
  });
  const upgradeAgent = async (request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> => {
    const identity = await options.authenticator.admit(request);
    if (!identity) return refuse(socket, 401, 'Unauthorized', 'WWW-Authenticate: Bearer\r\n');
    // The client may have gone while its credential was looked up.
    if (socket.destroyed) return;
    const remoteAddress = options.authenticator.addressOf(request);
    sockets.handleUpgrade(request, socket, head, (webSocket) => {
      const carry = (handlers: TransportHandlers) => webSocketTransport(webSocket, handlers);
      const endIfRevoked = serveConnection(carry, { identity, remoteAddress }, options);
      connections.add(endIfRevoked);
      webSocket.once('close', () => connections.delete(endIfRevoked));
    });
  };
  const stopLooking = lookForRevoked(connections, options);
  server.once('close', stopLooking);
}

/** Ends connections whose credential was revoked, by whichever process. Returns the function that stops it. */
function lookForRevoked(
  connections: ReadonlySet<EndIfRevoked>,
  { credentials, runtime, log }: AgentEndpointOptions,
): () => void {
  let seen: string | undefined;
  let isStopped = false;
  const look = async () => {
    try {
      // Read first: a change during the checks is found by the next look.
      const version = await credentials.version();
      if (version !== seen) await Promise.all([...connections].map((endIfRevoked) => endIfRevoked()));
      seen = version;
    } catch (error) {
      log.error({ err: error }, 'whether credentials of agents were revoked could not be read');
    }
    if (!isStopped) timer = runtime.timers.after(LOOK_FOR_REVOKED_MS, () => void look());
  };
  let timer = runtime.timers.after(LOOK_FOR_REVOKED_MS, () => void look());
  return () => {
    isStopped = true;
    timer.cancel();
  };
}

/** A client may offer another protocol with an ordinary request (the HTTP client of Java offers h2c), and a server may
 *  pass over the offer (RFC 9110, 7.8). Node hands every such request to the listener for upgrades, so the server gets
 *  it once more, without the offer. */
function answerWithoutUpgrade(server: Server, request: IncomingMessage, socket: Duplex, head: Buffer): void {
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

/** Whatever else comes on the connection is not waited for. */
function refuse(socket: Duplex, status: number, phrase: string, headers = ''): void {
  const head = `HTTP/1.1 ${status} ${phrase}\r\n${headers}Connection: close\r\nContent-Length: 0\r\n\r\n`;
  socket.end(head, () => socket.destroy());
}
