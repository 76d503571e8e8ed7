/** Spans by the packages of OpenTelemetry, delivered by OTLP over HTTP as JSON. Loaded only with `tracing.endpoint`. */
import {
  type Attributes,
  type Context,
  ROOT_CONTEXT,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  RandomIdGenerator,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import type { Logger } from '../runtime/logger.js';
import { pause } from '../runtime/pause.js';
import type { Runtime } from '../runtime/runtime.js';
import type { TracingConfig } from './config.js';
import { RetryingExporter } from './retrying-exporter.js';
import { parseTraceContext, spanIdOf, traceContextOf } from './trace-context.js';

export interface SpanDeliveryOptions {
  readonly config: TracingConfig & { readonly endpoint: string };
  /** Name, version and id of the program. */
  readonly resource: Attributes;
  /** True: a trace begun by another program is sampled if that program samples it. False: by the ratio. */
  readonly followsOthers: boolean;
  readonly runtime: Runtime;
  readonly log: Logger;
}

export interface SpanStart {
  readonly name: string;
  readonly kind: 'REQUEST' | 'WORK';
  /** Null or an invalid span context begins a trace. */
  readonly parent: string | null;
  /** Whether the parent comes from another program. */
  readonly isParentForeign: boolean;
  /** Key for {@link SpanDelivery.contextOf}; by default the span's id is random. */
  readonly key?: string;
  /** Start of the span; by default now. */
  readonly beganAtMs?: number;
  readonly attributes: Attributes;
}

export interface StartedSpan {
  readonly context: string | null;
  end(outcome: 'OK' | 'ERROR', attributes?: Attributes, endedAtMs?: number): void;
}

/** Maximum number of undelivered spans; further ones are dropped. */
const MAX_WAITING = 4096;
const MAX_DELIVERED_AT_ONCE = 512;
const DELIVERY_INTERVAL_MS = 2000;
const DELIVERY_TIMEOUT_MS = 5000;
/** Maximum wait for the last delivery at the end of the program. */
const LAST_DELIVERY_MS = 2000;

export class SpanDelivery {
  readonly #tracer: Tracer;
  readonly #provider: TracerProvider;
  readonly #runtime: Runtime;
  /** Id of the next span, unless it is random. */
  #nextSpanId: string | undefined;

  constructor({ config, resource, followsOthers, runtime, log }: SpanDeliveryOptions) {
    const { endpoint, headers, sampleRatio } = config;
    this.#runtime = runtime;
    const ratio = new TraceIdRatioBasedSampler(sampleRatio);
    const exporter = new OTLPTraceExporter({
      url: `${endpoint.replace(/\/+$/, '')}/v1/traces`,
      headers,
      timeoutMillis: DELIVERY_TIMEOUT_MS,
    });
    const random = new RandomIdGenerator();
    this.#provider = new TracerProvider({
      resource: resourceFromAttributes(resource),
      sampler: new ParentBasedSampler({
        root: ratio,
        remoteParentSampled: followsOthers ? new AlwaysOnSampler() : ratio,
      }),
      idGenerator: {
        generateTraceId: () => random.generateTraceId(),
        generateSpanId: () => this.#nextSpanId ?? random.generateSpanId(),
      },
      spanProcessors: [
        new BatchSpanProcessor({
          exporter: new RetryingExporter(exporter, endpoint, runtime, log),
          maxQueueSize: MAX_WAITING,
          maxExportBatchSize: MAX_DELIVERED_AT_ONCE,
          scheduledDelayMillis: DELIVERY_INTERVAL_MS,
          exportTimeoutMillis: 2 * DELIVERY_TIMEOUT_MS,
        }),
      ],
    });
    this.#tracer = this.#provider.getTracer('workbench-hub');
  }

  begin({ name, kind, parent, isParentForeign, key, beganAtMs, attributes }: SpanStart): StartedSpan {
    const above = parent === null ? undefined : parseTraceContext(parent);
    this.#nextSpanId = above && key !== undefined ? spanIdOf(above.traceId, key) : undefined;
    const span = this.#tracer.startSpan(
      name,
      {
        kind: kind === 'REQUEST' ? SpanKind.SERVER : SpanKind.INTERNAL,
        attributes,
        ...(beganAtMs === undefined ? {} : { startTime: beganAtMs }),
      },
      above ? below({ ...above, isRemote: isParentForeign }) : ROOT_CONTEXT,
    );
    this.#nextSpanId = undefined;
    return {
      context: traceContextOf(span.spanContext()),
      end: (outcome, more, endedAtMs) => {
        if (more) span.setAttributes(more);
        if (outcome === 'ERROR') span.setStatus({ code: SpanStatusCode.ERROR });
        span.end(endedAtMs);
      },
    };
  }

  /** Context of the span with this key in the trace of its parent. */
  contextOf(parent: string, key: string): string {
    const above = parseTraceContext(parent);
    return (above && traceContextOf({ ...above, spanId: spanIdOf(above.traceId, key) })) ?? parent;
  }

  /** Delivers pending spans within {@link LAST_DELIVERY_MS}. */
  async close(): Promise<void> {
    const done = new AbortController();
    const { timers } = this.#runtime;
    const overdue = pause(timers, LAST_DELIVERY_MS, done.signal).catch(() => undefined);
    await Promise.race([this.#provider.shutdown().catch(() => undefined), overdue]);
    done.abort();
  }
}

function below(parent: SpanContext): Context {
  return trace.setSpanContext(ROOT_CONTEXT, parent);
}
