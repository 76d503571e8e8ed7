/** Traces across real hub and agent processes, as a collector receives them. */
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.js';
import { base64, restClient } from '../support/interface/rest-client.js';
import {
  endPrograms,
  type HubProgram,
  type Program,
  startAgent,
  startHub,
} from '../support/programs/programs.js';
import {
  type CollectedSpan,
  startTraceCollector,
  type TraceCollector,
} from '../support/programs/trace-collector.js';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.js';

const TRACE_ID = '4bf92f3577b34da6a3ce929d0e0e4736';
const CLIENT_SPAN_ID = '00f067aa0ba902b7';
const CREATE = '/api/2.0/workbench/task/execute-batch-job/create';

let folder: TemporaryFolder;
let collector: TraceCollector;
beforeEach(async () => {
  folder = await temporaryFolder();
  collector = await startTraceCollector();
});
afterEach(async () => {
  await endPrograms();
  await collector.close();
  await folder.remove();
});

const joinAgent = (hub: HubProgram, tracing: Record<string, unknown>): Program =>
  startAgent(folder.path, hub, 'host', { instances: [{ id: 'sim', version: '9.1.0' }], tracing });

/** Creates a batch job as part of a trace of the client, sampled or not; resolves with the task's id. */
async function create(hub: HubProgram, script: string, flags = '01'): Promise<string> {
  const response = await fetch(hub.baseUrl + CREATE, {
    method: 'POST',
    headers: { traceparent: `00-${TRACE_ID}-${CLIENT_SPAN_ID}-${flags}` },
    body: JSON.stringify({
      inputModel: { type: 'WBPZ', content: base64('the model') },
      inputScripts: [{ content: base64(script) }],
    }),
  });
  expect(response.status).toBe(201);
  return ((await response.json()) as { id: string }).id;
}

const spansOf = (name: string) => collector.spans.filter((span) => span.name === name);
const onlySpan = (name: string): Promise<CollectedSpan> => eventually(() => spansOf(name)[0]);

const WRITES = `require('node:fs').writeFileSync('result.txt', 'done');`;

describe('a batch job with exported traces', () => {
  it('is one trace, begun by the client, with every span under its parent', async () => {
    const tracing = { endpoint: collector.endpoint, headers: { 'x-collector': 'let-me-in' } };
    const hub = await startHub(folder.path, { tracing });
    joinAgent(hub, tracing);
    const taskId = await create(hub, WRITES);
    expect((await restClient(hub.baseUrl).batchJobResult(taskId)).status).toBe('FINISHED');

    const request = await onlySpan(`POST ${CREATE}`);
    const wait = await onlySpan('queue wait');
    const attempt = await onlySpan('attempt');
    const steps: CollectedSpan[] = [];
    for (const name of ['staging', 'run', 'collect', 'upload']) steps.push(await onlySpan(name));

    expect(request).toMatchObject({
      service: 'workbench-hub',
      parentSpanId: CLIENT_SPAN_ID,
      attributes: { 'http.request.method': 'POST', 'http.route': CREATE, 'http.response.status_code': 201 },
    });
    expect(wait).toMatchObject({ service: 'workbench-hub', parentSpanId: request.spanId });
    expect(attempt).toMatchObject({
      service: 'workbench-hub',
      parentSpanId: request.spanId,
      attributes: {
        'workbench.task.id': taskId,
        'workbench.attempt': 1,
        'workbench.instance.id': 'sim',
        'workbench.agent.id': 'host',
        'workbench.outcome': 'FINISHED',
      },
    });
    expect(wait.endedAtMs).toBe(attempt.beganAtMs);
    for (const step of steps) {
      expect(step, step.name).toMatchObject({ service: 'workbench-agent', parentSpanId: attempt.spanId });
    }
    for (const span of [request, wait, attempt, ...steps]) {
      expect(span, span.name).toMatchObject({ traceId: TRACE_ID, failed: false });
      expect(span.endedAtMs, span.name).toBeGreaterThanOrEqual(span.beganAtMs);
    }
    for (const { 'x-collector': sent } of collector.headers) expect(sent).toBe('let-me-in');
  });

  it('stays one trace when the hub is killed before dispatch', async () => {
    const tracing = { endpoint: collector.endpoint };
    const before = await startHub(folder.path, { tracing });
    const taskId = await create(before, WRITES);
    const request = await onlySpan(`POST ${CREATE}`);
    await before.kill();

    const after = await startHub(folder.path, { tracing });
    const agent = joinAgent(after, tracing);
    await restClient(after.baseUrl).batchJobResult(taskId);
    expect(await onlySpan('queue wait')).toMatchObject({ traceId: TRACE_ID, parentSpanId: request.spanId });
    const attempt = await onlySpan('attempt');
    expect(attempt).toMatchObject({ traceId: TRACE_ID, parentSpanId: request.spanId });
    expect(await agent.stop()).toBe(0);
    for (const name of ['staging', 'run', 'collect', 'upload']) {
      expect(spansOf(name), name).toMatchObject([{ traceId: TRACE_ID, parentSpanId: attempt.spanId }]);
    }
  });

  it('stays one trace when the hub is killed while the task runs', async () => {
    const tracing = { endpoint: collector.endpoint };
    const before = await startHub(folder.path, { tracing });
    joinAgent(before, tracing);
    const started = join(folder.path, 'started');
    const taskId = await create(
      before,
      `const fs = require('node:fs');
       fs.writeFileSync(${JSON.stringify(started)}, '');
       while (fs.existsSync(${JSON.stringify(started)})) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
       ${WRITES}`,
    );
    await eventually(() => existsSync(started));
    const request = await onlySpan(`POST ${CREATE}`);
    await onlySpan('queue wait');
    await before.kill();

    const after = await startHub(folder.path, { tracing }, Number(new URL(before.baseUrl).port));
    rmSync(started);
    expect((await restClient(after.baseUrl).batchJobResult(taskId)).status).toBe('FINISHED');
    const attempt = await onlySpan('attempt');
    expect(attempt).toMatchObject({ parentSpanId: request.spanId, attributes: { 'workbench.attempt': 1 } });
    for (const name of ['staging', 'run', 'collect', 'upload']) {
      expect(await onlySpan(name)).toMatchObject({ traceId: TRACE_ID, parentSpanId: attempt.spanId });
    }
  });

  it('shows where it failed, and is exported when hub and agent stop', async () => {
    const tracing = { endpoint: collector.endpoint };
    const hub = await startHub(folder.path, { tracing });
    const agent = joinAgent(hub, tracing);
    await restClient(hub.baseUrl).batchJobResult(await create(hub, 'throw new Error("no");'));
    expect(await agent.stop()).toBe(0);
    expect(await hub.stop()).toBe(0);
    expect(spansOf('run')).toMatchObject([{ failed: true }]);
    expect(spansOf('collect')).toMatchObject([{ failed: false }]);
    expect(spansOf('attempt')).toMatchObject([
      { failed: true, attributes: { 'workbench.outcome': 'FAILED' } },
    ]);
  });
});

