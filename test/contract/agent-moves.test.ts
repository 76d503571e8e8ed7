/** Agents of a hub that is one of several: what they are told, and how they leave for another one. */
import type { AttemptRef } from '@workbench-hub/shared/domain/task';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FakeAgent, type FakeAgentSetup } from '../support/agents/fake-agent.js';
import { eventually } from '../support/eventually.js';
import { type RunningHub, startHub } from '../support/hubs/running-hub.js';
import { Api } from '../support/interface/api.js';

/** Time that a hub which stops gives its agents to move. */
const MOVE_LIMIT_MS = 3000;

let hub: RunningHub;
let others: string[];
const agents: FakeAgent[] = [];

beforeEach(async () => {
  others = ['ws://hub-2:8080', 'ws://hub-3:8080'];
  hub = await startHub({ otherHubs: () => others });
});
afterEach(async () => {
  agents.length = 0;
  await hub.stop();
});

async function join(setup: FakeAgentSetup = {}, at = hub): Promise<FakeAgent> {
  const agent = await FakeAgent.connect(at, { takes: ['hubs', 'move'], ...setup });
  agents.push(agent);
  return agent;
}

async function runningTask(agent: FakeAgent): Promise<AttemptRef> {
  const { status } = await new Api(hub).post('/api/2.0/workbench/task/simulate-work/create', {
    duration: 60,
  });
  expect(status).toBe(201);
  return (await agent.hear('assign')).ref;
}

describe('the addresses of the other hubs', () => {
  it('are part of the welcome', async () => {
    const agent = await join();
    expect((await agent.hear('welcome')).hubs).toEqual(others);
  });

  it('are left out by a hub that is alone', async () => {
    others = [];
    const agent = await join();
    expect(await agent.hear('welcome')).not.toHaveProperty('hubs');
  });

  it('are told again when they have changed, to agents that take them', async () => {
    const agent = await join();
    const old = await join({ id: 'old', instances: [{ id: 'sim-old' }], takes: [] });
    await Promise.all([agent.hear('welcome'), old.hear('welcome')]);
    others = ['ws://hub-3:8080'];
    expect((await agent.hear('hubs', ({ hubs }) => hubs.length === 1)).hubs).toEqual(others);
    others = [];
    expect((await agent.hear('hubs', ({ hubs }) => hubs.length === 0)).hubs).toEqual([]);
    expect(old.heard.map(({ type }) => type)).toEqual(['welcome']);
  });

  it('are 100 at most', async () => {
    others = Array.from({ length: 150 }, (_, number) => `ws://hub-${number}:8080`);
    const agent = await join();
    expect((await agent.hear('welcome')).hubs).toEqual(others.slice(0, 100));
  });
});

describe('an agent that leaves for another hub', () => {
  it('gets no more tasks, and keeps its attempts', async () => {
    const agent = await join({ instances: [{ id: 'sim-1' }, { id: 'sim-2' }] });
    const ref = await runningTask(agent);
    agent.say({ type: 'leaving' });
    const api = new Api(hub);
    const { body } = await api.post('/api/2.0/workbench/task/simulate-work/create', { duration: 60 });
    expect(await agent.closed()).toBe('it joins another hub');
    expect(agent.heard.filter(({ type }) => type === 'assign')).toHaveLength(1);
    const again = await join({ instances: [{ id: 'sim-1' }, { id: 'sim-2' }], running: [ref] });
    expect((await again.hear('assign')).ref).toMatchObject({ taskId: (body as { id: string }).id });
    expect(await again.end(ref, 'OK')).toBe(true);
    expect(again.heard.map(({ type }) => type)).not.toContain('cancel');
  });

  it('gets the acknowledgements of its reports first', async () => {
    const agent = await join();
    const ref = await runningTask(agent);
    agent.queue({
      type: 'report',
      report: { ...ref, outcome: 'OK', message: null, outputFiles: [], log: null },
    });
    agent.say({ type: 'leaving' });
    await agent.closed();
    expect(agent.heard.find(({ type }) => type === 'acknowledged')).toMatchObject({ ref, counted: true });
  });

  it('is shown DOWN until it has joined again', async () => {
    const agent = await join();
    await agent.hear('welcome');
    agent.say({ type: 'leaving' });
    const status = async () => {
      const { body } = await new Api(hub).get(`/api/2.0/workbench/node/agent/${agent.id}`);
      return (body as { status: string }).status;
    };
    await eventually(async () => (await status()) === 'DOWN');
    await agent.closed();
    await join();
    await eventually(async () => (await status()) === 'UP');
  });
});

describe('a hub that stops', () => {
  it('asks the agents to move, and waits for them', async () => {
    const agent = await join();
    await agent.hear('welcome');
    const beganMs = performance.now();
    const stopped = hub.stop();
    expect(await agent.hear('move')).toEqual({ type: 'move', reason: 'the hub stops' });
    agent.say({ type: 'leaving' });
    expect(await agent.closed()).toBe('it joins another hub');
    await stopped;
    expect(performance.now() - beganMs).toBeLessThan(MOVE_LIMIT_MS);
  });

  it('lets no agent join meanwhile, and is not ready', async () => {
    const agent = await join();
    await agent.hear('welcome');
    const stopped = hub.stop();
    await agent.hear('move');
    await expect(FakeAgent.connect(hub, { id: 'late' })).rejects.toMatchObject({ status: 503 });
    expect((await fetch(`${hub.address}/readyz`)).status).toBe(503);
    agent.say({ type: 'leaving' });
    await stopped;
  });

  it('closes the connections of agents that stay', async () => {
    const agent = await join();
    await agent.hear('welcome');
    const stopped = hub.stop();
    await agent.hear('move');
    expect(await agent.closed()).toBe('the hub stops');
    await stopped;
  });

  it.each([
    ['agents of an earlier version', () => others, []],
    ['agents while it is alone', () => [], ['hubs', 'move']],
  ])('does not wait for %s', async (_, hubs, takes) => {
    others = hubs();
    const agent = await join({ takes });
    await agent.hear('welcome');
    const beganMs = performance.now();
    await hub.stop();
    expect(await agent.closed()).toBe('the hub stops');
    expect(performance.now() - beganMs).toBeLessThan(MOVE_LIMIT_MS);
    expect(agent.heard.map(({ type }) => type)).not.toContain('move');
  });
});
