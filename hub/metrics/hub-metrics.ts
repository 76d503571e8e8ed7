/** Metrics of the hub, by the naming conventions of Prometheus. */
import type { BuildInfo } from '@workbench-hub/shared/runtime/build-info';
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type {
  FileMetrics,
  LoginMetrics,
  RequestMetrics,
  StoreMetrics,
  TaskMetrics,
} from '../core/ports/metrics.js';
import { processMetrics } from './process-metrics.js';

export interface HubMetrics {
  readonly tasks: TaskMetrics;
  readonly store: StoreMetrics;
  readonly files: FileMetrics;
  readonly requests: RequestMetrics;
  readonly logins: LoginMetrics;
  /** Adds a gauge that `measure` is called for at each {@link text}. */
  observe(
    name: string,
    help: string,
    label: string | null,
    measure: () => Observed | Promise<Observed>,
  ): void;
  /** All metrics in the text format of Prometheus. */
  text(): Promise<string>;
}

/** A number, or one for each value of the label. */
export type Observed = number | Readonly<Record<string, number>>;

export const METRICS_TYPE = Registry.PROMETHEUS_CONTENT_TYPE;

const REQUEST_BUCKETS_S = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60];
const STORE_BUCKETS_S = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5];
/** Tasks wait and run for milliseconds up to days. */
const TASK_BUCKETS_S = [
  0.01,
  0.1,
  0.5,
  1,
  5,
  15,
  60,
  300,
  900,
  3600,
  4 * 3600,
  12 * 3600,
  86_400,
  3 * 86_400,
];
const OPERATION_BUCKETS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000];

const PREFIX = 'workbench_hub_';

export function hubMetrics(build: BuildInfo): HubMetrics {
  const registry = new Registry();
  const registers = [registry];
  const counter = <Label extends string = never>(name: string, help: string, labelNames: Label[] = []) =>
    new Counter({ name: PREFIX + name, help, labelNames, registers });
  const histogram = <Label extends string = never>(
    name: string,
    help: string,
    buckets: number[],
    labelNames: Label[] = [],
  ) => new Histogram({ name: PREFIX + name, help, labelNames, buckets, registers });

  const created = counter('tasks_created_total', 'Tasks that were created.', ['type']);
  const waited = histogram(
    'task_wait_seconds',
    'Wait of tasks from their request to the start of their first attempt.',
    TASK_BUCKETS_S,
    ['priority'],
  );
  const ended = counter('tasks_ended_total', 'Tasks that ended, by their final status.', ['type', 'status']);
  const ran = histogram(
    'task_run_seconds',
    'Run time of the attempt with which a task ended FINISHED or FAILED.',
    TASK_BUCKETS_S,
    ['type'],
  );
  const lost = counter(
    'attempts_lost_total',
    'Attempts without a result: CRASH, the instance died; LOSS, its agent was lost; HOST_FAULT, its host had a ' +
      'fault, such as a full disk; RETURN, the agent returned the task before it began.',
    ['cause'],
  );
  const left = counter('agent_disconnects_total', 'Connections of agents that ended.');

  const commit = histogram(
    'store_commit_seconds',
    'Time to write one group of operations as one transaction, without the sync.',
    STORE_BUCKETS_S,
  );
  const operations = histogram(
    'store_commit_operations',
    'Operations in one transaction.',
    OPERATION_BUCKETS,
  );
  const sync = histogram('store_sync_seconds', 'Time of a sync of the database to disk.', STORE_BUCKETS_S);
  const unwritten = counter('store_failures_total', 'Operations that the database could not write.');

  const stored = counter('blobs_stored_bytes_total', 'Bytes of blobs that were stored.');
  const read = counter('blobs_read_bytes_total', 'Bytes of blobs that were opened for reading.');

  const requests = counter(
    'http_requests_total',
    'Responses by endpoint; route "none" stands for all other paths.',
    ['method', 'route', 'status'],
  );
  const durations = histogram(
    'http_request_duration_seconds',
    'Time from the headers of a request to those of its response, without deferred responses.',
    REQUEST_BUCKETS_S,
    ['method', 'route'],
  );
  const loginFailures = counter(
    'login_failures_total',
    'Failed logins: REFUSED, a wrong name or password; THROTTLED, too many attempts.',
    ['reason'],
  );

  const observe: HubMetrics['observe'] = (name, help, label, look) => {
    new Gauge({
      name: PREFIX + name,
      help,
      labelNames: label === null ? [] : [label],
      registers,
      async collect() {
        const observed = await look();
        this.reset();
        if (typeof observed === 'number') return this.set(observed);
        for (const [value, number] of Object.entries(observed)) this.labels(value).set(number);
      },
    });
  };
  new Gauge({
    name: `${PREFIX}build_info`,
    help: 'Always 1; its labels describe the build.',
    labelNames: ['version', 'revision'],
    registers,
  })
    .labels(build.version, build.revision)
    .set(1);
  // Counters that alerts watch for an increase exist before their first event; otherwise it would be missed.
  for (const cause of ['CRASH', 'LOSS', 'HOST_FAULT', 'RETURN']) lost.labels(cause).inc(0);
  for (const reason of ['REFUSED', 'THROTTLED']) loginFailures.labels(reason).inc(0);

  return {
    tasks: {
      created: (type) => created.labels(type).inc(),
      began: (priority, waitedMs) => waited.labels(priority).observe(seconds(waitedMs)),
      ended: (type, status, ranMs) => {
        ended.labels(type, status).inc();
        if (ranMs !== null) ran.labels(type).observe(seconds(ranMs));
      },
      attemptLost: (cause) => lost.labels(cause).inc(),
      agentLeft: () => left.inc(),
    },
    store: {
      written: (count, durationMs) => {
        commit.observe(seconds(durationMs));
        operations.observe(count);
      },
      synced: (durationMs) => sync.observe(seconds(durationMs)),
      failed: () => unwritten.inc(),
    },
    files: { stored: (bytes) => stored.inc(bytes), read: (bytes) => read.inc(bytes) },
    requests: {
      ofRoute: (method, route) => {
        // Looking up a child takes longer than incrementing it.
        const byStatus = new Map<number, Counter.Internal>();
        let duration: Histogram.Internal<'method' | 'route'> | undefined;
        return {
          answered: (status, durationMs) => {
            let count = byStatus.get(status);
            if (!count) {
              count = requests.labels(method, route, String(status));
              byStatus.set(status, count);
            }
            count.inc();
            if (durationMs === null) return;
            duration ??= durations.labels(method, route);
            duration.observe(seconds(durationMs));
          },
        };
      },
    },
    logins: { failed: (reason) => loginFailures.labels(reason).inc() },
    observe,
    text: async () => (await registry.metrics()) + (await processMetrics().metrics()),
  };
}

/** Never negative, even if the clock of the machine was set back. */
function seconds(durationMs: number): number {
  return Math.max(durationMs, 0) / 1000;
}
