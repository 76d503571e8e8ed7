/** The one port of the hub: REST, transfers of agents, and their WebSockets. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer, type Server as TlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { SecureContextOptions } from 'node:tls';
import { getRequestListener } from '@hono/node-server';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { StartRefused } from '@workbench-hub/shared/runtime/run-program';
import type { Clock, Timers } from '@workbench-hub/shared/runtime/runtime';
import { identifyRequest } from '../request-id.js';
import { countedResponse, type ResponseMemory } from '../response-memory.js';
import { securedResponse } from '../security-headers.js';
import { Connections } from './connections.js';
import {
  MAX_HEADERS,
  refuseConnection,
  refuseRequest,
  rejectionOf,
  rejectRequest,
  slowBody,
} from './malformed-requests.js';
import { type SlowClientLimits, SlowClients } from './slow-clients.js';
import { trackTlsConnections } from './tls-connections.js';
import { lingerAfter } from './unread-bodies.js';

export interface WebServerOptions {
  readonly host: string;
  readonly port: number;
  /** Null: HTTP without TLS. With an authority (`ca`), clients are asked for a certificate; the handlers decide who needs one. */
  readonly tls: SecureContextOptions | null;
  readonly slowClients: SlowClientLimits;
  readonly responseMemory: ResponseMemory;
  readonly log: Logger;
  readonly fetch: (request: Request) => Response | Promise<Response>;
  readonly timers: Timers;
  readonly clock: Clock;
  /** Makes ids for requests that come without one. */
  readonly newId: () => string;
}

const HANDSHAKE_TIMEOUT_MS = 10_000;

/** A client that does not even send its headers is not waited for. */
const HEADERS_TIMEOUT_MS = 30_000;

const KEEP_ALIVE_MS = 65_000;

export class WebServer {
  readonly server: Server;
  readonly #options: WebServerOptions;
  readonly #tlsServer: TlsServer | null;
  readonly #connections: Connections;
  readonly #slowClients: SlowClients;
  readonly #hostname: string;
  /** Requests whose clients wait to be told to send the body. */
  readonly #unasked = new WeakSet<IncomingMessage>();
  #listening: Promise<string> | undefined;
  #closing: Promise<void> | undefined;

