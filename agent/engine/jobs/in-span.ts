/** Records a part of an attempt as a span. */
import type { Tracing } from '@workbench-hub/shared/joining/ports/tracing';
import type { AttemptRun } from './attempt-run.js';

/** Settles like `work`. `isGood` decides whether its result is a success; by default it is. */
export function inSpan<T>(
  tracing: Tracing,
  name: string,
  { ref, traceContext }: AttemptRun,
  work: () => Promise<T>,
  isGood: (result: T) => boolean = () => true,
): Promise<T> {
  // Its trace is not sampled.
  if (traceContext === undefined) return work();
  const span = tracing.begin(name, traceContext, {
    'workbench.task.id': ref.taskId,
    'workbench.attempt': ref.attempt,
    'workbench.instance.id': ref.instanceId,
  });
  return work().then(
    (result) => {
      span.end(isGood(result) ? 'OK' : 'ERROR');
      return result;
    },
    (error: unknown) => {
      span.end('ERROR');
      throw error;
    },
  );
}
