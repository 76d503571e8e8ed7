/** Signed manifests of ended tasks, and the keys that verify them (contract 12.46). */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type ManifestKeys, type SignedManifest, verifyManifest } from '@workbench-hub/client';
import { createLocalJWKSet, type FlattenedJWSInput, flattenedVerify, type JSONWebKeySet } from 'jose';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FakeAgent } from '../support/agents/fake-agent.js';
import { type HubSetup, type RunningHub, startHub } from '../support/hubs/running-hub.js';
import { Api, base64, expectError } from '../support/interface/api.js';
import { dropStoreFor } from '../support/stores/tested-store.js';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.js';

const TASKS = '/api/x/tasks';
const UTC = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
const SIM_1 = { id: 'sim-1', version: '9.1.0', revision: '4711', agentId: 'agent-1' };
const digestOf = (text: string) => createHash('sha256').update(text).digest('hex');
const described = (path: string, text: string) => ({ path, size: text.length, digest: digestOf(text) });

let folder: TemporaryFolder;
let hub: RunningHub;
let api: Api;
let agent: FakeAgent;
beforeEach(async () => {
  folder = await temporaryFolder();
  await start();
});
afterEach(async () => {
  await stop();
  await dropStoreFor(folder.path);
  await folder.remove();
});

async function start(config: NonNullable<HubSetup['config']> = {}) {
  hub = await startHub({ dataDir: folder.path, config });
  api = new Api(hub);
  agent = await FakeAgent.join(hub, { instances: [{ labels: ['gears'] }] });
}

async function stop() {
  await agent.leave();
  await hub.stop();
}

async function signedOf(id: string): Promise<SignedManifest & FlattenedJWSInput> {
  const { status, text } = await api.get(`${TASKS}/${id}/manifest`);
  expect(status, text).toBe(200);
  return JSON.parse(text) as SignedManifest & FlattenedJWSInput;
}

const keys = async () => (await api.get('/api/x/manifest-keys')).body as unknown as ManifestKeys;

/** The payload, after its signature was verified by another implementation than that of the client. */
async function verified(id: string): Promise<unknown> {
  const signed = await signedOf(id);
  const known = createLocalJWKSet((await keys()) as unknown as JSONWebKeySet);
  const { payload } = await flattenedVerify(signed, known);
  const manifest: unknown = JSON.parse(Buffer.from(payload).toString());
  expect(signed.manifest).toEqual(manifest);
  expect((await verifyManifest(signed, await keys())).manifest).toEqual(manifest);
  return manifest;
}

async function finished(): Promise<string> {
  const id = await api.simulateWork({ duration: 7 });
  await agent.end((await agent.hear('assign')).ref, 'OK');
  return id;
}

