/**
 * The name of a request in all logs: `X-Request-Id`, as the client or a proxy before the hub has given it, or a new one. It is
 * in every answer.
 */
import type { IncomingMessage } from 'node:http';

export const REQUEST_ID_HEADER = 'x-request-id';

/** What can stand in a log and in a header without harm. */
const WELL_FORMED = /^[A-Za-z0-9][\w.:+/=@-]{0,127}$/;

const NAME = Symbol('name of the request');

/** The name is kept with the request: a map by request costs the garbage collector a look at every entry. */
type Named = IncomingMessage & { [NAME]?: string };

/** Names a request; one that has a name keeps it. */
export function nameRequest(request: Named, newId: () => string): void {
  if (request[NAME] !== undefined) return;
  const given = request.headers[REQUEST_ID_HEADER];
  request[NAME] = typeof given === 'string' && WELL_FORMED.test(given) ? given : newId();
}

/** Null for a request that came by another way than the server of the hub. */
export function requestIdOf(request: Named): string | null {
  return request[NAME] ?? null;
}
