/** Response headers that restrict what browsers do with a response. They are set on the response of Node before any handler runs:
 *  hono/secure-headers would miss deferred responses and those that never reach the application. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import { REQUEST_ID_HEADER, requestIdOf } from './request-id.js';

const EVERYWHERE = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'x-frame-options': 'DENY',
  'cross-origin-resource-policy': 'same-origin',
};

/** Headers of data, which is never to be run, shown in a frame, or cached. A handler may replace `cache-control`. */
const OF_DATA = {
  ...EVERYWHERE,
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cache-control': 'no-store',
};

/** Headers of the API documentation: it runs its own scripts, calls this hub only, and has inline styles and icons. */
const OF_DOCS = {
  ...EVERYWHERE,
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; " +
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
};

const HSTS = ['strict-transport-security', 'max-age=31536000'] as const;

const ENTRIES_OF_DATA = Object.entries(OF_DATA);
const ENTRIES_OF_DOCS = Object.entries(OF_DOCS);

type Header = readonly [name: string, value: string];

function headersFor(socket: Duplex, request: IncomingMessage | undefined): Header[] {
  const headers: Header[] = request?.url?.startsWith('/docs') ? [...ENTRIES_OF_DOCS] : [...ENTRIES_OF_DATA];
  if ((socket as TLSSocket).encrypted) headers.push(HSTS);
  const requestId = request ? requestIdOf(request) : null;
  if (requestId !== null) headers.push([REQUEST_ID_HEADER, requestId]);
  return headers;
}

/** Sets them on a response, with the request id. */
export function setSecurityHeaders(request: IncomingMessage, response: ServerResponse): void {
  for (const [name, value] of headersFor(request.socket, request)) response.setHeader(name, value);
}

/** The same as lines, for a response that is written to the bare socket. */
export function securityHeaderLines(socket: Duplex, request: IncomingMessage | undefined): string[] {
  return headersFor(socket, request).map(([name, value]) => `${name}: ${value}`);
}
