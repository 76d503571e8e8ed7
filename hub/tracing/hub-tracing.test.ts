import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import { expect, it } from 'vitest';
import { hubTracing } from './hub-tracing.js';

const log = { warn: () => undefined, info: () => undefined } as unknown as Logger;
const tracingTo = (endpoint: string, sampleRatio: number) =>
  hubTracing({
    config: { endpoint, sampleRatio, headers: {} },
    version: '1.0.0',
    runtime: systemRuntime,
    log,
  });

it('a collector that never responds delays the end by two seconds', async () => {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const tracing = tracingTo(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, 1);
  tracing.request('GET /x', null, {}).end('OK', {});
  const asked = once(server, 'request');
  const beganMs = performance.now();
  const closed = tracing.close();
  await asked;
  await closed;
  expect(performance.now() - beganMs).toBeGreaterThan(1900);
  expect(performance.now() - beganMs).toBeLessThan(4000);
  server.closeAllConnections();
  server.close();
});

it('traces that begin here are sampled by the ratio, each as a whole', async () => {
  const tracing = tracingTo('http://127.0.0.1:9', 0.25);
  const contexts = Array.from({ length: 4000 }, () => tracing.request('GET /x', null, {}).context);
  const kept = contexts.filter((context) => context !== null);
  expect(kept.length).toBeGreaterThan(800);
  expect(kept.length).toBeLessThan(1200);
  for (const context of kept) {
    expect(tracing.contextOf(context, 'attempt')).toMatch(
      new RegExp(`^${context.slice(0, 35)}-[0-9a-f]{16}-01$`),
    );
  }
  await tracing.close();
});

it('a malformed trace context begins a new trace', async () => {
  const tracing = tracingTo('http://127.0.0.1:9', 1);
  for (const given of ['', 'nonsense', `00-${'0'.repeat(32)}-${'1'.repeat(16)}-01`, 'x'.repeat(10_000)]) {
    expect(tracing.request('GET /x', given, {}).context).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/);
  }
  await tracing.close();
});
