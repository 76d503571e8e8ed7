/** `startedDatetime` of an instance: the time at which its process became ready (contract 6.1). Agents report ages, which arrive
 *  late; the start of a process is constant nevertheless. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { FakeAgent, instanceReportOf } from '../support/agents/fake-agent.js';
import { HandDrivenRuntime } from '../support/engine/hand-driven-runtime.js';
import { eventually } from '../support/eventually.js';
import { type RunningHub, startHub } from '../support/hubs/running-hub.js';
import { Api } from '../support/interface/api.js';

let runtime: HandDrivenRuntime;
let hub: RunningHub;
let api: Api;
let agent: FakeAgent;
beforeEach(async () => {
  runtime = new HandDrivenRuntime();
  hub = await startHub({ runtime });
  api = new Api(hub);
  agent = await FakeAgent.join(hub, { instances: [{ id: 'sim-1', upForMs: 1000 }] });
});
afterEach(async () => {
  await agent.leave();
  await hub.stop();
});

const shown = async () => (await api.get('/api/2.0/workbench/node/instance/sim-1')).body;

/** Sends this report of the instance; resolves with the start that the hub then shows. */
async function say(status: 'UP' | 'STOPPING' | 'DOWN', upForMs: number | null): Promise<unknown> {
  agent.say({ type: 'instance', instance: instanceReportOf({ id: 'sim-1', status, upForMs }) });
  return eventually(async () => {
    const body = await shown();
    return body['status'] === status && { start: body['startedDatetime'] };
  }).then(({ start }) => start);
}

it('the start time of an instance is constant for a process, whatever the delay of messages', async () => {
  const start = (await shown())['startedDatetime'];
  runtime.skip(5000);
  expect(await say('STOPPING', 5990)).toBe(start);
  runtime.skip(5000);
  expect(await say('UP', 7000)).toBe(start);
});

it('the start time of an instance changes with its process, even at once', async () => {
  const start = (await shown())['startedDatetime'];
  runtime.skip(10);
  expect(await say('DOWN', null)).toBeUndefined();
  expect(String(await say('UP', 0)) > String(start)).toBe(true);
});

it('the start time of an instance is constant when the agent rejoins with the same process', async () => {
  const start = (await shown())['startedDatetime'];
  await agent.leave();
  runtime.skip(5000);
  agent = await FakeAgent.join(hub, { instances: [{ id: 'sim-1', upForMs: 5800 }] });
  expect((await shown())['startedDatetime']).toBe(start);
});

it('the start time of an instance changes when the agent rejoins with another process', async () => {
  const start = (await shown())['startedDatetime'];
  await agent.leave();
  runtime.skip(5000);
  agent = await FakeAgent.join(hub, { instances: [{ id: 'sim-1', upForMs: 3000 }] });
  expect(String((await shown())['startedDatetime']) > String(start)).toBe(true);
});
