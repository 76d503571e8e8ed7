/** Response headers that restrict what browsers do with a response. The response class of the server adds them: hono/secure-headers
 *  would miss deferred responses and those that never reach the application. */
import type { IncomingMessage, OutgoingHttpHeader, OutgoingHttpHeaders, ServerResponse } from 'node:http';
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

const LIST_OF_DATA = Object.entries(OF_DATA).flat();
const LIST_OF_DOCS = Object.entries(OF_DOCS).flat();

const NAMES = new Set([...Object.keys(OF_DATA), ...Object.keys(OF_DOCS), HSTS[0], REQUEST_ID_HEADER]);

/** Names and values in turn, with the request id. */
function headersFor(socket: Duplex, request: IncomingMessage | undefined): string[] {
  const headers = request?.url?.startsWith('/docs') ? [...LIST_OF_DOCS] : [...LIST_OF_DATA];
  if ((socket as TLSSocket).encrypted) headers.push(...HSTS);
  const requestId = request ? requestIdOf(request) : null;
  if (requestId !== null) headers.push(REQUEST_ID_HEADER, requestId);
  return headers;
}

/** A response class over `Base` with these headers on every response. Headers of the response itself replace them. */
export function securedResponse(
  Base: typeof ServerResponse<IncomingMessage>,
): typeof ServerResponse<IncomingMessage> {
  return class SecuredResponse extends Base {
    /** Node calls it for each response, also for one whose handler does not. All headers are passed to it at once: Node checks and
     *  copies those that are set before a second time. */
    override writeHead(status: number, ...rest: unknown[]): this {
      const hasReason = typeof rest[0] === 'string';
      const given = hasReason ? rest[1] : (rest[1] ?? rest[0]);
      const headers = headersFor(this.req.socket, this.req);
      const isOne = this.getHeaderNames().length === 0 && !Array.isArray(given);
      if (!isOne) setAbsent(this, headers);
      const all = isOne ? replaced(headers, given as OutgoingHttpHeaders | undefined) : given;
      (super.writeHead as (...written: unknown[]) => this)(status, hasReason ? rest[0] : undefined, all);
      return this;
    }
  };
}

function setAbsent(response: ServerResponse, headers: readonly string[]): void {
  for (let at = 0; at < headers.length; at += 2) {
    const [name = '', value = ''] = [headers[at], headers[at + 1]];
    if (!response.hasHeader(name)) response.setHeader(name, value);
  }
}

/** The list with the given headers, each in place of the one of its name. */
function replaced(
  list: readonly string[],
  given: OutgoingHttpHeaders = {},
): (OutgoingHttpHeader | undefined)[] {
  const all: (OutgoingHttpHeader | undefined)[] = [...list];
  for (const name in given) {
    const lowerCase = name.toLowerCase();
    if (NAMES.has(lowerCase)) {
      const at = all.indexOf(lowerCase);
      if (at >= 0) all.splice(at, 2);
    }
    all.push(name, given[name]);
  }
  return all;
}

/** The same as lines, for a response that is written to the bare socket. */
export function securityHeaderLines(socket: Duplex, request: IncomingMessage | undefined): string[] {
  const headers = headersFor(socket, request);
  return headers.flatMap((name, at) => (at % 2 === 0 ? [`${name}: ${headers[at + 1]}`] : []));
}
