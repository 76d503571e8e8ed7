/** Metrics of tasks, of the store and of the blob store. */
import type { Counter } from 'prom-client';
import type {
  FileMetrics,
  HostMetrics,
  StoreMetrics,
  StudyMetrics,
  TaskMetrics,
  WebhookMetrics,
} from '../core/ports/metrics.js';
import { POINT_OUTCOMES } from '../core/studies/study.js';
import { type Meters, seconds } from './meters.js';

const STORE_BUCKETS_S = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5];

const HOUR_S = 3600;
const DAY_S = 86_400;

/** Tasks wait and run for milliseconds up to days. */
const SHORT_TASK_BUCKETS_S = [0.01, 0.1, 0.5, 1, 5, 15, 60, 300, 900];
const TASK_BUCKETS_S = [...SHORT_TASK_BUCKETS_S, HOUR_S, 4 * HOUR_S, 12 * HOUR_S, DAY_S, 3 * DAY_S];

const OPERATION_BUCKETS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000];

export function taskMetrics(meters: Meters): TaskMetrics {
  const created = meters.counter('tasks_created_total', 'Tasks that were created.', ['type']);
  const createdOf = new Map<string, Counter.Internal>();
  const waited = meters.histogram(
    'task_wait_seconds',
    'Wait of tasks from their request to the start of their first attempt.',
    TASK_BUCKETS_S,
    ['priority'],
  );
  const ended = meters.counter('tasks_ended_total', 'Tasks that ended, by their final status.', [
    'type',
    'status',
  ]);
  const ran = meters.histogram(
    'task_run_seconds',
    'Run time of the attempt with which a task ended FINISHED or FAILED.',
    TASK_BUCKETS_S,
    ['type'],
  );
  const lost = meters.counter(
    'attempts_lost_total',
    'Attempts without a result: CRASH, the instance died; LOSS, its agent was lost; HOST_FAULT, its host had a ' +
      'fault, such as a full disk; RETURN, the agent returned the task before it began.',
    ['cause'],
  );
  const left = meters.counter('agent_disconnects_total', 'Connections of agents that ended.');
  const wentBack = meters.counter(
    'agent_rollbacks_total',
    'Agents that went back from the version of the hub, which had failed there.',
  );
  // Counters that alerts watch for an increase exist before their first event; otherwise it would be missed.
  for (const cause of ['CRASH', 'LOSS', 'HOST_FAULT', 'RETURN']) lost.labels(cause).inc(0);
  return {
    created: (type) => {
      // Looking up a child takes longer than incrementing it.
      let count = createdOf.get(type);
      if (!count) {
        count = created.labels(type);
        createdOf.set(type, count);
      }
      count.inc();
    },
    began: (priority, waitedMs) => waited.labels(priority).observe(seconds(waitedMs)),
    ended: (type, status, ranMs) => {
      ended.labels(type, status).inc();
      if (ranMs !== null) ran.labels(type).observe(seconds(ranMs));
    },
    attemptLost: (cause) => lost.labels(cause).inc(),
    agentLeft: () => left.inc(),
    agentWentBack: () => wentBack.inc(),
  };
}

export function storeMetrics(meters: Meters): StoreMetrics {
  const commit = meters.histogram(
    'store_commit_seconds',
    'Time to write one group of operations as one transaction, without the sync.',
    STORE_BUCKETS_S,
  );
  const operations = meters.histogram(
    'store_commit_operations',
    'Operations in one transaction.',
    OPERATION_BUCKETS,
  );
  const sync = meters.histogram(
    'store_sync_seconds',
    'Time of a sync of the database to disk.',
    STORE_BUCKETS_S,
  );
  const failures = meters.counter('store_failures_total', 'Operations that the database could not write.');
  return {
    written: (count, durationMs) => {
      commit.observe(seconds(durationMs));
      operations.observe(count);
    },
    synced: (durationMs) => sync.observe(seconds(durationMs)),
    failed: () => failures.inc(),
  };
}

export function fileMetrics(meters: Meters): FileMetrics {
  const stored = meters.counter('blobs_stored_bytes_total', 'Bytes of blobs that were stored.');
  const read = meters.counter('blobs_read_bytes_total', 'Bytes of blobs that were opened for reading.');
  return { stored: (bytes) => stored.inc(bytes), read: (bytes) => read.inc(bytes) };
}

export function studyMetrics(meters: Meters): StudyMetrics {
  const help = 'Points of studies that ended, by their outcome.';
  const ended = meters.counter('study_points_ended_total', help, ['outcome']);
  for (const outcome of POINT_OUTCOMES) ended.labels(outcome).inc(0);
  return { ended: (outcome) => ended.labels(outcome).inc() };
}

export function webhookMetrics(meters: Meters): WebhookMetrics {
  const tries = meters.counter('webhook_tries_total', 'Tries to deliver a webhook, by their outcome.', [
    'outcome',
  ]);
  const givenUp = meters.counter('webhooks_given_up_total', 'Webhooks that were not delivered.');
  // Counters that alerts watch for an increase exist before their first event; otherwise it would be missed.
  for (const outcome of ['DELIVERED', 'FAILED']) tries.labels(outcome).inc(0);
  return { tried: (outcome) => tries.labels(outcome).inc(), gaveUp: (count) => givenUp.inc(count) };
}

export function hostMetrics(meters: Meters): HostMetrics {
  const failedStarts = meters.counter(
    'hosts_failed_starts_total',
    'Allocations that ended before an instance of their agent was up.',
    ['recipe'],
  );
  const managerFailures = meters.counter(
    'hosts_manager_failures_total',
    'Calls of a workload manager that had no answer, or one that was not understood.',
    ['recipe'],
  );
  return {
    ofRecipe: (recipe) => {
      const failed = failedStarts.labels(recipe);
      const unanswered = managerFailures.labels(recipe);
      // Counters that alerts watch for an increase exist before their first event; otherwise it would be missed.
      for (const counter of [failed, unanswered]) counter.inc(0);
      return { startFailed: () => failed.inc(), managerFailed: () => unanswered.inc() };
    },
  };
}
