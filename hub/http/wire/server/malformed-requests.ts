/** Responses to requests that never reach the application: they have the error body too (contract 10.4). */
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { messageOf } from '@workbench-hub/shared/runtime/message-of';
import type { Clock } from '@workbench-hub/shared/runtime/runtime';
import { errorBody } from '../errors.js';
import { securityHeaderLines } from '../security-headers.js';
import type { SlowClientLimits } from './slow-clients.js';

/** Response to a request whose target or host is not a URL. */
export function refuseRequest(clock: Clock, request: IncomingMessage, error: unknown): Response {
  const body = errorBody(clock, 400, unreadable(error), pathOf(request));
  return new Response(JSON.stringify(body), {
    status: 400,
    headers: { 'content-type': 'application/json' },
  });
}

/** Limit of headers; browsers and proxies send a few dozen. */
export const MAX_HEADERS = 200;

const MAX_TARGET_LENGTH = 8192;

interface Rejection {
  readonly status: 400 | 414 | 431;
  readonly message: string;
}

/** Reason to reject a request before it is handled. */
export function rejectionOf({ url = '', rawHeaders }: IncomingMessage): Rejection | undefined {
  if (url.length > MAX_TARGET_LENGTH) {
    return { status: 414, message: `path and query may have at most ${MAX_TARGET_LENGTH} characters` };
  }
  // Names and values alternate.
  if (rawHeaders.length > 2 * MAX_HEADERS) {
    return { status: 431, message: `a request may have at most ${MAX_HEADERS} headers` };
  }
  // Node uses the first one, a proxy perhaps the last.
  if (countOf('host', rawHeaders) > 1) {
    return { status: 400, message: 'the request cannot be read: it has more than one Host header' };
  }
  return undefined;
}

/** Number of headers with a name; in `rawHeaders`, names and values alternate. */
function countOf(name: string, rawHeaders: readonly string[]): number {
  let count = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const given = rawHeaders[at] as string;
    if (given.length === name.length && given.toLowerCase() === name) count++;
  }
  return count;
}

/** Responds and ends the connection: nothing else that such a client sends is read. */
export function rejectRequest(
  clock: Clock,
  request: IncomingMessage,
  response: ServerResponse,
  { status, message }: Rejection,
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

/** Responds to bytes that are not HTTP, to headers that are too large, or to a request that arrives too slowly; ends the
 *  connection. */
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
  writeRefusal(clock, socket, { status, message: unreadable(error) }, request);
}

export interface UpgradeRefusal {
  readonly status: number;
  readonly message: string;
  /** Further lines of the head. */
  readonly headers?: readonly string[];
}

/** Refuses an upgrade to a WebSocket; ends the connection. */
export type RefuseUpgrade = (request: IncomingMessage, socket: Duplex, refusal: UpgradeRefusal) => void;

export function upgradeRefuser(clock: Clock): RefuseUpgrade {
  return (request, socket, refusal) => {
    if (socket.writable) writeRefusal(clock, socket, refusal, request);
    else socket.destroy();
  };
}

function writeRefusal(
  clock: Clock,
  socket: Duplex,
  { status, message, headers = [] }: UpgradeRefusal,
  request: IncomingMessage | undefined,
): void {
  const path = request ? pathOf(request) : '';
  const body = Buffer.from(JSON.stringify(errorBody(clock, status, message, path)));
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'connection: close',
    'content-type: application/json',
    `content-length: ${body.length}`,
    ...headers,
    ...securityHeaderLines(socket, request),
  ];
  socket.end(Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`), body]), () => socket.destroy());
}

/** Statuses by the error codes of Node's HTTP parser; any other is 400. */
const STATUS_OF: Readonly<Record<string, number>> = {
  HPE_HEADER_OVERFLOW: 431,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
};

function pathOf({ url = '' }: IncomingMessage): string {
  return url.split('?')[0] ?? '';
}

/** Error of a request that is aborted because its body is too slow, in the form of the parser's errors. */
export function slowBody({ minBodyRate }: SlowClientLimits): NodeJS.ErrnoException {
  const message = `its body comes too slowly: at least ${minBodyRate} bytes a second are expected (limits.minBodyRate)`;
  return Object.assign(new Error(message), { code: 'ERR_HTTP_REQUEST_TIMEOUT' });
}

function unreadable(error: unknown): string {
  return `the request cannot be read: ${messageOf(error)}`;
}
