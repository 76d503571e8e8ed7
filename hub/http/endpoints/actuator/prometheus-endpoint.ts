/** Metrics of the hub in the text format of Prometheus. */
import { z } from 'zod';
import { type Endpoint, endpoint } from '../../routing/endpoint.js';

export interface MetricsText {
  readonly contentType: string;
  text(): Promise<string>;
}

export function prometheusEndpoint(metrics: MetricsText): Endpoint {
  return endpoint(
    {
      method: 'get',
      path: '/actuator/prometheus',
      tag: 'Service',
      operationId: 'getMetrics',
      summary: 'Metrics of the hub for Prometheus',
      description:
        'In the text format 0.0.4. Metrics of the hub begin with `workbench_hub_`; the others are those of any Node.js ' +
        'process. A scraper needs a personal access token with the role METRICS.',
      responses: {
        200: { description: 'The metrics.', schema: z.string(), contentType: 'text/plain' },
      },
    },
    async ({ context }) => context.body(await metrics.text(), 200, { 'content-type': metrics.contentType }),
  );
}
