/** Tells the signals of transitions of tasks. */
import type { Signals } from '../../core/ports/signals.js';
import type { FinishedRun } from '../../core/run-times.js';
import type { TaskEnded, TaskSubscriber } from '../../core/task-events.js';

/** Signals for those who dispatch tasks. */
export function queueSignals({ tell }: Pick<Signals, 'tell'>): TaskSubscriber {
  return {
    // From now on, the store shows them.
    ENQUEUED: ({ waiting }) => tell({ kind: 'WAITS', tasks: waiting }),
    REQUEUED: ({ task }) => tell({ kind: 'RETURNED', taskId: task.id }),
    DISPATCH_FAILED: ({ task }) => tell({ kind: 'RETURNED', taskId: task.id }),
    ADOPTED: ({ ref: { taskId }, dequeuedFrom: groupId }) => {
      tell({ kind: 'CHANGED' });
      if (groupId !== null) tell({ kind: 'WITHDRAWN', taskId, from: { groupId } });
    },
    FILES_KEPT: () => tell({ kind: 'CHANGED' }),
    REMOVED: () => tell({ kind: 'CHANGED' }),
    CANCELED: ({ task: { id: taskId, attempt, instance, startedAtMs, requirement } }) => {
      tell({ kind: 'WITHDRAWN', taskId, from: { requirement } });
      if (startedAtMs === null || !instance) return;
      const ref = { taskId, attempt, instanceId: instance.id };
      tell({ kind: 'CANCELED', agentId: instance.agentId, ref });
    },
  };
}

/** Signals for those who wait for ends of tasks. `runOf` measures the run of a task that has finished. */
export function endSignals(
  { tell }: Pick<Signals, 'tell'>,
  runOf: (ended: TaskEnded) => FinishedRun | undefined,
): TaskSubscriber {
  return {
    ENDED: (ended) => tell({ kind: 'ENDED', taskId: ended.task.id, run: runOf(ended) }),
    CANCELED: ({ task }) => tell({ kind: 'ENDED', taskId: task.id }),
  };
}
