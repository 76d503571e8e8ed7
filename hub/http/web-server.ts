/** The one port of the hub: REST, file transfers of agents, and their WebSockets. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { SecureContextOptions, TLSSocket } from 'node:tls';
import { getRequestListener } from '@hono/node-server';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { StartRefused } from '@workbench-hub/shared/runtime/run-program';
import type { Clock, Timers } from '@workbench-hub/shared/runtime/runtime';
import { HardenedResponse } from './hardening.js';
import { nameRequest } from './request-id.js';
import { type SlowClientLimits, SlowClients } from './slow-clients.js';
import {
  MAX_HEADERS,
  refuseConnection,
  refuseRequest,
  refuseUnhandled,
  slowBody,
  unhandledFault,
} from './unreadable.js';

export interface WebServerOptions {
  readonly host: string;
  readonly port: number;
  /** Null: HTTP without TLS. Clients are asked for a certificate when there is an authority for it (`ca`); whether one
   *  is required is said by those who serve a request. */
  readonly tls: SecureContextOptions | null;
  readonly slowClients: SlowClientLimits;
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
  // Node's own list of idle connections has none on which no request has come yet, such as browsers open in advance,
  // and forgets those that became a WebSocket: both would be waited for. So each is kept here, with what is under way.
  const underWay = new Map<Socket, number>();
  let closing = false;
  const slow = new SlowClients({
    limits: options.slowClients,
    clock,
    timers,
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
    const { socket } = request;
    nameRequest(request, options.newId);
    underWay.set(socket, (underWay.get(socket) ?? 0) + 1);
    response.once('close', () => {
      const left = (underWay.get(socket) ?? 1) - 1;
      if (underWay.has(socket)) underWay.set(socket, left);
      if (closing && left === 0) socket.destroySoon();
    });
    slow.began(request, response);
    const fault = unhandledFault(request);
    if (fault) return refuseUnhandled(clock, request, response, fault);
    if (first(request, response)) return;
    const errorHandler = (error: unknown) => refuseRequest(clock, request, error);
    void getRequestListener(fetch, { hostname, errorHandler })(request, response);
  };
  const tlsServer =
    tls &&
    createTlsServer(
      {
        ...tls,
        ServerResponse: HardenedResponse,
        requestCert: tls.ca !== undefined,
        rejectUnauthorized: false,
        handshakeTimeout: HANDSHAKE_TIMEOUT_MS,
      },
      serve,
    );
  const server = (tlsServer ?? createServer({ ServerResponse: HardenedResponse }, serve)) as Server;
  // One more than is served: Node drops those beyond unnoticed.
  server.maxHeadersCount = MAX_HEADERS + 1;
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    continueWhenRead(request, response);
    serve(request, response);
  });
  // Uploads may take long; a client that does not even send its headers is not waited for.
  server.requestTimeout = 0;
  server.headersTimeout = 30_000;
  server.keepAliveTimeout = 65_000;
  // Idle, or not taking what it asked for. Whoever waits for an answer is neither.
  server.on('timeout', (socket) => {
    if (!underWay.get(socket) || socket.writableLength > 0) socket.destroy();
  });
  const keep = (socket: Socket) => {
    // One that offered another protocol in vain comes a second time.
    const isKnown = underWay.has(socket);
    underWay.set(socket, 0);
    if (isKnown) return;
    socket.once('close', () => {
      underWay.delete(socket);
      slow.forget(socket);
    });
  };
  if (tlsServer) {
    // Of a connection, first the bare socket is known, and after the handshake another one over it.
    const inHandshake = new Map<string, Socket>();
    tlsServer.on('connection', (socket: Socket) => {
      const peer = peerOf(socket);
      inHandshake.set(peer, socket);
      keep(socket);
      socket.once('close', () => {
        if (inHandshake.get(peer) === socket) inHandshake.delete(peer);
      });
    });
    tlsServer.on('secureConnection', (socket: TLSSocket) => {
      const bare = inHandshake.get(peerOf(socket));
      if (bare) underWay.delete(bare);
      inHandshake.delete(peerOf(socket));
      keep(socket);
    });
  } else server.on('connection', keep);
  server.on('clientError', (error, socket) => {
    const requests = underWay.get(socket as Socket);
    // Nothing can be answered where there is no TLS: a client that speaks HTTP, one that trusts another authority.
    if (tls && requests === undefined) {
      log.debug({ err: error }, 'a TLS handshake failed');
      socket.destroy();
    } else if (requests) socket.destroy();
    else refuseConnection(clock, socket, error);
  });
  server.on('upgrade', ({ socket }: IncomingMessage) => underWay.set(socket, 1));

  return {
    server,
    renew: (renewed) => tlsServer?.setSecureContext(renewed),
    listen: () =>
      new Promise((resolve, reject) => {
        server.once('error', (error: NodeJS.ErrnoException) => reject(refusal(error, host, port)));
        server.listen(port, host, () => {
          slow.start(() => underWay.keys());
          const { address, family, port: bound } = server.address() as AddressInfo;
          resolve(`${tls ? 'https' : 'http'}://${family === 'IPv6' ? `[${address}]` : address}:${bound}`);
        });
      }),
    close: (graceMs) =>
      new Promise((resolve) => {
        if (!server.listening) return resolve();
        closing = true;
        const cutOff = timers.after(graceMs, () => {
          for (const socket of underWay.keys()) socket.destroy();
        });
        server.close(() => {
          slow.stop();
          cutOff.cancel();
          resolve();
        });
        for (const [socket, requests] of underWay) if (requests === 0) socket.destroySoon();
      }),
  };
}

function peerOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

/** A client that asks first (`Expect: 100-continue`) is told to send its body when somebody begins to read it: whoever
 *  is refused before need not send it. */
function continueWhenRead(request: IncomingMessage, response: ServerResponse): void {
  const read = request._read;
  request._read = (size) => {
    request._read = read;
    if (!response.headersSent) response.writeContinue();
    read.call(request, size);
  };
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
