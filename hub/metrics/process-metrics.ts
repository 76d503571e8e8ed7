/** The usual metrics of a Node.js process: CPU, memory, garbage collection, and the delay of the event loop
 *  (`nodejs_eventloop_lag_p99_seconds`, since the last request of the metrics). */
import { collectDefaultMetrics, Registry } from 'prom-client';

let registry: Registry | undefined;

/** Gauges whose names are those of counters. The gauges by type say the same. */
const MISNAMED = ['handles', 'requests', 'resources'].map((name) => `nodejs_active_${name}_total`);

/** One registry for the process, which may run several hubs. */
export function processMetrics(): Registry {
  if (registry) return registry;
  registry = new Registry();
  collectDefaultMetrics({ register: registry });
  for (const name of MISNAMED) registry.removeSingleMetric(name);
  return registry;
}
