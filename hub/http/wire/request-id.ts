/** The id of a request in all logs and in its response: `X-Request-Id` as the client or a proxy has sent it, or a new one. hono/request-id
 *  would miss requests that never reach the application. */
import type { IncomingMessage } from 'node:http';

export const REQUEST_ID_HEADER = 'x-request-id';

/** Ids that are safe in a log and in a header. */
const WELL_FORMED = /^[A-Za-z0-9][\w.:+/=@-]{0,127}$/;

const REQUEST_ID = Symbol('request id');

/** A request with its id. A map by request would cost the garbage collector a visit of every entry. */
type Identified = IncomingMessage & { [REQUEST_ID]?: string };

/** Gives a request its id; one that has an id keeps it. */
export function identifyRequest(request: Identified, newId: () => string): void {
  if (request[REQUEST_ID] !== undefined) return;
  const given = request.headers[REQUEST_ID_HEADER];
  request[REQUEST_ID] = typeof given === 'string' && WELL_FORMED.test(given) ? given : newId();
}

/** Null for a request that has not passed the server of the hub. */
export function requestIdOf(request: Identified): string | null {
  return request[REQUEST_ID] ?? null;
}
