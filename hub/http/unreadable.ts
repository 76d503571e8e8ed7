/** Answers to what never becomes a request of the application: they carry the error body too (specification 7). */
import { type IncomingMessage, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Clock } from '@workbench-hub/shared/runtime/runtime';
import { errorBody } from './errors.js';

/** HTTP whose target or host is no URL. */
export function refuseRequest(clock: Clock, { url = '' }: IncomingMessage, error: unknown): Response {
  const body = errorBody(clock, 400, messageOf(error), url.split('?')[0] ?? '');
  return new Response(JSON.stringify(body), {
    status: 400,
    headers: { 'content-type': 'application/json' },
  });
}

/** What is no HTTP at all, has too large headers, or takes too long to come; the connection ends. */
export function refuseConnection(clock: Clock, socket: Duplex, error: NodeJS.ErrnoException): void {
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  const status = STATUS_OF[error.code ?? ''] ?? 400;
  const body = Buffer.from(JSON.stringify(errorBody(clock, status, messageOf(error), '')));
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'connection: close',
    'content-type: application/json',
    `content-length: ${body.length}`,
  ];
  socket.end(Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`), body]), () => socket.destroy());
}

/** By the codes of Node's HTTP parser; all else is 400. */
const STATUS_OF: Readonly<Record<string, number>> = {
  HPE_HEADER_OVERFLOW: 431,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
};

function messageOf(error: unknown): string {
  return `the request cannot be read: ${(error as Error).message}`;
}
