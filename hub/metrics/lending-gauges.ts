/** Gauges of the hubs that this hub joins; none while another hub of the cluster joins them. */
import type { Upstreams, UpstreamView } from '../core/ports/upstreams.js';
import type { HubMetrics } from './hub-metrics.js';

export function observeLending(
  metrics: Pick<HubMetrics, 'observe'>,
  upstreams: Pick<Upstreams, 'own'>,
): void {
  const observe = (name: string, help: string, measure: (view: UpstreamView) => number) =>
    metrics.observe(name, help, 'upstream', () =>
      Object.fromEntries(upstreams.own().map((view) => [view.name, measure(view)])),
    );
  observe('upstream_joined', '1 while this hub has joined the upstream.', ({ joined }) => (joined ? 1 : 0));
  observe(
    'instances_lent',
    'Instances that the upstream may use at present, with those that work for it.',
    ({ instances }) => instances.OFFERED,
  );
  observe('loans', 'Loans whose end the upstream has not acknowledged.', ({ loans }) => loans);
}
