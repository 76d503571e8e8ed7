/** Answers to what never becomes a request of the application: they carry the error body too (contract 10.4). */
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Clock } from '@workbench-hub/shared/runtime/runtime';
import { errorBody } from '../responses/errors.js';
import { HEADERS_OF_DATA } from '../middleware/security-headers.js';
import type { SlowClientLimits } from './slow-clients.js';

/** HTTP whose target or host is no URL. */
export function refuseRequest(clock: Clock, request: IncomingMessage, error: unknown): Response {
  const body = errorBody(clock, 400, messageOf(error), pathOf(request));
  return new Response(JSON.stringify(body), {
    status: 400,
    headers: { 'content-type': 'application/json' },
  });
}

/** Browsers and proxies send a few dozen. */
export const MAX_HEADERS = 200;

const MAX_TARGET_LENGTH = 8192;

interface UnhandledFault {
  readonly status: 400 | 414 | 431;
  readonly message: string;
}

/** What keeps a request from being handled at all. */
export function unhandledFault({ url = '', rawHeaders }: IncomingMessage): UnhandledFault | undefined {
  if (url.length > MAX_TARGET_LENGTH) {
    return { status: 414, message: `path and query may have at most ${MAX_TARGET_LENGTH} characters` };
  }
  // Names and values in turn.
  if (rawHeaders.length > 2 * MAX_HEADERS) {
    return { status: 431, message: `a request may have at most ${MAX_HEADERS} headers` };
  }
  // Node takes the first one, a proxy perhaps the last.
  if (countOf('host', rawHeaders) > 1) {
    return { status: 400, message: 'the request cannot be read: it has more than one Host header' };
  }
  return undefined;
}

/** Names and values in turn. */
function countOf(name: string, rawHeaders: readonly string[]): number {
  let count = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const given = rawHeaders[at] as string;
    if (given.length === name.length && given.toLowerCase() === name) count++;
  }
  return count;
}

/** Answers it; the connection ends, since who sends such a request is not listened to any further. */
export function refuseUnhandled(
  clock: Clock,
  request: IncomingMessage,
  response: ServerResponse,
  { status, message }: UnhandledFault,
): void {
  const body = Buffer.from(JSON.stringify(errorBody(clock, status, message, pathOf(request))));
  response
    .writeHead(status, {
      'content-type': 'application/json',
      'content-length': body.length,
      connection: 'close',
    })
    .end(body);
}

/** What is no HTTP at all, has too large headers, or takes too long to come; the connection ends. */
export function refuseConnection(
  clock: Clock,
  socket: Duplex,
  error: NodeJS.ErrnoException,
  request?: IncomingMessage,
): void {
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  const status = STATUS_OF[error.code ?? ''] ?? 400;
  const body = Buffer.from(
    JSON.stringify(errorBody(clock, status, messageOf(error), request ? pathOf(request) : '')),
  );
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'connection: close',
    'content-type: application/json',
    `content-length: ${body.length}`,
    ...Object.entries(HEADERS_OF_DATA).map(([name, value]) => `${name}: ${value}`),
  ];
  socket.end(Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`), body]), () => socket.destroy());
}

/** By the codes of Node's HTTP parser; all else is 400. */
const STATUS_OF: Readonly<Record<string, number>> = {
  HPE_HEADER_OVERFLOW: 431,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
};

function pathOf({ url = '' }: IncomingMessage): string {
  return url.split('?')[0] ?? '';
}

/** Of a request that is given up, as the parser would say it. */
export function slowBody({ minBodyRate }: SlowClientLimits): NodeJS.ErrnoException {
  const message = `its body comes too slowly: at least ${minBodyRate} bytes a second are expected (limits.minBodyRate)`;
  return Object.assign(new Error(message), { code: 'ERR_HTTP_REQUEST_TIMEOUT' });
}

function messageOf(error: unknown): string {
  return `the request cannot be read: ${(error as Error).message}`;
}
