/** What Prometheus clients say of every Node.js process: CPU, memory, garbage collection, and the delay of the event loop
 *  (`nodejs_eventloop_lag_p99_seconds`, of the time since it was asked for last). */
import { collectDefaultMetrics, Registry } from 'prom-client';

let registry: Registry | undefined;

/** One for the process, however many hubs are in it. */
export function processMetrics(): Registry {
  if (registry) return registry;
  registry = new Registry();
  collectDefaultMetrics({ register: registry });
  return registry;
}
