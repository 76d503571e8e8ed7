/**
 * While security is off, listening on loopback is all that protects the hub, and a browser on the same machine undoes it
 * for every page that it shows: a page may send simple requests anywhere, and by giving its own name a loopback address
 * (DNS rebinding) even read the answers. So the hub answers requests to loopback names only, and changes nothing on
 * behalf of a page that is not its own. Programs that are no browser notice none of this.
 */
import type { MiddlewareHandler } from 'hono';
import { HubError } from '../core/errors.js';

const SAFE_METHODS = new Set(['GET', 'HEAD', 'OPTIONS']);

export const loopbackOnly: MiddlewareHandler = async (context, next) => {
  const host = context.req.header('host');
  if (host !== undefined && !isLoopback(hostnameOf(`http://${host}`))) {
    throw new HubError(
      'FOREIGN_ORIGIN',
      `while security is off, this hub answers to loopback names only, not to ${JSON.stringify(host)} (security.allowInsecure)`,
    );
  }
  if (!SAFE_METHODS.has(context.req.method) && isForeign(context.req.header('origin'), host)) {
    throw new HubError(
      'FOREIGN_ORIGIN',
      'while security is off, pages of other origins may change nothing here',
    );
  }
  await next();
};

/** A page of the hub itself, or of another server on this machine's loopback, is not foreign. */
function isForeign(origin: string | undefined, host: string | undefined): boolean {
  if (origin === undefined || origin === `http://${host}`) return false;
  return !isLoopback(hostnameOf(origin));
}

function hostnameOf(address: string): string | undefined {
  return URL.canParse(address) ? new URL(address).hostname : undefined;
}

function isLoopback(hostname: string | undefined): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(hostname ?? '');
}
