/** Traces of the agent, delivered to a collector. */

import { NO_TRACING, type Tracing } from '@workbench-hub/shared/joining/ports/tracing';
import { SpanDelivery, type SpanDeliveryOptions } from '@workbench-hub/shared/tracing/span-delivery';

export interface AgentTracing extends Tracing {
  /** Delivers pending spans within two seconds. */
  close(): Promise<void>;
}

export function agentTracing(
  options: Omit<SpanDeliveryOptions, 'resource' | 'followsOthers'> & {
    readonly version: string;
    readonly agentId: string;
  },
): AgentTracing {
  const delivery = new SpanDelivery({
    ...options,
    resource: {
      'service.name': 'workbench-agent',
      'service.version': options.version,
      'service.instance.id': options.agentId,
    },
    followsOthers: false,
  });
  return {
    begin: (name, parent, attributes) =>
      parent === undefined
        ? NO_TRACING.begin(name, parent, attributes)
        : delivery.begin({ name, kind: 'WORK', parent, isParentForeign: true, attributes }),
    close: () => delivery.close(),
  };
}
