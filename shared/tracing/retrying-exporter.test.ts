import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Logger } from '../runtime/logger.js';
import { manualRuntime } from '../runtime/manual-runtime.js';
import { RetryingExporter } from './retrying-exporter.js';

const FIVE_SPANS = Array.from({ length: 5 }, () => ({}) as ReadableSpan);
const MINUTE_MS = 60_000;

let logged: { readonly level: string; readonly dropped?: number }[];
let isAway: boolean;
let tries: number;
let nowMs: number;
let exporter: RetryingExporter;
beforeEach(() => {
  logged = [];
  isAway = true;
  tries = 0;
  nowMs = 0;
  const collector: SpanExporter = {
    export: (_, done) => {
      tries++;
      done(isAway ? { code: 1, error: new Error('connection refused') } : { code: 0 });
    },
    shutdown: () => Promise.resolve(),
  };
  const runtime = { ...manualRuntime(), clock: { nowMs: () => nowMs, monotonicMs: () => nowMs } };
  const log = {
    warn: (fields: object) => logged.push({ level: 'warn', ...fields }),
    info: (fields: object) => logged.push({ level: 'info', ...fields }),
  } as unknown as Logger;
  exporter = new RetryingExporter(collector, 'http://127.0.0.1:4318', runtime, log);
});

function deliver(): number | undefined {
  let code: number | undefined;
  exporter.export(FIVE_SPANS, (result) => {
    code = result.code;
  });
  return code;
}

describe('an unreachable collector', () => {
  it('causes one warning, and retries at growing intervals', () => {
    for (; nowMs < 60 * MINUTE_MS; nowMs += 2000) expect(deliver()).toBe(0);
    expect(logged).toEqual([
      { level: 'warn', endpoint: 'http://127.0.0.1:4318', reason: 'connection refused' },
    ]);
    // Every five minutes at most, once it has been away for long.
    expect(tries).toBeGreaterThan(10);
    expect(tries).toBeLessThan(35);
  });

  it('causes a message about lost spans when it is back, and another warning the next time', () => {
    deliver();
    deliver();
    isAway = false;
    nowMs += MINUTE_MS;
    deliver();
    deliver();
    expect(tries).toBe(3);
    expect(logged[1]).toEqual({ level: 'info', endpoint: 'http://127.0.0.1:4318', dropped: 10 });
    isAway = true;
    deliver();
    expect(logged.map(({ level }) => level)).toEqual(['warn', 'info', 'warn']);
  });
});
