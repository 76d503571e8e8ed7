/** A hub whose blobs are in an object store: all as with a folder, also over a restart, and while the store is away. */
import { createHash, randomBytes } from 'node:crypto';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { backUp } from '@workbench-hub/hub/commands/backup/back-up';
import { restore } from '@workbench-hub/hub/commands/backup/restore';
import { checkStorage } from '@workbench-hub/hub/commands/doctor/storage-checks';
import { hubConfigSchema } from '@workbench-hub/hub/config';
import { checkPlace } from '@workbench-hub/hub/files/inspect-place';
import { storeMaintenance } from '@workbench-hub/hub/store/open-store';
import type { Finding } from '@workbench-hub/shared/checks/finding';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { FakeAgent } from '../support/agents/fake-agent.js';
import { HandDrivenRuntime } from '../support/engine/hand-driven-runtime.js';
import { eventually } from '../support/eventually.js';
import { api, hub, hubForAllTests, replaceHub } from '../support/hubs/hub-for-tests.js';
import { startHub } from '../support/hubs/running-hub.js';
import { blobFiles, exists, INPUT, upload } from '../support/interface/input-storage.js';
import {
  beginPart,
  begun,
  cutAfter,
  offsetOf,
  sendPart,
  sha256Of,
} from '../support/interface/resumable-uploads.js';
import { ObjectStore } from '../support/stores/object-store.js';
import { TESTED_STORE } from '../support/stores/tested-store.js';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.js';

let store: ObjectStore;
let folder: TemporaryFolder;
beforeAll(async () => {
  [store, folder] = await Promise.all([ObjectStore.start(), temporaryFolder()]);
});
afterAll(async () => {
  await store.stop();
  await folder.remove();
});
afterEach(() => {
  store.faultOf = () => undefined;
});
// Replaced below by one with the object store, on a folder that outlives it.
hubForAllTests();
const inObjectStore = () => ({ dataDir: `${folder.path}/data`, config: { storage: { s3: store.settings } } });
beforeAll(() => replaceHub(inObjectStore()));
const restart = () => replaceHub(inObjectStore());

/** A blob as an agent downloads it. */
const download = async (digest: string, headers: Record<string, string> = {}) => {
  const authorization = `Bearer ${hub.token}`;
  const answer = await fetch(`${hub.address}/agent/files/${digest}`, {
    headers: { authorization, ...headers },
  });
  return { status: answer.status, bytes: Buffer.from(await answer.arrayBuffer()) };
};

const digestOf = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');

it('a job gets its inputs, and its result stays over a restart', async () => {
  const [model, result] = [randomBytes(300_000), randomBytes(12_000_000)];
  const agent = await FakeAgent.join(hub);
  const id = await api.batchJob({ inputModel: { type: 'WBPZ', content: model.toString('base64') } });
  const { ref } = await agent.hear('assign');
  const got = await download(digestOf(model));
  expect(digestOf(got.bytes)).toBe(digestOf(model));
  const rest = await download(digestOf(model), { range: 'bytes=200000-' });
  expect(rest.status).toBe(206);
  expect(rest.bytes.equals(model.subarray(200_000))).toBe(true);
  const output = await agent.upload(result);
  await agent.end(ref, 'OK', { outputFiles: [{ path: 'a.bin', ...output }] });
  expect(await blobFiles()).toEqual([]);
  await agent.leave();
  await restart();
  // The client of the tests checks every response against its schema, which is too deep for this one.
  const answer = await fetch(`${hub.address}/api/2.0/workbench/task/execute-batch-job/${id}/result`);
  const [file] = ((await answer.json()) as { outputFiles: { content: string }[] }).outputFiles;
  expect(digestOf(Buffer.from(file?.content ?? '', 'base64'))).toBe(digestOf(result));
});

describe.each(['', '?encrypt=true'])('with the query "%s"', (query) => {
  const content = randomBytes(20_000_000);

  it('an upload goes on after a cut and a restart, and a download where it broke', async () => {
    const path = await begun({ filename: 'gearbox.wbpz', sha256: sha256Of(content) }, content.length, {
      query,
    });
    const part = await beginPart(path, 0, content.subarray(0, 9_000_000), content.length);
    const kept = await cutAfter(1_000_000, part, path);
    expect(kept).toBeGreaterThan(1_000_000);
    await restart();
    expect(await offsetOf(path)).toBe(kept);
    expect((await sendPart(path, kept, content.subarray(kept))).status).toBe(204);
    expect(await exists('gearbox.wbpz')).toBe(true);
    expect(await blobFiles()).toEqual([]);
    let left = 2;
    store.faultOf = ({ method, key }) =>
      method === 'GET' && key !== '' && left-- > 0 ? { cutAfter: 5_000_000 } : undefined;
    expect(digestOf((await download(digestOf(content))).bytes)).toBe(digestOf(content));
    const end = await download(digestOf(content), { range: 'bytes=15000000-' });
    expect(end.status).toBe(206);
    expect(end.bytes.equals(content.subarray(15_000_000))).toBe(true);
  });

  it('no object has a plain byte that was to be encrypted, and the object goes with the last name', async () => {
    const before = await store.keys();
    const stored = await Promise.all(before.map((key) => readFile(store.pathOf(key))));
    const isPlain = stored.some((bytes) => bytes.includes(content.subarray(1000, 1100)));
    expect(isPlain).toBe(query === '');
    expect((await api.call('DELETE', `${INPUT}/gearbox.wbpz/delete`)).status).toBeLessThan(300);
    await eventually(async () => (await store.keys()).length < before.length);
  });
});

