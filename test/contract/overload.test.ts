/** An overloaded hub: it refuses excess requests at once, and serves the others. */
import { type ClientRequest, request } from 'node:http';
import { afterEach, expect, it } from 'vitest';
import { FakeAgent, instanceReportOf } from '../support/agents/fake-agent.js';
import { eventually } from '../support/eventually.js';
import { type RunningHub, startHub } from '../support/hubs/running-hub.js';
import { Api, expectError } from '../support/interface/api.js';

const TASKS = '/api/2.0/workbench/task';
const MIB = 1024 * 1024;

let hub: RunningHub;
afterEach(() => hub.stop());

it('requests beyond limits.openRequests get 503 and Retry-After, while probes, administration and agents continue', async () => {
  hub = await startHub({ config: { limits: { openRequests: 3 } } });
  const api = new Api(hub);
  const id = await api.batchJob();
  const polls = [1, 2, 3].map(() => api.get(`${TASKS}/execute-batch-job/${id}/result?timeout=60`));
  const refused = await eventually(async () => {
    const answer = await api.get(`${TASKS}/list`);
    return answer.status === 503 && answer;
  });
  expectError(refused, 503, `${TASKS}/list`, /3 requests are open \(limits\.openRequests\); try again later/);
  expect(refused.headers.get('retry-after')).toBe('1');
  expect((await api.post(`${TASKS}/simulate-work/create`, { duration: 1 })).status).toBe(503);
  for (const path of [
    ...['/livez', '/readyz', '/actuator/health', '/actuator/prometheus', '/openapi.json'],
    ...['/api/2.0/admin/prepare-shutdown', '/api/2.0/monitoring/server-info'],
  ]) {
    expect((await api.get(path)).status, path).toBe(200);
  }
  const agent = await FakeAgent.join(hub);
  const { ref } = await agent.hear('assign');
  await agent.end(ref, 'OK');
  for (const poll of polls) expect((await poll).body).toMatchObject({ status: 'FINISHED' });
  await eventually(async () => (await api.get(`${TASKS}/list`)).status === 200);
});

it('bodies in memory stay within limits.bodiesInMemory, however slowly they arrive', async () => {
  hub = await startHub({ config: { limits: { bodiesInMemory: MIB } } });
  const api = new Api(hub);
  const path = `${TASKS}/simulate-work/create`;
  const halfOf = (): Promise<{ outgoing: ClientRequest; status: Promise<number> }> =>
    new Promise((resolve) => {
      const outgoing = request(`${hub.address}${path}`, {
        method: 'POST',
        headers: { 'content-length': MIB },
      });
      const status = new Promise<number>((answered) => {
        outgoing.once('error', () => answered(0));
        outgoing.once('response', (response) => answered(response.resume().statusCode ?? 0));
      });
      outgoing.write(Buffer.alloc(MIB * 0.75, ' '), () => resolve({ outgoing, status }));
    });
  const halves = [await halfOf(), await halfOf()];
  const refused = await Promise.race(halves.map(({ status }) => status));
  expect(refused).toBe(503);
  for (const { outgoing } of halves) outgoing.destroy();
  const whole = JSON.stringify({ duration: 1 }).padEnd(0.75 * MIB);
  await eventually(async () => (await api.call('POST', path, { raw: whole })).status === 201);
});

it('an agent that floods the hub is disconnected, with the reason in both logs, while others continue to work', async () => {
  hub = await startHub();
  const flooding = await FakeAgent.join(hub, { instances: [{ id: 'noisy', version: '1' }] });
  const other = await FakeAgent.join(hub, { id: 'agent-2', instances: [{ id: 'quiet', version: '2' }] });
  const report = instanceReportOf({ id: 'noisy', version: '1' });
  for (let at = 0; at < 150_000; at++) flooding.queue({ type: 'instance', instance: report });
  expect(await flooding.closed()).toMatch(/a flood: more than 4000 messages a second/);
  expect(hub.log.find(({ msg }) => msg === 'an agent was cut off')).toMatchObject({
    agentId: 'agent-1',
    fault: 'a flood: more than 4000 messages a second',
  });
  const id = await new Api(hub).batchJob({ classifiers: [{ type: 'VERSION', value: '2' }] });
  const { ref } = await other.hear('assign');
  expect(ref.taskId).toBe(id);
  expect(await other.end(ref, 'OK')).toBe(true);
  await FakeAgent.join(hub, { instances: [{ id: 'noisy', version: '1' }] });
});
