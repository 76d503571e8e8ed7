/** An agent that says what is false: each message and request that it may send, what it could say in it, and what holds it. The table in
 *  `packages/docs/threat-model.md` has the same rows. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import {
  agentMessage,
  MAX_INSTANCES,
  MAX_OUTPUT_LENGTH,
} from '@workbench-hub/shared/agent-protocol/messages';
import type { AttemptReport } from '@workbench-hub/shared/domain/attempt';
import { type LentRecipe, MAX_LENT_RECIPES } from '@workbench-hub/shared/domain/lent-recipe';
import type { AttemptRef } from '@workbench-hub/shared/domain/task';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { askToEnroll, enrolled, offerCode } from '../support/agents/agent-enrollment.js';
import { FakeAgent, type FakeAgentSetup } from '../support/agents/fake-agent.js';
import { eventually } from '../support/eventually.js';
import { api, hub, hubForEachTest } from '../support/hubs/hub-for-tests.js';

const TASK = '/api/2.0/workbench/task';
const NODE = '/api/2.0/workbench/node';
const HONEST_NODE = '0c0e5e0e-0000-4000-8000-000000000001';
const FALSE_NODE = '0c0e5e0e-0000-4000-8000-00000000000f';
const ON_HONEST = { classifiers: [{ type: 'LABLES', value: 'honest' }] };
const ON_FALSE = { classifiers: [{ type: 'LABLES', value: 'false' }] };
const NOWHERE = { classifiers: [{ type: 'LABLES', value: 'nowhere' }] };
const OWN = { id: 'own', labels: ['false'] };

/** A hub that joins, and answers what agents do not. */
const AS_HUB: FakeAgentSetup = {
  hub: { id: '0190b5a0-0000-7000-8000-00000000000f', baseUrl: null, below: [], bringsHosts: true },
  answers: ['bringHosts'],
};

hubForEachTest({ config: { storage: { output: { enabled: true } } } });

const agents: FakeAgent[] = [];
let honest: FakeAgent;
beforeEach(async () => {
  honest = await join({
    id: 'honest',
    nodeId: HONEST_NODE,
    instances: [{ id: 'sim-1', labels: ['honest'] }],
  });
});
afterEach(async () => {
  for (const agent of agents.splice(0)) await agent.leave();
});

async function connect(setup: FakeAgentSetup = {}, token = hub.token): Promise<FakeAgent> {
  const agent = await FakeAgent.connect(
    { ...hub, token },
    { id: 'false', nodeId: FALSE_NODE, instances: [OWN], ...setup },
  );
  agents.push(agent);
  return agent;
}

async function join(setup: FakeAgentSetup = {}): Promise<FakeAgent> {
  const agent = await connect(setup);
  await agent.hear('welcome');
  return agent;
}

const statusOf = async (id: string) => (await api.task(id))['status'];

/** A task that runs at the honest agent. */
async function foreign(): Promise<AttemptRef> {
  await api.batchJob(ON_HONEST);
  return (await honest.hear('assign')).ref;
}

/** A task that runs at the false agent. */
async function assigned(agent: FakeAgent): Promise<AttemptRef> {
  await api.batchJob(ON_FALSE);
  return (await agent.hear('assign')).ref;
}

/** The task still runs at the honest agent, whose report counts. */
async function expectUntouched(ref: AttemptRef): Promise<void> {
  expect(await api.task(ref.taskId)).toMatchObject({ status: 'RUNNING' });
  expect(await honest.end(ref, 'OK')).toBe(true);
}

async function expectWaiting(id: string): Promise<void> {
  expect((await api.task(id))['status']).toBe('WAITING');
  expect((await api.get(`/api/x/tasks/${id}`)).body).toMatchObject({ attempts: [] });
}

/** Resolves when the hub has processed all that the agent has said. */
async function processed(agent: FakeAgent): Promise<void> {
  const unknown = { taskId: '019c0000-0000-7000-8000-00000000000f', attempt: 1, instanceId: 'own' };
  agent.report(unknown, 'OK');
  await agent.hear('acknowledged', ({ ref }) => ref.taskId === unknown.taskId);
}

