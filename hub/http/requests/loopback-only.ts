/**
 * Protection of a hub without security from browsers on the same machine. Listening on loopback does not suffice: any page may
 * send simple requests anywhere and, by giving its own name a loopback address (DNS rebinding), even read the responses. So
 * only requests to loopback names are served, and pages of other origins may change nothing. Other programs are not affected.
 */
import type { IncomingMessage } from 'node:http';
import { HubError } from '../../core/errors.js';

const SAFE_METHODS = new Set(['GET', 'HEAD', 'OPTIONS']);

/** Host that nearly every client sends, so that it need not be parsed. */
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

/** Whether a page is neither of the hub itself nor of another server on loopback. */
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
