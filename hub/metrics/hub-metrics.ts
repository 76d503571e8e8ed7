/** Metrics of the hub, by the naming conventions of Prometheus. */
import type { BuildInfo } from '@workbench-hub/shared/runtime/build-info';
import { Registry } from 'prom-client';
import type {
  FileMetrics,
  HostMetrics,
  LoginMetrics,
  RequestMetrics,
  StoreMetrics,
  StudyMetrics,
  TaskMetrics,
  WebhookMetrics,
} from '../core/ports/metrics.js';
import {
  fileMetrics,
  hostMetrics,
  storeMetrics,
  studyMetrics,
  taskMetrics,
  webhookMetrics,
} from './engine-metrics.js';
import { Meters } from './meters.js';
import { processMetrics } from './process-metrics.js';
import { loginMetrics, requestMetrics } from './request-metrics.js';

export interface HubMetrics {
  readonly tasks: TaskMetrics;
  readonly store: StoreMetrics;
  readonly files: FileMetrics;
  readonly requests: RequestMetrics;
  readonly logins: LoginMetrics;
  readonly studies: StudyMetrics;
  readonly webhooks: WebhookMetrics;
  readonly hosts: HostMetrics;
  /** Adds a gauge; `measure` is called at each {@link text}. */
  observe(
    name: string,
    help: string,
    label: string | null,
    measure: () => Observed | Promise<Observed>,
  ): void;
  /** Adds a gauge with several labels; `measure` is called at each {@link text}. */
  observeAll(
    name: string,
    help: string,
    labels: readonly string[],
    measure: () => Promise<readonly Sample[]>,
  ): void;
  /** All metrics in the text format of Prometheus. */
  text(): Promise<string>;
}

/** A value of a gauge, with the values of its labels in their order. */
export interface Sample {
  readonly labels: readonly string[];
  readonly value: number;
}

/** A number, or one for each value of the label. */
export type Observed = number | Readonly<Record<string, number>>;

export const METRICS_TYPE = Registry.PROMETHEUS_CONTENT_TYPE;

export function hubMetrics(build: BuildInfo): HubMetrics {
  const meters = new Meters();
  meters
    .gauge('build_info', 'Always 1; its labels describe the build.', ['version', 'revision'])
    .labels(build.version, build.revision)
    .set(1);
  return {
    tasks: taskMetrics(meters),
    store: storeMetrics(meters),
    files: fileMetrics(meters),
    requests: requestMetrics(meters),
    logins: loginMetrics(meters),
    studies: studyMetrics(meters),
    webhooks: webhookMetrics(meters),
    hosts: hostMetrics(meters),
    observe: (name, help, label, measure) => {
      meters.gauge(name, help, label === null ? [] : [label], async (gauge) => {
        const observed = await measure();
        gauge.reset();
        if (typeof observed === 'number') gauge.set(observed);
        else for (const [value, number] of Object.entries(observed)) gauge.labels(value).set(number);
      });
    },
    observeAll: (name, help, labelNames, measure) => {
      meters.gauge(name, help, [...labelNames], async (gauge) => {
        const samples = await measure();
        gauge.reset();
        for (const { labels, value } of samples) gauge.labels(...labels).set(value);
      });
    },
    text: async () => (await meters.text()) + (await processMetrics().metrics()),
  };
}
