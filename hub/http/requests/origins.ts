/**
 * Access of browser pages of other origins. They cannot read responses of the hub (no CORS) unless `security.corsOrigins` lists
 * their origin. Endpoints that take or set a cookie refuse them altogether: there the cookie alone would suffice to act for the
 * viewer of the page (cross-site request forgery), or to log the browser in as somebody else. All other endpoints require a
 * bearer token, which no browser sends by itself.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { HttpBindings } from '@hono/node-server';
import type { MiddlewareHandler } from 'hono';
import { HubError } from '../../core/errors.js';

export interface Origins {
  /** `server.publicUrl`; null for the host that the request names. */
  readonly publicUrl: string | null;
  /** `security.corsOrigins` */
  readonly allowed: ReadonlySet<string>;
}

/** Paths that take or set a cookie. */
const COOKIE_PATH = /^\/api\/(?:[\d.]+\/auth|x\/sign-on)\//;

export function isCookiePath(path: string): boolean {
  return COOKIE_PATH.test(path);
}

/** Throws FOREIGN_ORIGIN for a request of a page of another origin. Programs other than browsers send none of these headers. */
export function refuseForeignOrigin({ headers }: IncomingMessage, { publicUrl, allowed }: Origins): void {
  const { origin, host } = headers;
  const site = headers['sec-fetch-site'];
  if (origin !== undefined && allowed.has(origin)) return;
  const isForeign = origin !== undefined && !isOwn(origin, publicUrl, host);
  if (!isForeign && site !== 'cross-site' && site !== 'same-site') return;
  throw new HubError(
    'FOREIGN_ORIGIN',
    'pages of other origins may not log in or use the session here; the hub knows its own by server.publicUrl or the ' +
      'Host header, and takes others from security.corsOrigins',
  );
}

/** The scheme is ignored: a proxy may have ended TLS. */
function isOwn(origin: string, publicUrl: string | null, host: string | undefined): boolean {
  if (!URL.canParse(origin)) return false;
  const url = new URL(origin);
  if (publicUrl !== null && url.origin === new URL(publicUrl).origin) return true;
  return host !== undefined && url.host === hostOf(`${url.protocol}//${host}`);
}

function hostOf(address: string): string | undefined {
  return URL.canParse(address) ? new URL(address).host : undefined;
}

/** Methods and headers that a page may use beyond the safelisted ones (Fetch standard). */
const PREFLIGHT = {
  'access-control-allow-methods': 'GET, HEAD, POST, PUT, PATCH, DELETE',
  'access-control-allow-headers':
    'Authorization, Content-Type, Range, If-Range, If-None-Match, Last-Event-ID, Idempotency-Key, Tus-Resumable, ' +
    'Upload-Length, Upload-Metadata, Upload-Offset',
  'access-control-max-age': '600',
};
const EXPOSED =
  'Allow, Retry-After, WWW-Authenticate, Content-Disposition, Content-Range, ETag, Location, X-Request-Id, X-Error-Code, Warning, ' +
  'Idempotency-Replayed, Log-Offset, Log-Next-Offset, ' +
  'Tus-Resumable, Tus-Version, Tus-Extension, Tus-Max-Size, Upload-Length, Upload-Metadata, Upload-Offset, Upload-Expires';

/** Lets pages of these origins read responses. The headers are set on the response of Node, as deferred responses need them too;
 *  hono/cors would miss those. */
export function cors(allowed: ReadonlySet<string>): MiddlewareHandler {
  return async (context, next) => {
    const { incoming, outgoing } = context.env as HttpBindings & { readonly outgoing: ServerResponse };
    const { origin } = incoming.headers;
    outgoing.setHeader('vary', 'Origin');
    if (origin === undefined || !allowed.has(origin)) return next();
    outgoing.setHeader('access-control-allow-origin', origin);
    outgoing.setHeader('access-control-expose-headers', EXPOSED);
    if (isCookiePath(context.req.path)) outgoing.setHeader('access-control-allow-credentials', 'true');
    const isPreflight =
      context.req.method === 'OPTIONS' && incoming.headers['access-control-request-method'] !== undefined;
    return isPreflight ? context.body(null, 204, PREFLIGHT) : next();
  };
}
