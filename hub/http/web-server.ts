/** The one port of the hub: REST, file transfers of agents, and their WebSockets. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import { StartRefused } from '@workbench-hub/shared/runtime/run-program';
import type { Clock, Timers } from '@workbench-hub/shared/runtime/runtime';
import { refuseConnection, refuseRequest } from './unreadable.js';

export interface WebServerOptions {
  readonly host: string;
  readonly port: number;
  readonly fetch: (request: Request) => Response | Promise<Response>;
  readonly timers: Timers;
  readonly clock: Clock;
  /** Sees every request first; true when it takes it. */
  readonly first: (request: IncomingMessage, response: ServerResponse) => boolean;
}

export interface WebServer {
  readonly server: Server;
  /** Resolves with the address, such as `http://127.0.0.1:8080`; rejects with {@link StartRefused}. */
  listen(): Promise<string>;
  /** Takes no new connection; resolves when the requests under way have ended, or are cut off after `graceMs`. */
  close(graceMs: number): Promise<void>;
}

export function webServer({ host, port, timers, clock, fetch, first }: WebServerOptions): WebServer {
  // A probe that speaks HTTP/1.0 names no host.
  const hostname = host.includes(':') ? `[${host}]` : host;
  // Node's own list of idle connections has none on which no request has come yet, such as browsers open in advance,
  // and forgets those that became a WebSocket: both would be waited for. So each is kept here, with what is under way.
  const underWay = new Map<Socket, number>();
  let closing = false;
  const server = createServer((request, response) => {
    const { socket } = request;
    underWay.set(socket, (underWay.get(socket) ?? 0) + 1);
    response.once('close', () => {
      const left = (underWay.get(socket) ?? 1) - 1;
      if (underWay.has(socket)) underWay.set(socket, left);
      if (closing && left === 0) socket.destroySoon();
    });
    if (first(request, response)) return;
    const errorHandler = (error: unknown) => refuseRequest(clock, request, error);
    void getRequestListener(fetch, { hostname, errorHandler })(request, response);
  });
  // Uploads may take long; a client that does not even send its headers is not waited for.
  server.requestTimeout = 0;
  server.headersTimeout = 30_000;
  server.keepAliveTimeout = 65_000;
  server.on('connection', (socket: Socket) => {
    underWay.set(socket, 0);
    socket.once('close', () => underWay.delete(socket));
  });
  server.on('clientError', (error, socket) => {
    if (underWay.get(socket as Socket)) socket.destroy();
    else refuseConnection(clock, socket, error);
  });
  server.on('upgrade', ({ socket }: IncomingMessage) => underWay.set(socket, 1));

  return {
    server,
    listen: () =>
      new Promise((resolve, reject) => {
        server.once('error', (error: NodeJS.ErrnoException) => reject(refusal(error, host, port)));
        server.listen(port, host, () => {
          const { address, family, port: bound } = server.address() as AddressInfo;
          resolve(`http://${family === 'IPv6' ? `[${address}]` : address}:${bound}`);
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
          cutOff.cancel();
          resolve();
        });
        for (const [socket, requests] of underWay) if (requests === 0) socket.destroySoon();
      }),
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
