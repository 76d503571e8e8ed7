/** Counters, histograms and gauges of one registry, with the prefix of the hub. */
import { Counter, Gauge, Histogram, Registry } from 'prom-client';

const PREFIX = 'workbench_hub_';

export class Meters {
  readonly #registry = new Registry();

  counter<Label extends string = never>(
    name: string,
    help: string,
    labelNames: Label[] = [],
  ): Counter<Label> {
    return new Counter({ name: PREFIX + name, help, labelNames, registers: [this.#registry] });
  }

  histogram<Label extends string = never>(
    name: string,
    help: string,
    buckets: number[],
    labelNames: Label[] = [],
  ): Histogram<Label> {
    return new Histogram({ name: PREFIX + name, help, labelNames, buckets, registers: [this.#registry] });
  }

  /** `collect` sets the value each time that the metrics are requested. */
  gauge(name: string, help: string, labelNames: string[], collect?: (gauge: Gauge) => Promise<void>): Gauge {
    return new Gauge({
      name: PREFIX + name,
      help,
      labelNames,
      registers: [this.#registry],
      ...(collect && {
        collect() {
          return collect(this);
        },
      }),
    });
  }

  /** All metrics in the text format of Prometheus. */
  text(): Promise<string> {
    return this.#registry.metrics();
  }
}

/** Never negative, even if the clock of the machine was set back. */
export function seconds(durationMs: number): number {
  return Math.max(durationMs, 0) / 1000;
}
