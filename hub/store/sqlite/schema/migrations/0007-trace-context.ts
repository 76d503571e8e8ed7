/** Span of the request that created a task, as parent of later spans. */
export const traceContext = 'ALTER TABLE task ADD COLUMN trace_context TEXT;';
