/** Metrics of requests and logins. */
import type { Counter, Histogram } from 'prom-client';
import type { LoginMetrics, RequestMetrics } from '../core/ports/metrics.js';
import { type Meters, seconds } from './meters.js';

const REQUEST_BUCKETS_S = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60];

export function requestMetrics(meters: Meters): RequestMetrics {
  const requests = meters.counter(
    'http_requests_total',
    'Responses by endpoint; route "none" stands for all other paths.',
    ['method', 'route', 'status'],
  );
  const durations = meters.histogram(
    'http_request_duration_seconds',
    'Time from the headers of a request to those of its response, without deferred responses.',
    REQUEST_BUCKETS_S,
    ['method', 'route'],
  );
  return {
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
  };
}

export function loginMetrics(meters: Meters): LoginMetrics {
  const failures = meters.counter(
    'login_failures_total',
    'Failed logins: REFUSED, a wrong name or password; THROTTLED, too many attempts.',
    ['reason'],
  );
  // Counters that alerts watch for an increase exist before their first event; otherwise it would be missed.
  for (const reason of ['REFUSED', 'THROTTLED']) failures.labels(reason).inc(0);
  return { failed: (reason) => failures.labels(reason).inc() };
}
