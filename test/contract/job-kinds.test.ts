/** Kinds of jobs that instances run, and warnings of instances of different kinds (contract 12.39). */
import { Hub } from '@workbench-hub/client';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FakeAgent, instanceReportOf } from '../support/agents/fake-agent.js';
import { api, hub, hubForEachTest } from '../support/hubs/hub-for-tests.js';
import { base64 } from '../support/interface/api.js';

const INSTANCES = '/api/2.0/workbench/node/instance';
const CREATE = '/api/2.0/workbench/task/execute-batch-job/create';
const MUJOCO = { models: ['MJCF', 'XML'], scripts: ['JavaScript'] };
const PYTHON = { scripts: ['Python'] };
const JOB = { inputScripts: [{ content: base64('print(1)') }] };
const LABELED = { ...JOB, classifiers: [{ type: 'LABLES', value: 'gears' }] };
const WARNING =
  'The fitting instances are of different kinds: 1 runs models of type MJCF, XML and scripts in JavaScript; 1 runs models of any ' +
  'type and scripts in Python. Ask for a label that only the right ones have.';

hubForEachTest();

let agent: FakeAgent;
beforeEach(async () => {
  agent = await FakeAgent.join(hub, {
    id: 'host',
    instances: [
      { id: 'a', labels: ['gears'], runs: MUJOCO },
      { id: 'b', runs: PYTHON },
      { id: 'old', status: 'DOWN', upForMs: null },
    ],
  });
});
afterEach(() => agent.leave());

const runsOf = async (id: string) => (await api.get(`${INSTANCES}/${id}`)).body['runs'];

describe('instances', () => {
  it('show what their programs say that they run, in lists and of their agents', async () => {
    const content = [{ id: 'a', runs: MUJOCO }, { id: 'b', runs: PYTHON }, { id: 'old' }];
    expect((await api.get(`${INSTANCES}/list`)).body).toMatchObject({ content });
    const { body } = await api.get('/api/2.0/workbench/node/agent/host');
    expect(body).toMatchObject({ instances: content });
    expect(await runsOf('old')).toBeUndefined();
    const earlier = await api.get('/api/1.1/workbench/node/instance/a');
    expect(earlier.status).toBe(200);
    expect(earlier.body).not.toHaveProperty('runs');
  });

  it('show it as soon as a program says so, and when it is down again', async () => {
    const report = instanceReportOf({ id: 'old', runs: PYTHON });
    agent.say({ type: 'instance', instance: report });
    await expect.poll(() => runsOf('old')).toEqual(PYTHON);
    const { runs: _, ...stopped } = { ...report, status: 'DOWN' as const, upForMs: null };
    agent.say({ type: 'instance', instance: stopped });
    const shown = async () => (await api.get(`${INSTANCES}/old`)).body;
    await expect.poll(shown).toMatchObject({ status: 'DOWN', runs: PYTHON });
  });
});

