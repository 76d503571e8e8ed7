/** Names of spans as W3C Trace Context writes them: `traceparent`. */
import { createHash } from 'node:crypto';
import { isValidSpanId, isValidTraceId, type SpanContext, TraceFlags } from '@opentelemetry/api';

const FORM = /^([\da-f]{2})-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(-.*)?$/;

/** Undefined when it names no span. A version that is not known yet is read as far as it is the same. */
export function parseTraceContext(text: string): Omit<SpanContext, 'isRemote'> | undefined {
  const [, version, traceId = '', spanId = '', flags = '', rest] = FORM.exec(text) ?? [];
  if (version === undefined || version === 'ff' || (version === '00' && rest !== undefined)) return undefined;
  if (!isValidTraceId(traceId) || !isValidSpanId(spanId)) return undefined;
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & TraceFlags.SAMPLED };
}

/** Null for a span that is not kept. */
export function traceContextOf({ traceId, spanId, traceFlags }: SpanContext): string | null {
  return traceFlags & TraceFlags.SAMPLED ? `00-${traceId}-${spanId}-01` : null;
}

/** The name of the one span of a trace that has this key. */
export function spanIdOf(traceId: string, key: string): string {
  return createHash('sha256').update(`${traceId}/${key}`).digest('hex').slice(0, 16);
}
