/** Requests as the first spans of traces, or as part of one that the client has begun (W3C Trace Context). */
import type { IncomingMessage } from 'node:http';
import { NO_TRACING, type RequestTracing, type Span } from '../../core/ports/tracing.js';

/** What monitoring asks for every few seconds is no part of any trace. */
const PROBED = /^\/(?:actuator\/|livez$|readyz$)/;

/** Begins the spans of requests to one endpoint, whose path is as in the description of the interface. */
export function requestSpans(
  tracing: RequestTracing,
  method: string,
  path: string,
): (request: IncomingMessage) => Span {
  const kept = PROBED.test(path) ? NO_TRACING : tracing;
  const name = `${method} ${path}`;
  const attributes = { 'http.request.method': method, 'http.route': path };
  return ({ headers: { traceparent } }) =>
    kept.request(name, typeof traceparent === 'string' ? traceparent : null, attributes);
}

/** `status` is null when the client has gone away before the answer. */
export function endSpan(span: Span, status: number | null): void {
  if (status === null) span.end('ERROR', { 'error.type': 'client gone' });
  else span.end(status >= 500 ? 'ERROR' : 'OK', { 'http.response.status_code': status });
}
