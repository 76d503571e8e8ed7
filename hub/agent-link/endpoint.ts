/** The WebSocket endpoint for agents: token first, then one link for each connection. */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import { webSocketTransport } from '@workbench-hub/shared/agent-protocol/dial';
import { CLOSE, Link } from '@workbench-hub/shared/agent-protocol/link';
import {
  AGENT_PATHS,
  type AgentMessage,
  agentMessage,
  type HubMessage,
  MAX_FRAME_BYTES,
} from '@workbench-hub/shared/agent-protocol/messages';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import { type WebSocket, WebSocketServer } from 'ws';
import type { AgentSession, Agents } from '../engine/agents.js';

export interface AgentEndpointOptions {
  readonly agents: Agents;
  readonly token: string;
  readonly runtime: Runtime;
  readonly log: Logger;
  readonly heartbeatIntervalMs: number;
  readonly silenceLimitMs: number;
}

/** A connection that has not said hello by then is closed. */
const HELLO_TIMEOUT_MS = 10_000;

/** Serves the upgrade requests of `server`. */
export function serveAgents(server: Server, options: AgentEndpointOptions): void {
  const sockets = new WebSocketServer({
    noServer: true,
    maxPayload: MAX_FRAME_BYTES,
    perMessageDeflate: false,
  });
  const isToken = tokenCheck(options.token);
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on('error', (error) => options.log.debug({ err: error }, 'a connection broke during its upgrade'));
    if (request.headers.upgrade?.toLowerCase() !== 'websocket') {
      return answerWithoutUpgrade(server, request, socket, head);
    }
    if (request.url?.split('?')[0] !== AGENT_PATHS.CONNECT) return refuse(socket, 404, 'Not Found');
    if (!isToken(request.headers.authorization)) {
      options.log.warn(
        { remoteAddress: request.socket.remoteAddress },
        'an agent with a wrong token was refused: its "token" must be agents.token of this hub',
      );
      return refuse(socket, 401, 'Unauthorized');
    }
    sockets.handleUpgrade(request, socket, head, (webSocket) =>
      serveConnection(webSocket, request.socket.remoteAddress ?? null, options),
    );
  });
}

/** Tells whether an Authorization header carries the token, in a time that says nothing about it. */
export function tokenCheck(token: string): (authorization: string | undefined) => boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  const expected = digest(`Bearer ${token}`);
  return (authorization) => timingSafeEqual(digest(authorization ?? ''), expected);
}

function serveConnection(
  socket: WebSocket,
  remoteAddress: string | null,
  options: AgentEndpointOptions,
): void {
  const { agents, runtime, log } = options;
  let agentId: string | undefined;
  /** Messages are taken one after the other: a report waits for the join that precedes it. */
  let joined: Promise<boolean> | undefined;

  const transport = webSocketTransport(socket, {
    onFrame: (frame) => link.receive(frame),
    onClose: (reason) => link.down(reason),
  });
  const link: Link<AgentMessage, HubMessage> = new Link<AgentMessage, HubMessage>({
    transport,
    runtime,
    incoming: agentMessage,
    onMessage: (message) => {
      handle(message).catch((error: unknown) => {
        log.error({ err: error, agentId, type: message.type }, 'a message of an agent could not be handled');
        link.close(CLOSE.GOING_AWAY, 'the hub could not handle a message; join again');
      });
    },
    onDown: (reason) => {
      helloTimer.cancel();
      if (agentId !== undefined) agents.leave(agentId, session, reason);
    },
  });
  const helloTimer = runtime.timers.after(HELLO_TIMEOUT_MS, () => link.fail('no hello in time'));
  const session: AgentSession = {
    send: (message) => link.send(message),
    close: (reason) => link.close(CLOSE.GOING_AWAY, reason),
    fail: (fault) => {
      log.warn({ agentId, fault }, 'an agent broke the protocol');
      link.fail(fault);
    },
  };

  const handle = async (message: AgentMessage): Promise<void> => {
    if (!joined) {
      if (message.type !== 'hello') return session.fail(`${message.type} before hello`);
      helloTimer.cancel();
      agentId = message.agent.id;
      joined = agents.join(message, session, remoteAddress);
      link.watch(options.heartbeatIntervalMs, options.silenceLimitMs);
      if (!(await joined)) link.close(CLOSE.REFUSED, 'refused');
      return;
    }
    if (await joined) await agents.receive(agentId as string, session, message);
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
  server.emit('connection', socket);
}

const OFFER_HEADERS = new Set(['upgrade', 'http2-settings', 'connection']);

function refuse(socket: Duplex, status: number, phrase: string): void {
  socket.end(`HTTP/1.1 ${status} ${phrase}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
}
