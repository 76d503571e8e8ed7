/**
 * Pages of other origins in a browser. They may read nothing of the hub (no CORS), unless `security.corsOrigins` names their
 * origin. And on the endpoints that a browser calls with a cookie, or that set one, they may ask for nothing at all: there
 * the cookie alone would be enough to act for whoever looks at the page (cross-site request forgery), or to log the
 * browser in as somebody else. All else takes a bearer token, which no browser sends by itself.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { HttpBindings } from '@hono/node-server';
import type { MiddlewareHandler } from 'hono';
import { HubError } from '../../core/errors.js';

export interface Origins {
  /** `server.publicUrl`; null: what the request names as its host. */
  readonly publicUrl: string | null;
  /** `security.corsOrigins` */
  readonly allowed: ReadonlySet<string>;
}

/** With a cookie, or setting one. */
const COOKIE_PATH = /^\/api\/[\d.]+\/auth\//;

export function isCookiePath(path: string): boolean {
  return COOKIE_PATH.test(path);
}

/** Throws FOREIGN_ORIGIN for what a page of another origin asks for. A program that is no browser sends none of these
 *  headers. */
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

/** The scheme is not looked at where a proxy may have ended TLS. */
function isOwn(origin: string, publicUrl: string | null, host: string | undefined): boolean {
  if (!URL.canParse(origin)) return false;
  const url = new URL(origin);
  if (publicUrl !== null && url.origin === new URL(publicUrl).origin) return true;
  return host !== undefined && url.host === hostOf(`${url.protocol}//${host}`);
}

function hostOf(address: string): string | undefined {
  return URL.canParse(address) ? new URL(address).host : undefined;
}

/** What a page may send and see beyond what is always allowed (Fetch standard). */
const PREFLIGHT = {
  'access-control-allow-methods': 'GET, HEAD, POST, PUT, PATCH, DELETE',
  'access-control-allow-headers': 'Authorization, Content-Type, Range',
  'access-control-max-age': '600',
};
const EXPOSED = 'Retry-After, WWW-Authenticate, Content-Disposition, Content-Range, Location, X-Request-Id';

/** Lets pages of these origins read the answers. The headers go to the answer of Node, since some answers are written
 *  when the request is no longer handled. */
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