/** The agent is cut off for this, and the tasks of the other one are as before. */
async function expectViolation(agent: FakeAgent, reason: RegExp): Promise<void> {
  expect(await agent.closed()).toMatch(reason);
}

const digestOf = (text: string) => createHash('sha256').update(text).digest('hex');

/** Makes the false agent report its task so; it is cut off, and the task has not ended. */
async function expectRefusedReport(
  report: (agent: FakeAgent) => Promise<Partial<AttemptReport>>,
  reason: RegExp,
): Promise<void> {
  const agent = await join();
  const ref = await assigned(agent);
  agent.report(ref, 'OK', await report(agent));
  await expectViolation(agent, reason);
  expect(await statusOf(ref.taskId)).toBe('RUNNING');
}

/** By message or request, by what is false in it. */
const LIES: Record<string, Record<string, () => Promise<void>>> = {
  hello: {
    'the id of an agent with a credential': async () => {
      await enrolled(hub, 'other');
      const agent = await connect({ id: 'other' });
      expect((await agent.hear('refused')).code).toBe('AGENT_ID_NOT_PROVEN');
    },
    'another id than that of its credential': async () => {
      const agent = await connect({ id: 'other' }, await enrolled(hub, 'false'));
      expect((await agent.hear('refused')).code).toBe('AGENT_ID_NOT_PROVEN');
    },
    'the id of a connected agent': async () => {
      const ref = await foreign();
      const agent = await connect({ id: 'honest', running: [ref] });
      expect((await agent.hear('refused')).code).toBe('AGENT_ID_TAKEN');
      await expectUntouched(ref);
    },
    'an instance of a connected agent': async () => {
      const ref = await foreign();
      const agent = await connect({ instances: [{ id: 'sim-1' }], running: [ref] });
      expect((await agent.hear('refused')).code).toBe('INSTANCE_ID_TAKEN');
      await expectUntouched(ref);
    },
    'that it runs, or has run, a task that waits': async () => {
      const id = await api.batchJob(NOWHERE);
      const held = { taskId: id, attempt: 1, instanceId: 'own' };
      const agent = await join({ running: [held] });
      expect((await agent.hear('cancel')).ref).toEqual(held);
      expect(await agent.end(held, 'OK')).toBe(false);
      await agent.leave();
      const again = await join({ spooled: [{ ...held, proof: 'A'.repeat(43) }] });
      expect(await again.end(held, 'OK')).toBe(false);
      await expectWaiting(id);
    },
    'that it runs a task of another agent': async () => {
      const ref = await foreign();
      const agent = await join({ running: [ref, { ...ref, instanceId: 'own' }, { ...ref, attempt: 2 }] });
      for (let at = 0; at < 3; at++) await agent.hear('cancel');
      await expectUntouched(ref);
    },
    'the proof of another agent': async () => {
      await api.batchJob(ON_HONEST);
      const { ref, proof } = await honest.hear('assign');
      const agent = await join({ running: [{ ...ref, proof }] });
      await agent.hear('cancel');
      await expectUntouched(ref);
    },
    'the same instance twice': async () => {
      await expectViolation(await connect({ instances: [OWN, OWN] }), /instances\.1\.id is wrong/);
    },
    'more instances than an agent may have': async () => {
      const instances = Array.from({ length: MAX_INSTANCES + 1 }, (_, at) => ({ id: `own-${at}` }));
      await expectViolation(await connect({ instances }), /instances is wrong/);
    },
    'an instance that is older than any machine': async () => {
      const agent = await connect({ instances: [{ ...OWN, upForMs: 1e300 }] });
      await expectViolation(agent, /instances\.0\.upForMs is wrong/);
      expect((await api.get(`${NODE}/instance/list`)).status).toBe(200);
    },
    'a clock of another age': async () => {
      await join({ clockMs: Number.MIN_SAFE_INTEGER });
      expect((await api.get(`${NODE}/agent/list`)).status).toBe(200);
    },
  },
  heartbeat: {
    'that it lives': async () => {
      const agent = await connect();
      agent.say({ type: 'heartbeat' });
      await agent.hear('welcome');
    },
  },
  instance: {
    'the state of an instance of another agent': async () => {
      const agent = await join();
      agent.say({ type: 'instance', instance: reportOf({ id: 'sim-1', status: 'DOWN', upForMs: null }) });
      await processed(agent);
      expect((await api.get(`${NODE}/instance/sim-1`)).body).toMatchObject({ status: 'UP' });
    },
    'an instance that it did not name': async () => {
      const agent = await join();
      agent.say({ type: 'instance', instance: reportOf({ id: 'new' }) });
      await processed(agent);
      expect((await api.get(`${NODE}/instance/new`)).status).toBe(404);
    },
    'another version or label of its own instance': async () => {
      const agent = await join();
      const id = await api.batchJob(NOWHERE);
      agent.say({ type: 'instance', instance: reportOf({ ...OWN, labels: ['nowhere'] }) });
      await processed(agent);
      await expectWaiting(id);
    },
    'the end of its host': async () => {
      const agent = await join();
      agent.say({ type: 'instance', instance: reportOf({ ...OWN, host: { id: 'host', leftMs: 0 } }) });
      await processed(agent);
      const id = await api.batchJob({ ...ON_FALSE, timeLimit: 60 });
      await expectWaiting(id);
      agent.say({
        type: 'instance',
        instance: reportOf({ ...OWN, host: { id: 'host', leftMs: 60_000_000 } }),
      });
      expect((await agent.hear('assign')).ref.taskId).toBe(id);
      await expectUntouched(await foreign());
    },
    'an instance that is older than any machine': async () => {
      const agent = await join();
      agent.say({ type: 'instance', instance: reportOf({ ...OWN, upForMs: 1e300 }) });
      await expectViolation(agent, /instance\.upForMs is wrong/);
    },
  },
  output: {
    'output of a task of another agent': async () => {
      const ref = await foreign();
      honest.say({ type: 'output', ref, offset: 0, text: 'true' });
      const log = () => api.get(`${TASK}/${ref.taskId}/log`);
      await eventually(async () => (await log()).text === 'true');
      const agent = await join();
      agent.say({ type: 'output', ref, offset: 0, text: 'false, and longer' });
      await processed(agent);
      expect((await log()).text).toBe('true');
      await expectUntouched(ref);
    },
    'more text than any agent sends at once': async () => {
      const agent = await join();
      const ref = await assigned(agent);
      const text = 'x'.repeat(MAX_OUTPUT_LENGTH + 1);
      agent.say({ type: 'output', ref, offset: 0, text });
      await expectViolation(agent, /text is wrong/);
    },
  },
  report: {
    'the end of a task of another agent': async () => {
      const ref = await foreign();
      const agent = await join();
      expect(await agent.end(ref, 'OK')).toBe(false);
      expect(await agent.end({ ...ref, instanceId: 'own' }, 'FAILED')).toBe(false);
      expect(await agent.end({ ...ref, attempt: 2 }, 'FAILED')).toBe(false);
      await expectUntouched(ref);
    },
    'the end of a task that waits': async () => {
      const id = await api.batchJob(NOWHERE);
      const agent = await join();
      expect(await agent.end({ taskId: id, attempt: 1, instanceId: 'own' }, 'OK')).toBe(false);
      await expectWaiting(id);
    },
    'another end of a task that has ended': async () => {
      const agent = await join();
      const ref = await assigned(agent);
      expect(await agent.end(ref, 'OK')).toBe(true);
      expect(await agent.end(ref, 'FAILED')).toBe(false);
      expect(await statusOf(ref.taskId)).toBe('FINISHED');
    },
    'files that it has not sent': async () => {
      const file = { path: 'a', digest: digestOf('never sent'), sizeBytes: 10 };
      await expectRefusedReport(async () => ({ outputFiles: [file] }), /was not sent/);
    },
    'another size of a file': async () => {
      const wrong = async (agent: FakeAgent) => ({ ...(await agent.upload('abc')), path: 'a', sizeBytes: 4 });
      await expectRefusedReport(async (agent) => ({ outputFiles: [await wrong(agent)] }), /4 bytes/);
    },
    'another size of the log, or of a file of the output storage': async () => {
      const agent = await join();
      const file = { ...(await agent.upload('abc')), sizeBytes: 1e15 };
      await agent.leave();
      await expectRefusedReport(async () => ({ log: file }), /bytes/);
      await expectRefusedReport(async () => ({ storedFiles: [{ path: 'a', ...file }] }), /bytes/);
    },
    'two files with one path, or a file that is a folder': async () => {
      const file = { digest: digestOf(''), sizeBytes: 0 };
      for (const second of ['a', 'a/b']) {
        const outputFiles = [
          { path: 'a', ...file },
          { path: second, ...file },
        ];
        await expectRefusedReport(async () => ({ outputFiles }), /outputFiles\.1\.path is wrong/);
      }
    },
    'a path out of the folder of results': async () => {
      const file = { path: '../a', digest: digestOf(''), sizeBytes: 0 };
      await expectRefusedReport(async () => ({ outputFiles: [file] }), /outputFiles\.0\.path is wrong/);
    },
    'a checkpoint with a path out of its folder, or with files that it has not sent': async () => {
      const file = { digest: digestOf('nowhere'), sizeBytes: 7 };
      const returned = { outcome: 'RETURNED' as const };
      const outside = { ...returned, checkpoint: [{ path: '../a', ...file }] };
      await expectRefusedReport(async () => outside, /checkpoint\.0\.path is wrong/);
      await expectRefusedReport(
        async () => ({ ...returned, checkpoint: [{ path: 'a', ...file }] }),
        /not sent/,
      );
    },
    'files of the output storage with names of others': async () => {
      const agent = await join();
      const ref = await assigned(agent);
      const file = await agent.upload('abc');
      const foreignName = `${(await foreign()).taskId}-a`;
      expect(await agent.end(ref, 'OK', { storedFiles: [{ path: foreignName, ...file }] })).toBe(true);
      const { body } = await api.get('/api/x/storage/output');
      expect(body['files']).toMatchObject([{ name: `${ref.taskId}-${foreignName}` }]);
    },
    'blobs that it does not name': async () => {
      const agent = await join();
      const ref = await assigned(agent);
      const { digest, sizeBytes } = { digest: digestOf('named'), sizeBytes: 5 };
      const report = {
        ...ref,
        outcome: 'OK' as const,
        message: null,
        outputFiles: [],
        log: { digest, sizeBytes },
      };
      agent.say({ type: 'report', report, blobs: [Buffer.from('other').toString('base64')] });
      await expectViolation(agent, /was not sent/);
    },
  },
  reply: {
    'a reply to a request to another agent': async () => {
      const agent = await join();
      const asked = api.get(`${NODE}/instance/sim-1/log/console`);
      const { requestId } = await honest.hear('request');
      agent.say({ type: 'reply', requestId, error: null, text: 'false' });
      await processed(agent);
      honest.say({ type: 'reply', requestId, error: null, text: 'true' });
      expect((await asked).text).toBe('true');
    },
    'a reply to no request': async () => {
      const agent = await join();
      agent.say({ type: 'reply', requestId: 'none', error: null, text: 'false' });
      await processed(agent);
    },
    'crashes before any machine': async () => {
      const agent = await join({ answers: ['instanceCrashes'] });
      const asked = api.get('/api/x/instances/own/crashes');
      const { requestId } = await agent.hear('request');
      const crashes = { agentUpForMs: 1e300, count: 1, latest: [] };
      agent.say({ type: 'reply', requestId, error: null, text: null, crashes });
      await expectViolation(agent, /crashes\.agentUpForMs is wrong/);
      expect((await asked).status).toBe(502);
    },
    'more recipes of hosts than a hub may lend': async () => {
      const agent = await join(AS_HUB);
      const { requestId } = await agent.hear('request');
      const recipes = Array.from({ length: MAX_LENT_RECIPES + 1 }, (_, at) => recipeOf(`r${at}`));
      agent.say({ type: 'reply', requestId, error: null, text: null, recipes });
      await expectViolation(agent, /recipes is wrong/);
    },
    'recipes for hosts that never come': async () => {
      const agent = await join(AS_HUB);
      const { requestId } = await agent.hear('request');
      agent.say({ type: 'reply', requestId, error: null, text: null, recipes: [recipeOf('gears')] });
      const taskId = await api.batchJob(NOWHERE);
      await eventually(async () =>
        expect((await api.get(`/api/x/tasks/${taskId}/explain`)).body).toMatchObject({
          hosts: [{ recipe: 'false:gears' }],
        }),
      );
      const other = await join({
        ...{ id: 'other', nodeId: '0c0e5e0e-0000-4000-8000-00000000000e' },
        instances: [{ id: 'sim-2', labels: ['nowhere'] }],
      });
      expect((await other.hear('assign')).ref.taskId).toBe(taskId);
    },
  },
  leaving: {
    'that it joins another hub': async () => {
      const ref = await foreign();
      const agent = await join();
      const own = await assigned(agent);
      agent.say({ type: 'leaving' });
      await agent.closed();
      expect(await statusOf(own.taskId)).toBe('RUNNING');
      await expectUntouched(ref);
    },
  },
  'GET of a file': {
    'a digest that the hub does not have': async () => {
      const agent = await join();
      expect((await agent.file(digestOf('unknown'))).status).toBe(404);
    },
  },
  'PUT of a file': {
    'bytes of another digest': async () => {
      const agent = await join();
      const digest = digestOf('true');
      expect((await agent.file(digest, { method: 'PUT', body: 'false' })).status).toBe(400);
      expect((await agent.file(digest)).status).toBe(404);
    },
    'other bytes for a file that the hub has': async () => {
      const agent = await join();
      const { digest } = await honest.upload('true');
      await agent.file(digest, { method: 'PUT', body: 'false' });
      expect(await (await honest.file(digest)).text()).toBe('true');
    },
  },
  'POST of a code': {
    'the id of another agent': async () => {
      const code = await offerCode(hub.config.dataDir, 'other');
      const { status } = await askToEnroll(hub.address, JSON.stringify({ agentId: 'false', code }));
      expect(status).toBe(401);
    },
  },
};

