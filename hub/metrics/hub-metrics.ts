/** Metrics of the hub, by the naming conventions of Prometheus. */
import type { BuildInfo } from '@workbench-hub/shared/runtime/build-info';
import { Registry } from 'prom-client';
import type {
  FileMetrics,
  LoginMetrics,
  RequestMetrics,
  StoreMetrics,
  StudyMetrics,
  TaskMetrics,
  WebhookMetrics,
} from '../core/ports/metrics.js';
import { fileMetrics, storeMetrics, studyMetrics, taskMetrics, webhookMetrics } from './engine-metrics.js';
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
  /** Adds a gauge; `measure` is called at each {@link text}. */
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
    observe: (name, help, label, measure) => {
      meters.gauge(name, help, label === null ? [] : [label], async (gauge) => {
        const observed = await measure();
        gauge.reset();
        if (typeof observed === 'number') gauge.set(observed);
        else for (const [value, number] of Object.entries(observed)) gauge.labels(value).set(number);
      });
    },
    text: async () => (await meters.text()) + (await processMetrics().metrics()),
  };
}