describe('a batch job without labels that fits instances of different kinds', () => {
  const kinds = [
    { runs: MUJOCO, instances: 1 },
    { runs: PYTHON, instances: 1 },
  ];

  it('is explained with a warning', async () => {
    const dry = await api.post('/api/x/explain', {});
    expect(dry.body).toMatchObject({ verdict: 'SOON', kinds });
    expect(dry.body['message']).toBe(`2 fitting instances are free; it starts at once. ${WARNING}`);
    const labeled = await api.post('/api/x/explain', { classifiers: LABELED.classifiers });
    expect(labeled.body).not.toHaveProperty('kinds');
    expect(labeled.body['message']).toBe('1 fitting instance is free; it starts at once.');
  });

  it('is created with a warning, beside that of unknown fields', async () => {
    const created = await api.post(CREATE, JOB);
    expect(created.headers.get('warning')).toBe(`299 - "${WARNING}"`);
    const misspelled = await api.post(CREATE, { ...JOB, timeLimt: 1 });
    expect(misspelled.headers.get('warning')).toMatch(/^299 - "The fitting .*", 299 - "ignored .* timeLimt /);
    expect((await api.post(CREATE, LABELED)).headers.get('warning')).toBeNull();
    const work = await api.post('/api/x/tasks', { type: 'SIMULATE_WORK', duration: 1 });
    expect(work.headers.get('warning')).toBeNull();
    expect(work.body['waitReason']).not.toHaveProperty('kinds');
  });

  it('says so while it waits', async () => {
    const { body } = await api.post('/api/x/tasks', { type: 'EXECUTE_BATCH_JOB', ...JOB });
    expect(body).toMatchObject({ waitReason: { kinds } });
    expect(body['message']).toMatch(new RegExp(`${WARNING}$`));
  });

  it('warns who creates it by the client library', async () => {
    const warnings: string[] = [];
    const onWarning = (warning: string) => void warnings.push(warning);
    const client = new Hub({ url: hub.address });
    await client.submit({ scripts: [new Blob(['print(1)'])] }, { onWarning });
    await client.submit({ scripts: [new Blob(['print(1)'])], labels: ['gears'] }, { onWarning });
    expect(warnings).toEqual([WARNING]);
  });
});

describe('a job with a model', () => {
  const modelOf = (type: string) => ({ inputModel: { type, content: base64('model') } });
  const create = async (type: string) => {
    const { status, body, text } = await api.post(CREATE, { ...JOB, ...modelOf(type) });
    expect(status, text).toBe(201);
    return body['id'] as string;
  };

  it('goes only to an instance that reads models of its type, or does not say what it reads', async () => {
    const [first, second] = [await create('INP'), await create('INP')];
    const mjcf = await create('MJCF');
    const assigned = [await agent.hear('assign'), await agent.hear('assign')];
    expect(assigned.map(({ ref }) => [ref.taskId, ref.instanceId])).toEqual([
      [first, 'b'],
      [mjcf, 'a'],
    ]);
    const explained = await api.get(`/api/x/tasks/${second}/explain`);
    expect(explained.body).toMatchObject({
      verdict: 'BUSY',
      instances: { satisfyingAll: 2, busy: 1, down: 1 },
    });
    const { body } = await api.get(`/api/x/tasks/${second}`);
    expect(body['requirement']).toEqual({ version: null, labels: [], modelType: 'INP' });
    agent.say({ type: 'instance', instance: instanceReportOf({ id: 'old', runs: { models: ['INP'] } }) });
    expect((await agent.hear('assign')).ref).toMatchObject({ taskId: second, instanceId: 'old' });
  });

  it('waits, and says why, while all programs say that they read other models', async () => {
    const models = { models: ['MJCF'] };
    for (const id of ['b', 'old'])
      agent.say({ type: 'instance', instance: instanceReportOf({ id, runs: models }) });
    await expect.poll(async () => [await runsOf('b'), await runsOf('old')]).toEqual([models, models]);
    const id = await create('INP');
    const facts = {
      verdict: 'NEVER',
      message: 'No known instance fits: none offers models of type "INP"; it waits until one does.',
      unsatisfied: [{ type: 'MODEL', value: 'INP' }],
    };
    expect((await api.get(`/api/x/tasks/${id}/explain`)).body).toMatchObject(facts);
    agent.say({ type: 'instance', instance: instanceReportOf({ id: 'b' }) });
    expect((await agent.hear('assign')).ref).toMatchObject({ taskId: id, instanceId: 'b' });
  });

  it('is explained by the type of its model before it is created', async () => {
    const dryRun = async (request: object) => (await api.post('/api/x/explain', request)).body;
    const requirement = { version: null, labels: [], modelType: 'INP' };
    expect(await dryRun(modelOf('inp'))).toMatchObject({ requirement, instances: { satisfyingAll: 2 } });
    for (const [type, key, value] of [
      ['INPUT_STORAGE', 'name', 'gear.inp'],
      ['LOCAL_FILESYSTEM', 'pathToFile', '/models/gear.INP'],
    ]) {
      const inputModelReference = { type, parameters: [{ key, value }] };
      expect(await dryRun({ inputModelReference })).toMatchObject({ requirement });
    }
    expect((await dryRun({}))['requirement']).toEqual({ version: null, labels: [] });
  });
});
