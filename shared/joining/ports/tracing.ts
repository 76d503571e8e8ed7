/** Traces: related work across programs, with durations. No method waits or throws. */
export type SpanAttributes = Readonly<Record<string, string | number>>;

/** Work in progress. */
export interface Span {
  /** Ends the span, once; ERROR: the work failed. */
  end(outcome: 'OK' | 'ERROR'): void;
}

export interface Tracing {
  /** Begins a span below `parent`, as named by the hub; without a parent nothing is recorded. */
  begin(name: string, parent: string | undefined, attributes: SpanAttributes): Span;
}

const NO_SPAN: Span = { end: () => undefined };

/** Tracing that is off. */
export const NO_TRACING: Tracing = { begin: () => NO_SPAN };