it('a trace that the client does not sample is not exported', async () => {
  const tracing = { endpoint: collector.endpoint };
  const hub = await startHub(folder.path, { tracing });
  const agent = joinAgent(hub, tracing);
  await restClient(hub.baseUrl).batchJobResult(await create(hub, WRITES, '00'));
  await agent.stop();
  await hub.stop();
  expect(collector.spans.filter(({ traceId }) => traceId === TRACE_ID)).toEqual([]);
});

it('nothing is exported with a ratio of 0, except traces that a client samples', async () => {
  const tracing = { endpoint: collector.endpoint, sampleRatio: 0 };
  const hub = await startHub(folder.path, { tracing });
  const agent = joinAgent(hub, tracing);
  const client = restClient(hub.baseUrl);
  await client.batchJobResult(await client.createBatchJob({ inputScripts: [{ content: base64(WRITES) }] }));
  await client.batchJobResult(await create(hub, WRITES));
  await agent.stop();
  await hub.stop();
  expect(new Set(collector.spans.map(({ traceId }) => traceId))).toEqual(new Set([TRACE_ID]));
  expect(new Set(collector.spans.map(({ service }) => service))).toEqual(new Set(['workbench-hub']));
});

it('an unreachable collector causes one warning, and delays neither tasks nor the stop', async () => {
  const { endpoint } = collector;
  await collector.close();
  const tracing = { endpoint };
  const hub = await startHub(folder.path, { tracing });
  const agent = joinAgent(hub, tracing);
  const client = restClient(hub.baseUrl);
  const isWarning = ({ msg }: { msg?: string }) => msg?.startsWith('traces cannot be delivered') === true;
  expect((await client.batchJobResult(await create(hub, WRITES))).status).toBe('FINISHED');
  await Promise.all([hub.logged(isWarning), agent.logged(isWarning)]);
  expect((await client.batchJobResult(await create(hub, WRITES))).status).toBe('FINISHED');
  const stopBeganMs = performance.now();
  expect(await agent.stop()).toBe(0);
  expect(await hub.stop()).toBe(0);
  expect(performance.now() - stopBeganMs).toBeLessThan(10_000);
  for (const { lines } of [hub, agent]) expect(lines.filter(isWarning)).toHaveLength(1);
  collector = await startTraceCollector();
});
