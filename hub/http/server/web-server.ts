/** The one port of the hub: REST, file transfers of agents, and their WebSockets. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { SecureContextOptions, TLSSocket } from 'node:tls';
import { getRequestListener } from '@hono/node-server';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { StartRefused } from '@workbench-hub/shared/runtime/run-program';
import type { Clock, Timers } from '@workbench-hub/shared/runtime/runtime';
import { Connections } from './connections.js';
import {
  MAX_HEADERS,
  refuseConnection,
  refuseRequest,
  refuseUnhandled,
  slowBody,
  unhandledFault,
} from './malformed-requests.js';
import { nameRequest } from '../middleware/request-id.js';
import { countedResponse, type ResponseMemory } from './response-memory.js';
import { type SlowClientLimits, SlowClients } from './slow-clients.js';

export interface WebServerOptions {
  readonly host: string;
  readonly port: number;
  /** Null: HTTP without TLS. Clients are asked for a certificate when there is an authority for it (`ca`); whether one
   *  is required is said by those who serve a request. */
  readonly tls: SecureContextOptions | null;
  readonly slowClients: SlowClientLimits;
  readonly answerMemory: ResponseMemory;
  readonly log: Logger;
  readonly fetch: (request: Request) => Response | Promise<Response>;
  readonly timers: Timers;
  readonly clock: Clock;
  /** Gives names to requests that come without one. */
  readonly newId: () => string;
  /** Sees every request first; true when it takes it. */
  readonly first: (request: IncomingMessage, response: ServerResponse) => boolean;
}

export interface WebServer {
  readonly server: Server;
  /** New connections get this certificate. Only for a server that has TLS. */
  renew(tls: SecureContextOptions): void;
  /** Resolves with the address, such as `http://127.0.0.1:8080`; rejects with {@link StartRefused}. */
  listen(): Promise<string>;
  /** Takes no new connection; resolves when the requests under way have ended, or are cut off after `graceMs`. */
  close(graceMs: number): Promise<void>;
}

/** A client that does not finish its TLS handshake is not waited for. */
const HANDSHAKE_TIMEOUT_MS = 10_000;