function recipeOf(name: string): LentRecipe {
  return {
    ...{ name, usableMs: 3_600_000, free: 5, coming: 0, joined: 0 },
    instances: [{ version: '9', labels: ['nowhere'], count: 1 }],
    ...{ comingForMs: null, expectedInMs: null, obstacle: null, nextTryInMs: null },
  };
}

function reportOf(report: object) {
  const common = { id: 'own', version: '9.1.0', revision: '4711', labels: [], upForMs: 1000 };
  return { ...common, status: 'UP' as const, ...report };
}

describe.each(Object.entries(LIES))('%s of a false agent', (_, lies) => {
  it.each(Object.entries(lies))('says %s', (__, tell) => tell());
});

it('each type of message has its lies', () => {
  const types = agentMessage.options.map(({ shape }) => shape.type.value);
  expect(Object.keys(LIES)).toEqual(expect.arrayContaining(types));
});

it('the page of the threat model has a row for each lie', () => {
  const page = readFileSync(new URL('../../packages/docs/threat-model.md', import.meta.url), 'utf8');
  const rows = page.matchAll(/^\| (`\w+`|[A-Z]+ of a (?:file|code)) \| (.+?) \| /gm);
  const listed = [...rows].map(([, message = '', lie]) => `${message.replaceAll('`', '')}: ${lie}`);
  const tested = Object.entries(LIES).flatMap(([message, lies]) =>
    Object.keys(lies).map((lie) => `${message}: ${lie}`),
  );
  expect(listed).toEqual(tested);
});
