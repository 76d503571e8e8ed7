/** Spans of requests: the first of a trace, or part of one that the client has begun (W3C Trace Context). */
import type { IncomingMessage } from 'node:http';
import { NO_TRACING, type RequestTracing, type Span } from '../../core/ports/tracing.js';

/** Paths that monitoring requests every few seconds; they are not traced. */
const PROBED = /^\/(?:actuator\/|livez$|readyz$)/;

export type SpanOfRequest = (request: IncomingMessage) => Span;

/** Begins the spans of requests to one endpoint; `path` is its template. */
export function requestSpans(tracing: RequestTracing, method: string, path: string): SpanOfRequest {
  const kept = PROBED.test(path) ? NO_TRACING : tracing;
  const name = `${method} ${path}`;
  const attributes = { 'http.request.method': method, 'http.route': path };
  return ({ headers: { traceparent } }) =>
    kept.request(name, typeof traceparent === 'string' ? traceparent : null, attributes);
}

/** `status` is null when the client disconnected before the response. */
export function endSpan(span: Span, status: number | null): void {
  if (status === null) span.end('ERROR', { 'error.type': 'client gone' });
  else span.end(status >= 500 ? 'ERROR' : 'OK', { 'http.response.status_code': status });
}
