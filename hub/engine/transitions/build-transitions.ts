/** Transitions of tasks, with those who count and trace them. */
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import { NO_TASK_METRICS, type TaskMetrics } from '../../core/ports/metrics.js';
import type { Signals } from '../../core/ports/signals.js';
import type { TaskArchive } from '../../core/ports/task-archive.js';
import type { TaskQueue } from '../../core/ports/task-queue.js';
import { NO_TRACING, type TaskTracing } from '../../core/ports/tracing.js';
import { metricsSubscriber } from './task-metrics.js';
import { TaskTraces } from './task-traces.js';
import { TaskTransitions } from './task-transitions.js';

export interface TransitionPorts {
  readonly queue: TaskQueue;
  readonly archive: TaskArchive;
  readonly cluster: { readonly signals: Pick<Signals, 'hear'> };
  readonly metrics?: TaskMetrics;
  readonly tracing?: TaskTracing;
  readonly runtime: Runtime;
  readonly log: Logger;
}

export function buildTransitions(ports: TransitionPorts) {
  const { queue, archive, cluster, metrics, tracing, runtime, log } = ports;
  const transitions = new TaskTransitions({ queue, archive, clock: runtime.clock, log });
  const traces = new TaskTraces(tracing ?? NO_TRACING);
  transitions.subscribe(metricsSubscriber(metrics ?? NO_TASK_METRICS));
  transitions.subscribe(traces.onTask);
  cluster.signals.hear(traces.onSignal);
  return { transitions, traces };
}
