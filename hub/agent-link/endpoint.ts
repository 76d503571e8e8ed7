/** The WebSocket endpoint for agents: who they are first, then one link for each connection. */
import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import { TLSSocket } from 'node:tls';
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
import type { AgentCredentials, AgentIdentity } from '../engine/accounts/agent-credentials.js';
import type { AgentSession, Agents } from '../engine/agents.js';
import type { AgentDoor, AgentEvent } from './agent-door.js';

export interface AgentEndpointOptions {
  readonly agents: Agents;
  readonly door: AgentDoor;
  readonly credentials: AgentCredentials;
  readonly runtime: Runtime;
  readonly log: Logger;
  readonly heartbeatIntervalMs: number;
  readonly silenceLimitMs: number;
}

/** A connection that has not said hello by then is closed. */
const HELLO_TIMEOUT_MS = 10_000;

/** How often the hub looks whether a credential was revoked, by a command for instance. */
const LOOK_FOR_REVOKED_MS = 2000;

/** Ends a connection whose agent is no longer who it was; does nothing while it is. */
type EndIfRevoked = () => void;

/** Serves the upgrade requests of `server`. */
export function serveAgents(server: Server, options: AgentEndpointOptions): void {
  const sockets = new WebSocketServer({
    noServer: true,
    maxPayload: MAX_FRAME_BYTES,
    perMessageDeflate: false,
  });
  const connections = new Set<EndIfRevoked>();
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on('error', (error) => options.log.debug({ err: error }, 'a connection broke during its upgrade'));
    if (request.headers.upgrade?.toLowerCase() !== 'websocket') {
      return answerWithoutUpgrade(server, request, socket, head);
    }
    if (request.url?.split('?')[0] !== AGENT_PATHS.CONNECT) return refuse(socket, 404, 'Not Found');
    const identity = options.door.admit(request);
    if (!identity) return refuse(socket, 401, 'Unauthorized', 'WWW-Authenticate: Bearer\r\n');
    const remoteAddress = options.door.addressOf(request);
    sockets.handleUpgrade(request, socket, head, (webSocket) => {
      const endIfRevoked = serveConnection(webSocket, { identity, remoteAddress }, options);
      connections.add(endIfRevoked);
      webSocket.once('close', () => connections.delete(endIfRevoked));
    });
  });
  const stopLooking = lookForRevoked(connections, options);
  server.once('close', stopLooking);
}

/** Connections end soon after their credential, whichever process revoked it. Gives what ends the looking. */
function lookForRevoked(
  connections: ReadonlySet<EndIfRevoked>,
  { credentials, runtime, log }: AgentEndpointOptions,
): () => void {
  let seen = credentials.version();
  const look = () => {
    try {
      const version = credentials.version();
      if (version !== seen) for (const endIfRevoked of [...connections]) endIfRevoked();
      seen = version;
    } catch (error) {
      log.error({ err: error }, 'whether credentials of agents were revoked could not be read');
    }
    timer = runtime.timers.after(LOOK_FOR_REVOKED_MS, look);
  };
  let timer = runtime.timers.after(LOOK_FOR_REVOKED_MS, look);
  return () => timer.cancel();
}

function serveConnection(
  socket: WebSocket,
  { identity, remoteAddress }: { identity: AgentIdentity; remoteAddress: string | null },
  options: AgentEndpointOptions,
): EndIfRevoked {
  const { agents, credentials, runtime, log } = options;
  let agentId: string | undefined;
  let isIn = false;
  /** What an agent that may not join is told. */
  let refusal: string | undefined;
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
      if (isIn) record('AGENT_LEFT', agentId ?? null, reason);
      if (joined !== undefined) return;
      log.warn({ remoteAddress, reason }, 'a connection of an agent ended before it joined');
      record('AGENT_REFUSED', identity.by === 'CREDENTIAL' ? identity.agentId : null, reason);
    },
  });
  const helloTimer = runtime.timers.after(HELLO_TIMEOUT_MS, () => link.fail('no hello in time'));
  const session: AgentSession = {
    send: (message) => {
      if (message.type === 'refused') refusal = message.message;
      // The agent frees a little space when it hears that a report is settled; nobody waits for that.
      if (message.type === 'settled') link.sendInTime(message);
      else link.send(message);
    },
    close: (reason) => link.close(CLOSE.GOING_AWAY, reason),
    fail: (fault) => {
      log.warn({ agentId, fault }, 'an agent broke the protocol');
      link.fail(fault);
    },
  };

  const record = (action: AgentEvent['action'], id: string | null, detail?: string) =>
    options.door.record({
      action,
      address: remoteAddress,
      identity,
      agentId: id,
      resource: AGENT_PATHS.CONNECT,
      ...(detail === undefined ? {} : { detail }),
    });

  const handle = async (message: AgentMessage): Promise<void> => {
    if (!joined) {
      if (message.type !== 'hello') return session.fail(`${message.type} before hello`);
      helloTimer.cancel();
      const fault = credentials.faultOf(identity, message.agent.id);
      if (fault !== undefined) {
        log.warn({ remoteAddress, agentId: message.agent.id, reason: fault }, 'an agent was refused');
        joined = Promise.resolve(false);
        record('AGENT_REFUSED', message.agent.id, fault);
        session.send({ type: 'refused', code: 'AGENT_ID_NOT_PROVEN', message: fault });
        return link.close(CLOSE.REFUSED, 'refused');
      }
      agentId = message.agent.id;
      joined = agents.join(message, session, remoteAddress);
      link.watch(options.heartbeatIntervalMs, options.silenceLimitMs);
      if (await joined) {
        credentials.joined(identity);
        record('AGENT_JOIN', agentId);
        if (link.ended) record('AGENT_LEFT', agentId, 'the connection ended while it joined');
        else isIn = true;
      } else {
        record('AGENT_REFUSED', agentId, refusal);
        link.close(CLOSE.REFUSED, 'refused');
      }
      return;
    }
    if (await joined) await agents.receive(agentId as string, session, message);
  };

  return () => {
    const end = agentId === undefined ? credentials.endOf(identity) : credentials.faultOf(identity, agentId);
    if (end === undefined || link.ended) return;
    log.warn({ remoteAddress, agentId, reason: end }, 'the connection of an agent was ended');
    if (agentId !== undefined) record('AGENT_REFUSED', agentId, end);
    link.close(CLOSE.REFUSED, end);
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