it('a hub whose object store is away says so, refuses what needs it, and goes on when it is back', async () => {
  const status = async (path: string) => (await api.get(path)).status;
  expect(await status('/readyz')).toBe(200);
  store.faultOf = () => ({ status: 503, code: 'ServiceUnavailable' });
  const refused = await upload('away.bin', randomBytes(100_000));
  expect(refused.status).toBe(503);
  expect(refused.headers.get('retry-after')).toBe('5');
  expect(refused.body['message']).toBe('the hub cannot use its object store at present');
  expect(await status('/readyz')).toBe(503);
  expect((await api.get('/actuator/health')).body).toMatchObject({
    status: 'DOWN',
    components: { objectStore: { status: 'DOWN' } },
  });
  // Small blobs are in the database.
  expect((await upload('small.bin', randomBytes(100))).status).toBe(204);
  store.faultOf = () => undefined;
  await eventually(async () => (await status('/readyz')) === 200);
  expect((await upload('away.bin', randomBytes(100_000))).status).toBe(204);
});

describe('the commands', () => {
  const found = (findings: readonly Finding[]) => findings.filter(({ state }) => state === 'FAULT');
  // The parts of doctor: as a whole it stops at the database server of the tests, which does not sync.
  const examined = async () => [
    ...(await checkStorage(hub.config, storeMaintenance(hub.config), true)),
    ...(await checkPlace(hub.config.storage, { localFolder: '', ca: null })),
  ];

  it('storage check finds nothing wrong, and leaves nothing', async () => {
    const before = await store.keys();
    const findings = await checkPlace(hub.config.storage, { localFolder: '', ca: null });
    expect(findings.map(({ state }) => state)).toEqual(findings.map(() => 'OK'));
    expect(findings.map(({ check }) => check)).toEqual([
      'bucket',
      'clock',
      'right to write',
      'right to read',
      'right to list',
      'uploads in parts',
      'right to remove',
    ]);
    expect(await store.keys()).toEqual(before);
  });

  it('doctor reads every object, and names missing and damaged ones', async () => {
    const contents = [randomBytes(90_000), randomBytes(90_001), randomBytes(90_002)];
    const objects: string[] = [];
    for (const [at, content] of contents.entries()) {
      const before = await store.keys();
      await upload(`doctor-${at}`, content, at === 2 ? '?encrypt=true' : '');
      objects.push(...(await store.keys()).filter((key) => !before.includes(key)));
    }
    expect(found(await examined())).toEqual([]);
    await rm(store.pathOf(objects[0] as string));
    await writeFile(store.pathOf(objects[1] as string), randomBytes(90_001));
    const encrypted = await readFile(store.pathOf(objects[2] as string));
    encrypted[50_000] = (encrypted[50_000] ?? 0) ^ 1;
    await writeFile(store.pathOf(objects[2] as string), encrypted);
    const [fault] = found(await examined());
    expect(fault?.message).toContain('3 blobs are missing or damaged');
    expect(fault?.message).toContain(`${digestOf(contents[0] as Buffer)} is missing`);
    expect(fault?.message).toContain(`${digestOf(contents[1] as Buffer)} is damaged`);
    expect(fault?.message).toContain(`${digestOf(contents[2] as Buffer)} cannot be read`);
    for (const at of contents.keys()) await api.call('DELETE', `${INPUT}/doctor-${at}/delete`);
  });

  it('doctor says when the object store is away', async () => {
    store.faultOf = () => ({ status: 503, code: 'ServiceUnavailable' });
    const faults = found(await examined());
    expect(faults.map(({ check }) => check)).toEqual(expect.arrayContaining(['blobs', 'bucket']));
    store.faultOf = () => undefined;
    await eventually(async () => (await api.get('/readyz')).status === 200);
  });

  const backup = async () => {
    const content = randomBytes(80_000);
    await upload('kept.bin', content);
    const file = `${folder.path}/backup.tar`;
    const tell = () => undefined;
    const { clock } = systemRuntime;
    const options = { config: hub.config, file, clock, tell };
    const made = await backUp({ ...options, overwrite: false, audit: false, incomplete: false });
    expect(made).toMatchObject({ blobs: 0, missing: [] });
    await api.call('DELETE', `${INPUT}/kept.bin/delete`);
    await eventually(async () => (await download(digestOf(content))).status === 404);
    const { config } = hub;
    await hub.stop();
    await restore({ ...options, config, replace: true });
    await restart();
    expect(await exists('kept.bin')).toBe(true);
    expect(found(await examined())[0]?.message).toContain(`${digestOf(content)} is missing`);
    // It comes back under its name.
    await upload('again.bin', content);
    expect(found(await examined())).toEqual([]);
  };
  // A database server has backups of its own.
  if (TESTED_STORE === 'sqlite') it('backup and restore leave the blobs where they are', backup);
});

