/** Span contexts in the format of W3C Trace Context: `traceparent`. */
import { createHash } from 'node:crypto';
import { isValidSpanId, isValidTraceId, type SpanContext, TraceFlags } from '@opentelemetry/api';

const FORM = /^([\da-f]{2})-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(-.*)?$/;

/** Undefined for an invalid context. Unknown versions are parsed as far as their format is the same. */
export function parseTraceContext(text: string): Omit<SpanContext, 'isRemote'> | undefined {
  const [, version, traceId = '', spanId = '', flags = '', rest] = FORM.exec(text) ?? [];
  if (version === undefined || version === 'ff' || (version === '00' && rest !== undefined)) return undefined;
  if (!isValidTraceId(traceId) || !isValidSpanId(spanId)) return undefined;
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & TraceFlags.SAMPLED };
}

/** Null for a span that is not sampled. */
export function traceContextOf({ traceId, spanId, traceFlags }: SpanContext): string | null {
  return traceFlags & TraceFlags.SAMPLED ? `00-${traceId}-${spanId}-01` : null;
}

/** Id of the only span of a trace with this key. */
export function spanIdOf(traceId: string, key: string): string {
  return createHash('sha256').update(`${traceId}/${key}`).digest('hex').slice(0, 16);
}