describe('a manifest', () => {
  it('of a batch job has its inputs, variables, attempts and outputs, with digests', async () => {
    const id = await api.batchJob({
      name: 'whole',
      note: 'for the report',
      timeLimit: 60,
      classifiers: [
        { type: 'VERSION', value: '9.*' },
        { type: 'LABLES', value: 'gears' },
      ],
      inputModel: { type: 'WBPZ', content: base64('model') },
      inputScripts: [{ content: base64('first'), filename: 'one.js' }, { content: base64('second') }],
      additionalFiles: [{ filename: 'a/b.txt', content: base64('more') }],
      variablesToInject: [
        { key: 'speed', value: '1500' },
        { key: 'load', value: '12' },
      ],
    });
    await agent.end((await agent.hear('assign')).ref, 'INSTANCE_LOST', { message: 'exit code 139' });
    const [output, log] = [await agent.upload('0,1'), await agent.upload('printed')];
    await agent.end((await agent.hear('assign')).ref, 'OK', {
      outputFiles: [
        { path: 'z.txt', ...log },
        { path: 'plots/a.csv', ...output },
      ],
      log,
      storedFiles: [{ path: 'movie.bin', ...output }],
    });
    const attempt = { instance: SIM_1, startedAt: UTC, endedAt: UTC };
    expect(await verified(id)).toEqual({
      format: 'workbench-hub-manifest',
      version: 1,
      hub: { id: expect.stringMatching(/^[\da-f-]{36}$/) },
      task: {
        id,
        type: 'EXECUTE_BATCH_JOB',
        name: 'whole',
        note: 'for the report',
        priority: 'NORMAL',
        classifiers: [
          { type: 'VERSION', value: '9.*' },
          { type: 'LABLES', value: 'gears' },
        ],
        requirement: { version: '9.*', labels: ['gears'], modelType: 'WBPZ' },
        timeLimit: 60,
        status: 'FINISHED',
        batchExecutionStatus: 'OK',
        requestedAt: UTC,
        startedAt: UTC,
        endedAt: UTC,
      },
      inputs: [
        { kind: 'MODEL', ...described('model/model.wbpz', 'model') },
        { kind: 'SCRIPT', filename: 'one.js', ...described('scripts/1', 'first') },
        { kind: 'SCRIPT', ...described('scripts/2', 'second') },
        { kind: 'ADDITIONAL_FILE', ...described('files/a/b.txt', 'more') },
      ],
      variables: [
        { key: 'speed', value: '1500' },
        { key: 'load', value: '12' },
      ],
      instance: SIM_1,
      attempts: [
        { attempt: 1, ...attempt, outcome: 'CRASH', reason: 'exit code 139' },
        { attempt: 2, ...attempt, outcome: 'FINISHED' },
      ],
      outputs: [described('plots/a.csv', '0,1'), described('z.txt', 'printed')],
      log: { size: 7, digest: digestOf('printed') },
      storedFiles: [{ name: `${id}-movie.bin`, size: 3 }],
    });
  });

  it('of a job that failed says why, and names a model on the host without a digest', async () => {
    const parameters = [{ key: 'pathToFile', value: '/models/gear.wbpz' }];
    const id = await api.batchJob({ inputModelReference: { type: 'LOCAL_FILESYSTEM', parameters } });
    await agent.end((await agent.hear('assign')).ref, 'ERROR', { message: 'script 1 exited with 7' });
    expect(await verified(id)).toMatchObject({
      task: { status: 'FAILED', batchExecutionStatus: 'ERROR', message: 'script 1 exited with 7' },
      hostModel: { path: '/models/gear.wbpz', copied: false },
      inputs: [{ kind: 'SCRIPT' }],
      attempts: [{ attempt: 1, outcome: 'FAILED', reason: 'script 1 exited with 7' }],
      outputs: [],
      storedFiles: [],
    });
  });

  it('of a task that was canceled before it ran has no attempt', async () => {
    const id = await api.simulateWork({ classifiers: [{ type: 'LABLES', value: 'nowhere' }] });
    await api.delete(`/api/2.0/workbench/task/${id}/cancel`);
    const manifest = await verified(id);
    expect(manifest).toMatchObject({ task: { status: 'CANCELED' }, duration: 1, attempts: [], inputs: [] });
    expect(manifest).not.toHaveProperty('instance');
  });

  it('is refused while the task waits or runs, and for a task that there is not', async () => {
    const running = await api.simulateWork({});
    await agent.hear('assign');
    const waiting = await api.simulateWork({});
    for (const [id, status] of [
      [running, 'RUNNING'],
      [waiting, 'WAITING'],
    ] as const) {
      const path = `${TASKS}/${id}/manifest`;
      const refused = await api.get(path);
      expectError(
        refused,
        404,
        path,
        new RegExp(`^task ${id} is ${status} and has no manifest yet: only one that is`),
      );
      expect(refused.headers.get('x-error-code')).toBe('TASK_FILE_NOT_FOUND');
    }
    const path = `${TASKS}/${crypto.randomUUID()}/manifest`;
    expectError(await api.get(path), 404, path, /^there is no task/);
  });

  it('is refused by a client when its payload, its readable copy or its key is another one', async () => {
    const id = await finished();
    const signed = await signedOf(id);
    const given = await keys();
    const manifest = { ...signed.manifest, task: { ...signed.manifest.task, creator: 'mallory' } };
    const payload = Buffer.from(JSON.stringify(manifest)).toString('base64url');
    await expect(verifyManifest({ ...signed, manifest, payload }, given)).rejects.toThrow(/was changed/);
    await expect(verifyManifest({ ...signed, manifest }, given)).rejects.toThrow(
      'its readable part is not what was signed: manifest.task.creator differs',
    );
    await expect(verifyManifest(signed, { keys: [] })).rejects.toThrow(/not among those given: none/);
  });

  it('has the same bytes each time, also after a restart of the hub, which keeps its key for its user only', async () => {
    const id = await finished();
    const before = await api.get(`${TASKS}/${id}/manifest`);
    expect((await api.get(`${TASKS}/${id}/manifest`)).text).toBe(before.text);
    const known = await keys();
    expect(known.keys).toHaveLength(1);
    const secret = (await readFile(join(folder.path, 'manifest-keys'), 'utf8')).trim();
    expect(JSON.stringify(known)).not.toContain(Buffer.from(secret, 'base64').toString('base64url'));
    await stop();
    await start();
    expect((await api.get(`${TASKS}/${id}/manifest`)).text).toBe(before.text);
    expect(await keys()).toEqual(known);
  });

  it('names the public address of the hub, and is downloaded under the id of the task', async () => {
    await stop();
    await start({ server: { publicUrl: 'https://hub.example.com' } });
    const id = await finished();
    const { headers, body } = await api.get(`${TASKS}/${id}/manifest`);
    expect(headers.get('content-disposition')).toBe(`attachment; filename="${id}.manifest.json"`);
    expect(body).toMatchObject({ manifest: { hub: { address: 'https://hub.example.com' } } });
  });
});
