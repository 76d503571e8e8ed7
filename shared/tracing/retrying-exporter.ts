/** Delivers spans to a collector that may be unreachable: one warning, then growing backoff, in which spans are dropped. */
import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace';
import { type BackOff, backOff } from '../runtime/back-off.js';
import type { Logger } from '../runtime/logger.js';
import type { Runtime } from '../runtime/runtime.js';

const FIRST_PAUSE_MS = 5000;
const LONGEST_PAUSE_MS = 5 * 60_000;

/** Success code of OpenTelemetry's exporters. */
const SUCCESS = 0;

export class RetryingExporter implements SpanExporter {
  readonly #inner: SpanExporter;
  readonly #endpoint: string;
  readonly #runtime: Runtime;
  readonly #log: Logger;
  readonly #pauses: BackOff;
  #nextTryMs = 0;
  #isAway = false;
  #dropped = 0;

  constructor(inner: SpanExporter, endpoint: string, runtime: Runtime, log: Logger) {
    this.#inner = inner;
    this.#endpoint = endpoint;
    this.#runtime = runtime;
    this.#log = log;
    this.#pauses = backOff(FIRST_PAUSE_MS, LONGEST_PAUSE_MS, runtime.random);
  }

  /** Always reports success: callers cannot handle a failure. */
  export(spans: ReadableSpan[], done: Parameters<SpanExporter['export']>[1]): void {
    if (this.#isAway && this.#runtime.clock.monotonicMs() < this.#nextTryMs) {
      this.#dropped += spans.length;
      done({ code: SUCCESS });
      return;
    }
    this.#inner.export(spans, ({ code, error }) => {
      if (code === SUCCESS) this.#delivered();
      else this.#failed(spans.length, error);
      done({ code: SUCCESS });
    });
  }

  shutdown(): Promise<void> {
    return this.#inner.shutdown();
  }

  #delivered(): void {
    if (!this.#isAway) return;
    this.#log.info({ endpoint: this.#endpoint, dropped: this.#dropped }, 'traces are delivered again');
    this.#isAway = false;
    this.#dropped = 0;
    this.#pauses.reset();
  }

  #failed(spans: number, error: Error | undefined): void {
    this.#dropped += spans;
    this.#nextTryMs = this.#runtime.clock.monotonicMs() + this.#pauses.nextMs();
    if (this.#isAway) return;
    this.#isAway = true;
    this.#log.warn(
      { endpoint: this.#endpoint, reason: error?.message },
      'traces cannot be delivered and are dropped until they can; nothing else is held up',
    );
  }
}
