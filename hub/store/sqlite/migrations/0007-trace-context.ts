/** Names the span of the request that created a task, so that what follows from it can be joined to its trace. */
export const traceContext = 'ALTER TABLE task ADD COLUMN trace_context TEXT;';
