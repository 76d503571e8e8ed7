/**
 * While security is off, listening on loopback is all that protects the hub, and a browser on the same machine undoes it
 * for every page that it shows: a page may send simple requests anywhere, and by giving its own name a loopback address
 * (DNS rebinding) even read the answers. So the hub answers requests to loopback names only, and changes nothing on
 * behalf of a page that is not its own. Programs that are no browser notice none of this.
 */
import type { IncomingMessage } from 'node:http';
import { HubError } from '../../core/errors.js';

const SAFE_METHODS = new Set(['GET', 'HEAD', 'OPTIONS']);

/** What nearly every client sends, so that it need not be taken apart. */
const PLAIN_LOOPBACK = /^(?:localhost|127\.\d{1,3}\.\d{1,3}\.\d{1,3}|\[::1\])(?::\d{1,5})?$/;

/** Throws FOREIGN_ORIGIN. */
export function refuseUnlessLoopback({ method = '', headers: { host, origin } }: IncomingMessage): void {
  if (host !== undefined && !PLAIN_LOOPBACK.test(host) && !isLoopback(hostnameOf(`http://${host}`))) {
    throw new HubError(
      'FOREIGN_ORIGIN',
      `while security is off, this hub answers to loopback names only, not to ${JSON.stringify(host)} (security.allowInsecure)`,
    );
  }
  if (!SAFE_METHODS.has(method) && isForeign(origin, host)) {
    throw new HubError(
      'FOREIGN_ORIGIN',
      'while security is off, pages of other origins may change nothing here',
    );
  }
}

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
