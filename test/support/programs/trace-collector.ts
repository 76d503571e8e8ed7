/** A trace collector that receives the exports of hub and agents by OTLP over HTTP, as JSON. */
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

export interface CollectedSpan {
  /** Name of the program that delivered it. */
  readonly service: string;
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  /** Undefined for the root of a trace. */
  readonly parentSpanId?: string;
  readonly beganAtMs: number;
  readonly endedAtMs: number;
  readonly failed: boolean;
  readonly attributes: Readonly<Record<string, string | number>>;
}

export interface TraceCollector {
  readonly endpoint: string;
  readonly spans: readonly CollectedSpan[];
  /** Headers of the deliveries. */
  readonly headers: readonly IncomingHttpHeaders[];
  close(): Promise<void>;
}

interface Attribute {
  readonly key: string;
  readonly value: { readonly stringValue?: string; readonly intValue?: number | string };
}

interface Delivery {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly Attribute[] };
    readonly scopeSpans: readonly {
      readonly spans: readonly {
        readonly name: string;
        readonly traceId: string;
        readonly spanId: string;
        readonly parentSpanId?: string;
        readonly startTimeUnixNano: string;
        readonly endTimeUnixNano: string;
        readonly status: { readonly code?: number };
        readonly attributes: readonly Attribute[];
      }[];
    }[];
  }[];
}

const ERROR = 2;

/** Listens on `port`; 0 takes any free one. */
export async function startTraceCollector(port = 0): Promise<TraceCollector> {
  const spans: CollectedSpan[] = [];
  const headers: IncomingHttpHeaders[] = [];
  const server = createServer(async (request, response) => {
    if (request.url !== '/v1/traces') return response.writeHead(404).end();
    headers.push(request.headers);
    spans.push(...spansOf(JSON.parse(await text(request)) as Delivery));
    return response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    headers,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

function spansOf({ resourceSpans }: Delivery): CollectedSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }) => {
    const service = String(valuesOf(resource.attributes)['service.name']);
    return scopeSpans.flatMap((scope) =>
      scope.spans.map(({ name, traceId, spanId, parentSpanId, status, attributes, ...times }) => ({
        service,
        name,
        traceId,
        spanId,
        ...(parentSpanId ? { parentSpanId } : {}),
        beganAtMs: Number(times.startTimeUnixNano) / 1e6,
        endedAtMs: Number(times.endTimeUnixNano) / 1e6,
        failed: status.code === ERROR,
        attributes: valuesOf(attributes),
      })),
    );
  });
}

function valuesOf(attributes: readonly Attribute[]): Record<string, string | number> {
  return Object.fromEntries(
    attributes.map(({ key, value: { stringValue, intValue } }) => [key, stringValue ?? Number(intValue)]),
  );
}
