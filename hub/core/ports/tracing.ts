/** Traces of work across programs. No method waits or throws. */
export type SpanAttributes = Readonly<Record<string, string | number>>;

/** ERROR: the work failed. */
export type SpanOutcome = 'OK' | 'ERROR';

/** Work in progress. */
export interface Span {
  /** Serialized parent for spans that follow; null when the trace is not kept. */
  readonly context: string | null;
  /** Called once. */
  end(outcome: SpanOutcome, attributes: SpanAttributes): void;
}

/** Completed work. */
export interface PastSpan {
  readonly name: string;
  /** Context of the parent. */
  readonly parent: string;
  /** Unique within the trace. */
  readonly key: string;
  readonly beganAtMs: number;
  readonly endedAtMs: number;
  readonly outcome: SpanOutcome;
  readonly attributes: SpanAttributes;
}

export interface RequestTracing {
  /** Begins the span of a request; `given` is the context sent by the client, unverified. */
  request(name: string, given: string | null, attributes: SpanAttributes): Span;
}

export interface TaskTracing {
  /** Context of a span that is recorded when it is over. It depends only on parent and key, so that another hub can record the
   *  span. */
  contextOf(parent: string, key: string): string;
  past(span: PastSpan): void;
}

export interface Tracing extends RequestTracing, TaskTracing {}

const NO_SPAN: Span = { context: null, end: () => undefined };

/** Discards everything. */
export const NO_TRACING: Tracing = {
  request: () => NO_SPAN,
  contextOf: (parent) => parent,
  past: () => undefined,
};
