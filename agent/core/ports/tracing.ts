/** Traces: which pieces of work belong together, across programs, and how long each took. None of these waits, and none throws. */
export type SpanAttributes = Readonly<Record<string, string | number>>;

/** A piece of work under way. */
export interface Span {
  /** Its end, once; ERROR: it came to nothing. */
  end(outcome: 'OK' | 'ERROR'): void;
}

export interface Tracing {
  /** A piece of work begins that follows from `parent`, as the hub has named it; without one, nothing is kept of it. */
  begin(name: string, parent: string | undefined, attributes: SpanAttributes): Span;
}

const NO_SPAN: Span = { end: () => undefined };

/** Nobody keeps traces. */
export const NO_TRACING: Tracing = { begin: () => NO_SPAN };
