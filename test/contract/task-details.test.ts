/** GET /api/x/tasks/{id}, its inputs and its outputs (contract 12.8). */
import { createHash } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FakeAgent } from '../support/agents/fake-agent.js';
import { type RunningHub, startHub } from '../support/hubs/running-hub.js';
import { Api, base64, expectError, OFFSET_TIMESTAMP } from '../support/interface/api.js';

const TASKS = '/api/x/tasks';
const time = expect.stringMatching(OFFSET_TIMESTAMP);
const digestOf = (text: string) => createHash('sha256').update(text).digest('hex');
const described = (path: string, text: string) => ({ path, size: text.length, digest: digestOf(text) });
const SIM_1 = { id: 'sim-1', version: '9.1.0', revision: '4711', agentId: 'agent-1' };

let hub: RunningHub;
let api: Api;
let agent: FakeAgent;
beforeEach(async () => {
  hub = await startHub();
  api = new Api(hub);
  agent = await FakeAgent.join(hub, { instances: [{ labels: ['gears'] }] });
});
afterEach(async () => {
  await agent.leave();
  await hub.stop();
});

const shown = async (id: string) => {
  const { status, body, text } = await api.get(`${TASKS}/${id}`);
  expect(status, text).toBe(200);
  return body;
};

describe('a task', () => {
  it('is shown with all its inputs, and with its outputs', async () => {
    const id = await api.batchJob({
      name: 'whole',
      timeLimit: 60,
      classifiers: [
        { type: 'VERSION', value: '9.*' },
        { type: 'LABLES', value: 'gears' },
      ],
      inputModel: { type: 'WBPZ', content: base64('model') },
      inputScripts: [{ content: base64('first') }, { content: base64('second') }],
      additionalFiles: [{ filename: 'a/b.txt', content: base64('more') }],
      variablesToInject: [{ key: 'speed', value: '1500' }],
    });
    const { ref } = await agent.hear('assign');
    const inputs = [
      { kind: 'MODEL', ...described('model/model.wbpz', 'model') },
      { kind: 'SCRIPT', ...described('scripts/1', 'first') },
      { kind: 'SCRIPT', ...described('scripts/2', 'second') },
      { kind: 'ADDITIONAL_FILE', ...described('files/a/b.txt', 'more') },
    ];
    const running = {
      id,
      type: 'EXECUTE_BATCH_JOB',
      name: 'whole',
      priority: 'NORMAL',
      classifiers: expect.any(Array),
      status: 'RUNNING',
      requestedAt: time,
      startedAt: time,
      attempt: 1,
      instance: SIM_1,
      requirement: { version: '9.*', labels: ['gears'], modelType: 'WBPZ' },
      timeLimit: 60,
      inputs,
      variables: [{ key: 'speed', value: '1500' }],
      attempts: [{ attempt: 1, instance: SIM_1, startedAt: time, outcome: 'RUNNING' }],
    };
    expect(await shown(id)).toEqual(running);
    const [output, log] = [await agent.upload('0,1'), await agent.upload('printed')];
    await agent.end(ref, 'ERROR', {
      message: 'script 2 exited with 7',
      outputFiles: [
        { path: 'z.txt', ...log },
        { path: 'plots/a.csv', ...output },
      ],
      log,
      storedFiles: [{ path: 'movie.bin', ...output }],
    });
    expect(await shown(id)).toEqual({
      ...running,
      status: 'FAILED',
      message: 'script 2 exited with 7',
      endedAt: time,
      batchExecutionStatus: 'ERROR',
      attempts: [
        {
          attempt: 1,
          instance: SIM_1,
          startedAt: time,
          endedAt: time,
          outcome: 'FAILED',
          reason: 'script 2 exited with 7',
        },
      ],
      outputs: [described('plots/a.csv', '0,1'), described('z.txt', 'printed')],
      storedFiles: [{ name: `${id}-movie.bin`, size: 3 }],
      log: { size: 7, digest: digestOf('printed') },
    });
    expect((await api.get(`${TASKS}/${id}/inputs`)).body).toEqual({ files: inputs });
    expect((await api.get(`${TASKS}/${id}/outputs`)).body).toEqual({
      files: [described('plots/a.csv', '0,1'), described('z.txt', 'printed')],
    });
  });

  it('remembers each attempt with its instance and why it was lost', async () => {
    const id = await api.simulateWork({ duration: 7 });
    const outcomes = [
      { outcome: 'INSTANCE_LOST', message: 'exit code 139', as: 'CRASH' },
      { outcome: 'RETURNED', message: 'the disk is full', hostFault: true, as: 'HOST_FAULT' },
      { outcome: 'RETURNED', message: 'the agent stops', as: 'RETURN' },
    ] as const;
    for (const { as: _, ...report } of outcomes) {
      const { ref } = await agent.hear('assign');
      await agent.end(ref, report.outcome, report);
    }
    const { ref } = await agent.hear('assign');
    await agent.end(ref, 'OK');
    const past = { instance: SIM_1, startedAt: time, endedAt: time };
    expect(await shown(id)).toMatchObject({
      status: 'FINISHED',
      attempt: 4,
      duration: 7,
      variables: [],
      attempts: [
        ...outcomes.map(({ as, message }, at) => ({
          attempt: at + 1,
          ...past,
          outcome: as,
          reason: message,
        })),
        { attempt: 4, ...past, outcome: 'FINISHED' },
      ],
    });
  });

  it('shows a model that lies on the host, and a cancel by force', async () => {
    const parameters = [
      { key: 'pathToFile', value: '/models/gear.wbpz' },
      { key: 'copyFileToWorkingDirectory', value: 'true' },
    ];
    const id = await api.batchJob({ inputModelReference: { type: 'LOCAL_FILESYSTEM', parameters } });
    await agent.hear('assign');
    await api.delete(`/api/2.0/workbench/task/${id}/cancel?force=true`);
    expect(await shown(id)).toMatchObject({
      status: 'CANCELED',
      message: 'The task was canceled by force while it ran.',
      hostModel: { path: '/models/gear.wbpz', copied: true },
      attempts: [{ attempt: 1, outcome: 'CANCELED', endedAt: time }],
      outputs: [],
    });
  });

  it('that does not exist is a 404 on each path', async () => {
    for (const rest of ['', '/inputs', '/inputs/scripts/1', '/outputs', '/outputs/a']) {
      const path = `${TASKS}/nobody${rest}`;
      expectError(await api.get(path), 404, path, 'there is no task with the id "nobody"');
    }
  });
});

