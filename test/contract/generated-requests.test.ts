/** Thousands of generated requests to every endpoint of a hub with an agent: none ends in a 500 or hangs, and every response
 *  agrees with openapi.json. The requests are determined by a seed; a failure prints the seed and the path to the smallest
 *  request. `WORKBENCH_TEST_SEED` and `WORKBENCH_TEST_RUNS` choose others. */
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FakeAgent } from '../support/agents/fake-agent.js';
import { api, hub, hubForAllTests } from '../support/hubs/hub-for-tests.js';
import { countAnswer } from '../support/interface/exercised.js';
import {
  type GeneratedRequest,
  type KnownIds,
  requestFor,
  requestForAnything,
} from '../support/interface/generated-requests.js';
import { openApiCheck } from '../support/interface/openapi-check.js';
import { type Operation, operationsIn } from '../support/interface/openapi-operations.js';
import { rawSender } from '../support/interface/raw-request.js';

const seed = Number(process.env['WORKBENCH_TEST_SEED'] ?? 20261121);
const numRuns = Number(process.env['WORKBENCH_TEST_RUNS'] ?? 40);

const NOWHERE = { classifiers: [{ type: 'VERSION', value: 'none' }] };

// The agent shares the process with the requests, so it may be silent for long on a busy machine.
hubForAllTests({ config: { agents: { unreachableAfter: '10m' } } });

let agent: FakeAgent;
let sender: ReturnType<typeof rawSender>;
let ids: KnownIds;
let operations: Operation[];
let hold: (request: GeneratedRequest) => Promise<void>;
beforeAll(async () => {
  sender = rawSender(hub.address);
  const away = await FakeAgent.join(hub, { id: 'away', instances: [{ id: 'sim-away' }] });
  await away.leave();
  agent = await FakeAgent.join(hub, { onHeard: answer });
  const ended = await Promise.all(
    Array.from({ length: 20 }, (_, at) => (at % 2 === 0 ? api.simulateWork() : api.batchJob())),
  );
  for (const id of ended)
    await api.get(`/api/2.0/workbench/task/${await kindOf(id)}/${id}/result?timeout=20`);
  const waiting = await Promise.all(Array.from({ length: 10 }, () => api.simulateWork(NOWHERE)));
  ids = { ended, waiting, instances: ['sim-1', 'sim-away'], agents: ['agent-1', 'away'] };
  hold = await holder();
  // Last, since they cancel and delete tasks that other requests need.
  const isBulk = ({ operationId }: Operation) => ['cancelTasks', 'deleteTasks'].includes(operationId);
  const all = operationsIn(await api.document());
  operations = [...all.filter((each) => !isBulk(each)), ...all.filter(isBulk)];
});
afterAll(async () => {
  sender.close();
  await agent.leave();
});

/** The agent carries out each message at once. */
function answer(this: FakeAgent, message: FakeAgent['heard'][number]): void {
  if (message.type === 'assign') this.report(message.ref, 'OK');
  if (message.type === 'request')
    this.say({ type: 'reply', requestId: message.requestId, error: null, text: null });
}

async function kindOf(id: string): Promise<string> {
  return (await api.task(id))['type'] === 'SIMULATE_WORK' ? 'simulate-work' : 'execute-batch-job';
}

/** Sends a request; fails when the hub may not respond in this way. */
async function holder(): Promise<typeof hold> {
  const document = await api.document();
  const check = openApiCheck(document);
  return async (request) => {
    const { status, headers, text } = await sender.send(request);
    const { method } = request;
    const path = request.target.split('?')[0] ?? '';
    expect(status, text).not.toBe(500);
    expect(status, text).toBeLessThan(505);
    if (method === 'HEAD') {
      expect(text).toBe('');
      return;
    }
    countAnswer(document, { method, path, status });
    check({ method, path, status, contentType: headers['content-type']?.toString() ?? null, text });
    // Agents have a protocol of their own, which speaks plain text.
    if (status < 400 || status === 503 || path.startsWith('/agent/')) return;
    expect(JSON.parse(text)).toEqual({
      timestamp: expect.any(String),
      status,
      error: expect.stringMatching(/./),
      message: expect.stringMatching(/./),
      path: expect.any(String),
    });
  };
}

describe(`generated requests (seed ${seed})`, () => {
  it('for every endpoint are all answered as the document describes', async () => {
    for (const operation of operations) {
      const property = fc.asyncProperty(requestFor(operation, ids), hold);
      await fc.assert(property, { seed, numRuns });
    }
    expect(operations.length).toBeGreaterThan(50);
  });

  it('for arbitrary paths are all answered', async () => {
    await fc.assert(fc.asyncProperty(requestForAnything(), hold), { seed, numRuns: numRuns * 10 });
  });

  it('leave the hub healthy, with nothing unexpected in its log', async () => {
    expect((await api.get('/livez')).status).toBe(200);
    await api.post('/api/2.0/admin/prepare-shutdown/change', { initiated: false });
    const id = await api.batchJob();
    const result = await api.get(`/api/2.0/workbench/task/execute-batch-job/${id}/result?timeout=20`);
    expect(result.body).toMatchObject({ status: 'FINISHED' });
    expect(hub.log.filter(({ level }) => level >= 50)).toEqual([]);
  });
});