export function webServer(options: WebServerOptions): WebServer {
  const { host, port, tls, timers, clock, log, fetch, first } = options;
  // A probe that speaks HTTP/1.0 names no host.
  const hostname = host.includes(':') ? `[${host}]` : host;
  const slow = new SlowClients({
    limits: options.slowClients,
    clock,
    timers,
    isMemoryScarce: () => options.answerMemory.isScarce,
    onSlowBody: (request, response) => {
      log.info(
        { remoteAddress: request.socket.remoteAddress },
        'a request was given up: its body comes too slowly',
      );
      if (response.headersSent) request.socket.destroy();
      else refuseConnection(clock, request.socket, slowBody(options.slowClients), request);
    },
  });
  const serve = (request: IncomingMessage, response: ServerResponse) => {
    nameRequest(request, options.newId);
    slow.began(request, response);
    const fault = unhandledFault(request);
    if (fault) return refuseUnhandled(clock, request, response, fault);
    if (first(request, response)) return;
    const errorHandler = (error: unknown) => refuseRequest(clock, request, error);
    void getRequestListener(fetch, { hostname, errorHandler })(request, response);
  };
  const connections = new Connections({
    serve,
    onClosed: (socket) => slow.forget(socket),
    onTooManyWaiting: ({ remoteAddress }) =>
      log.info(
        { remoteAddress },
        'a connection was ended: too many requests wait for answers that are not read',
      ),
  });
  const take = (request: IncomingMessage, response: ServerResponse) => connections.take(request, response);
  const CountedResponse = countedResponse(options.answerMemory);
  const tlsServer =
    tls &&
    createTlsServer(
      {
        ...tls,
        ServerResponse: CountedResponse,
        requestCert: tls.ca !== undefined,
        rejectUnauthorized: false,
        handshakeTimeout: HANDSHAKE_TIMEOUT_MS,
      },
      take,
    );
  const server = (tlsServer ?? createServer({ ServerResponse: CountedResponse }, take)) as Server;
  // One more than is served: Node drops those beyond unnoticed.
  server.maxHeadersCount = MAX_HEADERS + 1;
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    continueWhenRead(request, response);
    take(request, response);
  });
  // Uploads may take long; a client that does not even send its headers is not waited for.
  server.requestTimeout = 0;
  server.headersTimeout = 30_000;
  server.keepAliveTimeout = 65_000;
  // Idle, or not taking what it asked for. Whoever waits for an answer is neither.
  server.on('timeout', (socket) => {
    if (!connections.isAtWork(socket) || socket.writableLength > 0) socket.destroy();
  });
  if (tlsServer) {
    // Of a connection, first the bare socket is known, and after the handshake another one over it.
    const inHandshake = new Map<string, Socket>();
    tlsServer.on('connection', (socket: Socket) => {
      const peer = peerOf(socket);
      inHandshake.set(peer, socket);
      connections.opened(socket);
      socket.once('close', () => {
        if (inHandshake.get(peer) === socket) inHandshake.delete(peer);
      });
    });
    tlsServer.on('secureConnection', (socket: TLSSocket) => {
      const bare = inHandshake.get(peerOf(socket));
      if (bare) connections.forget(bare);
      inHandshake.delete(peerOf(socket));
      connections.opened(socket);
    });
  } else server.on('connection', (socket: Socket) => connections.opened(socket));
  server.on('clientError', (error: NodeJS.ErrnoException, duplex) => {
    const socket = duplex as Socket;
    // Nothing can be answered where there is no TLS: a client that speaks HTTP, one that trusts another authority.
    if (tls && !connections.has(socket)) {
      log.debug({ err: error }, 'a TLS handshake failed');
      socket.destroy();
      return;
    }
    // Headers whose rest the hub itself does not read are not late.
    if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT' && connections.isHeld(socket)) return;
    if (connections.isAtWork(socket)) socket.destroy();
    else refuseConnection(clock, socket, error);
  });
  server.on('upgrade', ({ socket }: IncomingMessage) => connections.upgraded(socket));

  return {
    server,
    renew: (renewed) => tlsServer?.setSecureContext(renewed),
    listen: () =>
      new Promise((resolve, reject) => {
        server.once('error', (error: NodeJS.ErrnoException) => reject(refusal(error, host, port)));
        server.listen(port, host, () => {
          slow.start(() => connections.sockets);
          const { address, family, port: bound } = server.address() as AddressInfo;
          resolve(`${tls ? 'https' : 'http'}://${family === 'IPv6' ? `[${address}]` : address}:${bound}`);
        });
      }),
    close: (graceMs) =>
      new Promise((resolve) => {
        if (!server.listening) return resolve();
        const cutOff = timers.after(graceMs, () => connections.destroy());
        server.close(() => {
          slow.stop();
          cutOff.cancel();
          resolve();
        });
        connections.close();
      }),
  };
}

function peerOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

/** A client that asks first (`Expect: 100-continue`) is told to send its body when somebody begins to read it: whoever is
 *  refused before need not send it. */
function continueWhenRead(request: IncomingMessage, response: ServerResponse): void {
  const onListener = (event: string | symbol) => {
    if (event !== 'data' && event !== 'readable') return;
    request.off('newListener', onListener);
    if (!response.headersSent) response.writeContinue();
  };
  request.on('newListener', onListener);
}

function refusal(error: NodeJS.ErrnoException, host: string, port: number): Error {
  if (error.code === 'EADDRINUSE') {
    return new StartRefused(`port ${port} of ${host} is in use: stop what listens there, or set server.port`);
  }
  if (error.code === 'EACCES') {
    return new StartRefused(`port ${port} may not be opened by this user: set server.port to one above 1023`);
  }
  if (error.code === 'EADDRNOTAVAIL' || error.code === 'ENOTFOUND') {
    return new StartRefused(`${host} is not an address of this machine: correct server.host`);
  }
  return error;
}