describe('a file of a task', () => {
  let id: string;
  beforeEach(async () => {
    id = await api.batchJob({
      inputScripts: [{ content: base64('print(1)') }],
      additionalFiles: [{ filename: 'a b/ü%.txt', content: base64('more') }],
    });
    const { ref } = await agent.hear('assign');
    const file = await agent.upload('0123456789');
    await agent.end(ref, 'OK', {
      outputFiles: [
        { path: 'plots/2026/index.html', ...file },
        { path: 'empty', ...(await agent.upload('')) },
      ],
    });
  });

  it('is downloaded whole, in part, or not again', async () => {
    const path = `${TASKS}/${id}/outputs/plots/2026/index.html`;
    const { status, headers, text } = await api.get(path);
    expect([status, text]).toEqual([200, '0123456789']);
    expect(Object.fromEntries(headers)).toMatchObject({
      'content-type': 'application/octet-stream',
      'content-disposition': 'attachment; filename="index.html"',
      'content-length': '10',
      'accept-ranges': 'bytes',
      etag: `"${digestOf('0123456789')}"`,
      'x-content-type-options': 'nosniff',
    });
    const part = await api.call('GET', path, { headers: { range: 'bytes=2-4' } });
    expect([part.status, part.text, part.headers.get('content-range')]).toEqual([206, '234', 'bytes 2-4/10']);
    const etag = headers.get('etag') ?? '';
    const known = await api.call('GET', path, { headers: { 'if-none-match': etag } });
    expect([known.status, known.text]).toEqual([304, '']);
    expectError(
      await api.call('GET', path, { headers: { range: 'bytes=10-' } }),
      416,
      path,
      'the file has 10 bytes',
    );
  });

  it('is found with its slashes as they are, and encoded', async () => {
    const encoded = `${TASKS}/${id}/outputs/${encodeURIComponent('plots/2026/index.html')}`;
    expect((await api.get(encoded)).text).toBe('0123456789');
    expect((await api.get(`${TASKS}/${id}/outputs/empty`)).text).toBe('');
    expect((await api.get(`${TASKS}/${id}/inputs/scripts/1`)).text).toBe('print(1)');
    const odd = `${TASKS}/${id}/inputs/${encodeURIComponent('files/a b/ü%.txt')}`;
    expect((await api.get(odd)).text).toBe('more');
  });

  it.each([
    'plots',
    'plots/2026',
    'plots/2026/',
    'index.html',
    'plots//2026/index.html',
    '%2e%2e%2fhub.sqlite',
  ])('is not found at %s', async (path) => {
    const { status } = await api.get(`${TASKS}/${id}/outputs/${path}`);
    expect(status).toBe(404);
  });
});