it('blobs of a folder are moved at the start, and are missed without the object store', async () => {
  const dataDir = `${folder.path}/other`;
  const content = randomBytes(200_000);
  await replaceHub({ dataDir });
  expect((await upload('plain.bin', content)).status).toBe(204);
  expect((await upload('secret.bin', content, '?encrypt=true')).status).toBe(204);
  expect(await blobFiles()).toHaveLength(2);
  await replaceHub({ dataDir, config: { storage: { s3: store.settings } } });
  expect(await blobFiles()).toEqual([]);
  expect(hub.log).toContainEqual(
    expect.objectContaining({ msg: 'moved the blobs of the local folder', moved: 2 }),
  );
  expect(await exists('plain.bin')).toBe(true);
  await hub.stop();
  await expect(startHub({ dataDir })).rejects.toThrow(
    'the blobs of this hub are in an object store, but storage.s3 is not set: set it as it was',
  );
  await restart();
});

it('a move of blobs that was interrupted goes on at the next start', async () => {
  const inStore = { dataDir: `${folder.path}/moving`, config: { storage: { s3: store.settings } } };
  const contents = [randomBytes(90_000), randomBytes(90_001), randomBytes(90_002)];
  await replaceHub({ dataDir: inStore.dataDir });
  for (const [at, content] of contents.entries()) await upload(`moved-${at}.bin`, content);
  await hub.stop();
  const before = await store.keys();
  let puts = 0;
  // The first object is that of the check.
  store.faultOf = ({ method, key }) =>
    method === 'PUT' && key !== '' && ++puts > 2 ? { status: 403, code: 'AccessDenied' } : undefined;
  await expect(startHub(inStore)).rejects.toThrow('the hub cannot use its object store');
  expect(await blobFiles()).toHaveLength(2);
  expect(await store.keys()).toHaveLength(before.length + 1);
  store.faultOf = () => undefined;
  await replaceHub(inStore);
  expect(await blobFiles()).toEqual([]);
  expect(hub.log).toContainEqual(expect.objectContaining({ moved: 2 }));
  for (const content of contents)
    expect(digestOf((await download(digestOf(content))).bytes)).toBe(digestOf(content));
  await restart();
});

it('quota and expiry are the same as with a folder', async () => {
  const time = new HandDrivenRuntime();
  await replaceHub({
    dataDir: `${folder.path}/quota`,
    runtime: { ...systemRuntime, clock: time.clock },
    config: { storage: { s3: store.settings, input: { quotaPerUser: 250_000, expireAfter: '1h' } } },
  });
  const before = (await store.keys()).length;
  expect((await upload('first.bin', randomBytes(200_000))).status).toBe(204);
  expect((await upload('second.bin', randomBytes(200_000))).status).toBe(413);
  expect(await exists('second.bin')).toBe(false);
  await eventually(async () => (await store.keys()).length === before + 1);
  time.skip(3_600_000);
  expect(await exists('first.bin')).toBe(false);
  expect((await upload('second.bin', randomBytes(200_000))).status).toBe(204);
  await restart();
});

it.each([
  [{ folder: '/files', s3: { bucket: 'b' } }, 'storage.folder: not set when storage.s3 is'],
  [{ s3: { bucket: 'b', accessKeyIdFile: '/key' } }, 'storage.s3.secretAccessKeyFile: a file as well'],
  [
    { s3: { bucket: 'b', endpoint: 'https://user:secret@s3.example.com' } },
    'storage.s3.endpoint: the address',
  ],
  [{ s3: { bucket: 'b', endpoint: 's3.example.com' } }, 'storage.s3.endpoint: the address'],
  [{ s3: { bucket: 'b', prefix: 'hubs' } }, 'storage.s3.prefix: empty, or folders such as hubs/aachen/'],
  [{ s3: {} }, 'storage.s3.bucket: '],
  [{ folder: 'files' }, 'storage.folder: '],
])('the configuration %o is refused', (storage, words) => {
  const { error } = hubConfigSchema.safeParse({ storage });
  const faults = error?.issues.map(({ path, message }) => `${path.join('.')}: ${message}`);
  expect(faults).toContainEqual(expect.stringContaining(words));
});
