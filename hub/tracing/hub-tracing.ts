/** Traces of the hub, delivered to a collector. */
import { SpanDelivery, type SpanDeliveryOptions } from '@workbench-hub/shared/tracing/span-delivery';
import type { Tracing } from '../core/ports/tracing.js';

export interface HubTracing extends Tracing {
  /** Delivers pending spans; resolves after two seconds at the latest. */
  close(): Promise<void>;
}

/** A trace that a client has begun is kept if the client keeps it; the others are sampled as configured. */
export function hubTracing(
  options: Omit<SpanDeliveryOptions, 'resource' | 'followsOthers'> & { readonly version: string },
): HubTracing {
  const delivery = new SpanDelivery({
    ...options,
    resource: { 'service.name': 'workbench-hub', 'service.version': options.version },
    followsOthers: true,
  });
  return {
    request: (name, given, attributes) =>
      delivery.begin({ name, kind: 'REQUEST', parent: given, isParentForeign: true, attributes }),
    contextOf: (parent, key) => delivery.contextOf(parent, key),
    past: ({ name, parent, key, beganAtMs, endedAtMs, outcome, attributes }) =>
      delivery
        .begin({ name, kind: 'WORK', parent, isParentForeign: false, key, beganAtMs, attributes })
        // Never before its beginning, even if the clock was set back.
        .end(outcome, {}, Math.max(beganAtMs, endedAtMs)),
    close: () => delivery.close(),
  };
}