  constructor(options: WebServerOptions) {
    const { host, log } = options;
    this.#options = options;
    // A probe that speaks HTTP/1.0 names no host.
    this.#hostname = host.includes(':') ? `[${host}]` : host;
    this.#slowClients = this.#createSlowClients();
    this.#connections = new Connections({
      serve: (request, response) => this.#serve(request, response),
      onClosed: (socket) => this.#slowClients.forget(socket),
      onTooManyWaiting: ({ remoteAddress }) =>
        log.info(
          { remoteAddress },
          'connection ended: too many requests wait behind responses that are not read',
        ),
    });
    this.#tlsServer = this.#createTlsServer();
    this.server = (this.#tlsServer ?? this.#createPlainServer()) as Server;
    this.#configure();
  }

  /** Uses another certificate for new connections. Only for a server that has TLS. */
  renew(tls: SecureContextOptions): void {
    this.#tlsServer?.setSecureContext(tls);
  }

  /** Resolves with the address, such as `http://127.0.0.1:8080`; rejects with {@link StartRefused}. Further calls return the same. */
  listen(): Promise<string> {
    this.#listening ??=
      this.#closing === undefined
        ? this.#listen(this.#options)
        : Promise.reject(new Error('the web server was closed'));
    return this.#listening;
  }

  /** Accepts no more connections. Resolves when the requests in progress have ended; they are cut off after `graceMs`. Further
   *  calls wait for the same end. */
  close(graceMs: number): Promise<void> {
    this.#closing ??= this.#close(graceMs);
    return this.#closing;
  }

  #listen({ host, port, tls }: WebServerOptions): Promise<string> {
    return new Promise((resolve, reject) => {
      this.server.once('error', (error: NodeJS.ErrnoException) => reject(startRefusal(error, host, port)));
      this.server.listen(port, host, () => {
        this.#slowClients.start(() => this.#connections.sockets);
        const { address, family, port: bound } = this.server.address() as AddressInfo;
        resolve(`${tls ? 'https' : 'http'}://${family === 'IPv6' ? `[${address}]` : address}:${bound}`);
      });
    });
  }

  async #close(graceMs: number): Promise<void> {
    if (!this.server.listening) await this.#listening?.catch(() => undefined);
    if (!this.server.listening) return;
    const cutOff = this.#options.timers.after(graceMs, () => this.#connections.destroy());
    const closed = new Promise((resolve) => this.server.close(resolve));
    this.#connections.close();
    await closed;
    this.#slowClients.stop();
    cutOff.cancel();
  }

  #serve(request: IncomingMessage, response: ServerResponse): void {
    const { clock, fetch, newId, timers } = this.#options;
    identifyRequest(request, newId);
    this.#slowClients.began(request, response);
    const rejection = rejectionOf(request);
    if (rejection) {
      rejectRequest(clock, request, response, rejection);
      return;
    }
    lingerAfter(request, response, timers, () => this.#unasked.has(request));
    const errorHandler = (error: unknown) => refuseRequest(clock, request, error);
    void getRequestListener(fetch, { hostname: this.#hostname, errorHandler })(request, response);
  }

  #createSlowClients(): SlowClients {
    const { slowClients: limits, clock, timers, responseMemory, log } = this.#options;
    return new SlowClients({
      limits,
      clock,
      timers,
      isMemoryScarce: () => responseMemory.isScarce,
      onSlowBody: (request, response) => {
        const { remoteAddress } = request.socket;
        log.info({ remoteAddress }, 'request aborted: its body arrives too slowly');
        if (response.headersSent) request.socket.destroy();
        else refuseConnection(clock, request.socket, slowBody(limits), request);
      },
    });
  }

  #createTlsServer(): TlsServer | null {
    const { tls, responseMemory } = this.#options;
    if (!tls) return null;
    const server = createTlsServer(
      {
        ...tls,
        ServerResponse: securedResponse(countedResponse(responseMemory)),
        requestCert: tls.ca !== undefined,
        rejectUnauthorized: false,
        handshakeTimeout: HANDSHAKE_TIMEOUT_MS,
      },
      (request, response) => this.#connections.take(request, response),
    );
    trackTlsConnections(server, this.#connections);
    return server;
  }

  #createPlainServer(): Server {
    const server = createServer(
      { ServerResponse: securedResponse(countedResponse(this.#options.responseMemory)) },
      (request, response) => this.#connections.take(request, response),
    );
    server.on('connection', (socket: Socket) => this.#connections.opened(socket));
    return server as Server;
  }

  #configure(): void {
    const { server } = this;
    const connections = this.#connections;
    // One more than is served: Node silently drops those beyond.
    server.maxHeadersCount = MAX_HEADERS + 1;
    // Uploads may take long.
    server.requestTimeout = 0;
    server.headersTimeout = HEADERS_TIMEOUT_MS;
    server.keepAliveTimeout = KEEP_ALIVE_MS;
    server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
      continueWhenRead(request, response, this.#unasked);
      connections.take(request, response);
    });
    // Idle, or not reading its response. A client that waits for a response is neither.
    server.on('timeout', (socket) => {
      if (!connections.isAtWork(socket) || socket.writableLength > 0) socket.destroy();
    });
    server.on('clientError', (error, duplex) => this.#onClientError(error, duplex as Socket));
    server.on('upgrade', (request: IncomingMessage) => {
      identifyRequest(request, this.#options.newId);
      connections.upgraded(request.socket);
    });
  }

  #onClientError(error: NodeJS.ErrnoException, socket: Socket): void {
    const { tls, clock, log } = this.#options;
    // Without TLS no response is possible: the client speaks HTTP, or trusts another authority.
    if (tls && !this.#connections.has(socket)) {
      log.debug({ err: error }, 'a TLS handshake failed');
      socket.destroy();
      return;
    }
    // Headers whose rest the hub itself does not read are not late.
    if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT' && this.#connections.isHeld(socket)) return;
    if (this.#connections.isAtWork(socket)) socket.destroy();
    else refuseConnection(clock, socket, error);
  }
}

/** Tells a client that asks first (`Expect: 100-continue`) to send its body when a handler begins to read it: a client that is
 *  refused before need not send it. It is one of `unasked` until then. */
function continueWhenRead(
  request: IncomingMessage,
  response: ServerResponse,
  unasked: WeakSet<IncomingMessage>,
): void {
  unasked.add(request);
  const onListener = (event: string | symbol) => {
    if (event !== 'data' && event !== 'readable') return;
    request.off('newListener', onListener);
    if (response.headersSent) return;
    response.writeContinue();
    unasked.delete(request);
  };
  request.on('newListener', onListener);
}

function startRefusal(error: NodeJS.ErrnoException, host: string, port: number): Error {
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
