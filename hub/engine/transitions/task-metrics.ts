/** Metrics of tasks: each transition is counted. */
import type { TaskMetrics } from '../../core/ports/metrics.js';
import type { TaskSubscriber } from '../../core/task-events.js';

/** Subscriber of task events that counts each transition. */
export function metricsSubscriber(metrics: TaskMetrics): TaskSubscriber {
  return {
    CREATED: ({ task }) => metrics.created(task.type),
    STARTED: ({ ref, task, startedAtMs }) => {
      if (ref.attempt === 1) metrics.began(task.priority, startedAtMs - task.requestedAtMs);
    },
    REQUEUED: ({ loss }) => metrics.attemptLost(loss),
    ENDED: ({ task, ending, endedAtMs, loss }) => {
      metrics.ended(task.type, ending.status, endedAtMs - (task.startedAtMs ?? endedAtMs));
      if (loss !== null) metrics.attemptLost(loss);
    },
    CANCELED: ({ task }) => metrics.ended(task.type, 'CANCELED', null),
  };
}
