/** Hundreds of agents that rejoin at the same time, after a restart of the hub or of a switch. */
import type { AttemptRef } from '@workbench-hub/shared/domain/task';
import { expect, it, onTestFinished } from 'vitest';
import { FakeAgent, type FakeAgentSetup } from '../support/agents/fake-agent.js';
import { startHub } from '../support/hubs/running-hub.js';
import { Api } from '../support/interface/api.js';
import { temporaryFolder } from '../support/temporary-folder.js';

const AGENTS = 300;

const nodeId = (number: number) => `0c0e5e0e-0000-4000-8000-${String(number).padStart(12, '0')}`;
const each = <T>(make: (number: number) => Promise<T>) =>
  Promise.all(Array.from({ length: AGENTS }, (_, number) => make(number)));

const setupOf = (number: number, rest: FakeAgentSetup = {}): FakeAgentSetup => ({
  id: `host-${number}`,
  nodeId: nodeId(number),
  instances: [{ id: `sim-${number}` }],
  ...rest,
});

it(`${AGENTS} agents that rejoin at once, each twice, continue their attempts`, async () => {
  const folder = await temporaryFolder();
  onTestFinished(() => folder.remove());
  const first = await startHub({ dataDir: folder.path });
  const agents = await each((number) => FakeAgent.join(first, setupOf(number)));
  const api = new Api(first);
  const created = await each(() => api.post('/api/2.0/workbench/task/simulate-work/create', { duration: 1 }));
  expect(new Set(created.map(({ status }) => status))).toEqual(new Set([201]));
  const running = await Promise.all(
    agents.map(async (agent) => (await agent.hear('assign')).ref as AttemptRef),
  );
  expect(new Set(running.map(({ taskId }) => taskId)).size).toBe(AGENTS);
  await first.stop();

  const port = Number(new URL(first.address).port);
  const second = await startHub({ dataDir: folder.path, config: { server: { port } } });
  const join = (number: number) =>
    FakeAgent.connect(second, setupOf(number, { running: [running[number] as AttemptRef] }));
  // Each with a connection that is replaced, since agents do not know which of their tries succeeded.
  const before = await each(join);
  const after = await each(join);
  await Promise.all(after.map((agent) => agent.hear('welcome')));
  expect(await Promise.all(before.map((agent) => agent.closed()))).toEqual(
    Array.from({ length: AGENTS }, () => 'the same agent has reconnected'),
  );
  const ends = await Promise.all(
    after.map((agent, number) => agent.end(running[number] as AttemptRef, 'OK')),
  );
  expect(new Set(ends)).toEqual(new Set([true]));
  for (const { heard } of after) expect(heard.map(({ type }) => type)).not.toContain('cancel');
  for (const { heard } of after) expect(heard.map(({ type }) => type)).not.toContain('assign');

  const { body } = await new Api(second).get('/api/2.0/workbench/task/list?status=FINISHED&size=1');
  expect(body).toMatchObject({ totalElements: AGENTS });
  expect(second.log.filter(({ msg }) => /task requeued|defect/.test(msg))).toEqual([]);
  await Promise.all(after.map((agent) => agent.leave()));
  await second.stop();
});
