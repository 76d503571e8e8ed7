/** Traces: which pieces of work belong together, across programs, and how long each took. None of these waits, and none throws. */
export type SpanAttributes = Readonly<Record<string, string | number>>;

/** ERROR: it came to nothing. */
export type SpanOutcome = 'OK' | 'ERROR';

/** A piece of work under way. */
export interface Span {
  /** Names it to what follows from it, as text that travels; null when nothing of this trace is kept. */
  readonly context: string | null;
  /** Its end, once. */
  end(outcome: SpanOutcome, attributes: SpanAttributes): void;
}

/** A piece of work that is over. Moments are milliseconds since 1970. */
export interface PastSpan {
  readonly name: string;
  /** What it followed from. */
  readonly parent: string;
  /** Tells it from all others of its trace. */
  readonly key: string;
  readonly beganAtMs: number;
  readonly endedAtMs: number;
  readonly outcome: SpanOutcome;
  readonly attributes: SpanAttributes;
}

export interface RequestTracing {
  /** A request begins; `given` is the context that its client has sent, whatever that is. */
  request(name: string, given: string | null, attributes: SpanAttributes): Span;
}

export interface TaskTracing {
  /** The context of a span that is told of only when it is over: the same for the same parent and key at any time, so that
   *  the hub that tells of it need not be the one that handed it out. */
  contextOf(parent: string, key: string): string;
  past(span: PastSpan): void;
}

export interface Tracing extends RequestTracing, TaskTracing {}

const NO_SPAN: Span = { context: null, end: () => undefined };

/** Nobody keeps traces. */
export const NO_TRACING: Tracing = {
  request: () => NO_SPAN,
  contextOf: (parent) => parent,
  past: () => undefined,
};
