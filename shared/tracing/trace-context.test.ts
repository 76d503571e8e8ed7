import { expect, it } from 'vitest';
import { parseTraceContext, spanIdOf, traceContextOf } from './trace-context.js';

const TRACE_ID = '4bf92f3577b34da6a3ce929d0e0e4736';
const SPAN_ID = '00f067aa0ba902b7';

it('a name of a span is read', () => {
  expect(parseTraceContext(`00-${TRACE_ID}-${SPAN_ID}-01`)).toEqual({
    traceId: TRACE_ID,
    spanId: SPAN_ID,
    traceFlags: 1,
  });
  expect(parseTraceContext(`00-${TRACE_ID}-${SPAN_ID}-02`)).toMatchObject({ traceFlags: 0 });
});

it('the known part of a later version is read', () => {
  expect(parseTraceContext(`01-${TRACE_ID}-${SPAN_ID}-01-more`)).toMatchObject({ traceFlags: 1 });
});

it.each([
  '',
  'nothing',
  `00-${TRACE_ID}-${SPAN_ID}-01-more`,
  `ff-${TRACE_ID}-${SPAN_ID}-01`,
  `00-${'0'.repeat(32)}-${SPAN_ID}-01`,
  `00-${TRACE_ID}-${'0'.repeat(16)}-01`,
  `00-${TRACE_ID.toUpperCase()}-${SPAN_ID}-01`,
  `00-${TRACE_ID}-${SPAN_ID}-01\n`,
])('%j names no span', (text) => {
  expect(parseTraceContext(text)).toBeUndefined();
});

it('a span is named only if it is sampled', () => {
  const span = { traceId: TRACE_ID, spanId: SPAN_ID };
  expect(traceContextOf({ ...span, traceFlags: 1 })).toBe(`00-${TRACE_ID}-${SPAN_ID}-01`);
  expect(traceContextOf({ ...span, traceFlags: 0 })).toBeNull();
});

it('a key names the same span at any time, and another one than any other key', () => {
  const ids = ['a', 'b', 'a'].map((key) => spanIdOf(TRACE_ID, key));
  expect(ids[0]).toMatch(/^[\da-f]{16}$/);
  expect(ids[2]).toBe(ids[0]);
  expect(ids[1]).not.toBe(ids[0]);
});
