/**
 * The name of a request in all logs: `X-Request-Id`, as the client or a proxy before the hub has given it, or a new one. It is
 * in every answer.
 */
import type { IncomingMessage } from 'node:http';

export const REQUEST_ID_HEADER = 'x-request-id';

/** What can stand in a log and in a header without harm. */
const WELL_FORMED = /^[A-Za-z0-9][\w.:+/=@-]{0,127}$/;

const ids = new WeakMap<IncomingMessage, string>();

/** Names a request; one that has a name keeps it. */
export function nameRequest(request: IncomingMessage, newId: () => string): void {
  if (ids.has(request)) return;
  const given = request.headers[REQUEST_ID_HEADER];
  ids.set(request, typeof given === 'string' && WELL_FORMED.test(given) ? given : newId());
}

/** Null for a request that came by another way than the server of the hub. */
export function requestIdOf(request: IncomingMessage): string | null {
  return ids.get(request) ?? null;
}
