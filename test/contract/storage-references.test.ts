/** Batch jobs that refer to files of the input storage (contract 3.4 and 3.5). */
import { createHash } from 'node:crypto';
import type { BatchJob, FileRef } from '@workbench-hub/shared/domain/job';
import { describe, expect, it } from 'vitest';
import { FakeAgent } from '../support/agents/fake-agent.js';
import { HandDrivenRuntime } from '../support/engine/hand-driven-runtime.js';
import { eventually } from '../support/eventually.js';
import { api, hub, hubForEachTest, replaceHub } from '../support/hubs/hub-for-tests.js';
import { HUBS } from '../support/hubs/hubs-under-test.js';
import { base64, expectError } from '../support/interface/api.js';
import { blobFiles, INPUT, upload } from '../support/interface/input-storage.js';
import { PATH, SCRIPT } from './batch-job-requests.js';

const PARAMETERS = 'inputModelReference.parameters';
const LARGE = Buffer.alloc(300_000, 'a large model');

hubForEachTest();

async function put(name: string, content: string | Buffer, query = ''): Promise<void> {
  const { status, text } = await upload(name, content, query);
  expect(status, text).toBe(204);
}

const withModel = (...parameters: [string, string][]) => ({
  inputScripts: [SCRIPT],
  inputModelReference: {
    type: 'INPUT_STORAGE',
    parameters: parameters.map(([key, value]) => ({ key, value })),
  },
});
const withFiles = (...additionalFiles: object[]) => ({ inputScripts: [SCRIPT], additionalFiles });

/** Contents of the next job that this agent gets. */
async function nextJob(agent: FakeAgent): Promise<BatchJob> {
  const { job } = await agent.hear('assign');
  if (job.type !== 'EXECUTE_BATCH_JOB') throw new Error('another job');
  return job as BatchJob;
}

async function contentFor(agent: FakeAgent, { digest }: { readonly digest: string }): Promise<Buffer> {
  const answer = await agent.file(digest);
  expect(answer.status).toBe(200);
  return Buffer.from(await answer.arrayBuffer());
}

describe('a model in the input storage', () => {
  it.each<[string, string | Buffer, string]>([
    ['small', 'the model', ''],
    ['large', LARGE, ''],
    ['small and encrypted', 'the model', '?encrypt=true'],
    ['large and encrypted', LARGE, '?encrypt=true'],
    ['empty', '', ''],
  ])('that is %s reaches the agent under its name', async (_, content, query) => {
    await put('gear-7.wbpz', content, query);
    await api.batchJob(withModel(['name', 'gear-7.wbpz']));
    const agent = await FakeAgent.join(hub);
    const { model } = await nextJob(agent);
    if (model?.kind !== 'BLOB') throw new Error('no content');
    expect([model.path, model.sizeBytes]).toEqual(['gear-7.wbpz', content.length]);
    expect((await contentFor(agent, model)).equals(Buffer.from(content))).toBe(true);
    await agent.leave();
  });

  it('stays the same for a task when its name is overwritten or deleted', async () => {
    await put('gear.wbpz', 'the first');
    const request = withModel(['name', 'gear.wbpz']);
    await api.batchJob(request);
    await put('gear.wbpz', LARGE, '?overwrite=true');
    await api.batchJob(request);
    expect((await api.delete(`${INPUT}/gear.wbpz/delete`)).status).toBe(204);
    expect((await api.post(PATH, request)).status).toBe(400);
    const agent = await FakeAgent.join(hub, { instances: [{ id: 'a' }, { id: 'b' }] });
    for (const expected of [Buffer.from('the first'), LARGE]) {
      const { model } = await nextJob(agent);
      expect((await contentFor(agent, model as { digest: string } & typeof model)).equals(expected)).toBe(
        true,
      );
    }
    await agent.leave();
  });

  it.each(['', '?encrypt=true'])('is kept for a waiting task when its name expires %s', async (query) => {
    const runtime = new HandDrivenRuntime();
    await replaceHub({ runtime });
    await put('gear.wbpz', LARGE, query);
    await put('other.wbpz', Buffer.alloc(40_000), query);
    await api.batchJob(withModel(['name', 'gear.wbpz']));
    runtime.skip(8 * 86_400_000);
    await runtime.advance(60_000);
    const swept = () => hub.log.find(({ msg }) => msg === 'swept what is no longer kept');
    expect(await eventually(swept)).toMatchObject({ storedFiles: 2, blobs: 1 });
    await eventually(async () => (await blobFiles()).length === 1);
    const agent = await FakeAgent.join(hub);
    const { model } = await nextJob(agent);
    expect((await contentFor(agent, model as { digest: string } & typeof model)).equals(LARGE)).toBe(true);
    await agent.leave();
  });
});

// Several hubs remove blobs an hour later.
if (HUBS === 1) {
  it.each(['', '?encrypt=true'])(
    'a transfer that has begun completes although the name is overwritten and the task deleted %s',
    async (query) => {
      const runtime = new HandDrivenRuntime();
      await replaceHub({ runtime });
      // More than the sockets between the two hold.
      const content = Buffer.alloc(40_000_000, 'a model that takes a while');
      await put('gear.wbpz', content, query);
      const id = await api.batchJob(withModel(['name', 'gear.wbpz']));
      const agent = await FakeAgent.join(hub);
      const { ref, job } = await agent.hear('assign');
      const { model } = job as BatchJob & { model: { digest: string } };
      const answer = await agent.file(model.digest);

      await put('gear.wbpz', 'another', `?overwrite=true${query.replace('?', '&')}`);
      // Not `end`, which waits for the clock that stands still.
      agent.report(ref, 'FAILED');
      await eventually(async () => (await api.task(id))['status'] === 'FAILED');
      expect((await api.delete(`/api/2.0/workbench/task/${id}/delete`)).status).toBe(204);
      // The seconds in which the transfer may begin are over.
      await runtime.advance(6000);
      // Its replacement is small, and in the database unless it is encrypted.
      const left = query === '' ? 0 : 1;
      await eventually(async () => {
        await runtime.advance(100);
        return (await blobFiles()).length === left;
      });
      expect((await agent.file(model.digest, { method: 'HEAD' })).status).toBe(404);

      const hash = createHash('sha256');
      for await (const piece of answer.body ?? []) hash.update(piece);
      expect(hash.digest('hex')).toBe(model.digest);
      await agent.leave();
    },
  );

  it('an archive of outputs that has begun completes although the task is deleted', async () => {
    const runtime = new HandDrivenRuntime();
    await replaceHub({ runtime });
    const id = await api.batchJob();
    const agent = await FakeAgent.join(hub);
    const { ref } = await agent.hear('assign');
    // The first has more than the sockets between the two hold.
    const contents = [Buffer.alloc(40_000_000, 'the first'), Buffer.alloc(100_000, 'the second')];
    const [first, second] = await Promise.all(contents.map((content) => agent.upload(content)));
    const outputFiles = [
      { path: 'a', ...(first as FileRef) },
      { path: 'b', ...(second as FileRef) },
    ];
    agent.report(ref, 'OK', { outputFiles });
    await eventually(async () => (await api.task(id))['status'] === 'FINISHED');
    const answer = await fetch(`${hub.address}/api/x/tasks/${id}/archive`);
    const pieces = answer.body?.[Symbol.asyncIterator]() as AsyncIterator<Uint8Array>;
    const begun = [(await pieces.next()).value as Uint8Array];

    expect((await api.delete(`/api/2.0/workbench/task/${id}/delete`)).status).toBe(204);
    await runtime.advance(6000);
    const held = await blobFiles();
    for (let next = await pieces.next(); !next.done; next = await pieces.next()) begun.push(next.value);
    const archive = Buffer.concat(begun);
    expect(contents.map((content) => archive.includes(content))).toEqual([true, true]);
    expect(held).toHaveLength(2);
    await eventually(async () => {
      await runtime.advance(1000);
      return (await blobFiles()).length === 0;
    });
    await agent.leave();
  });
}

describe('additional files in the input storage', () => {
  it('may be referred to more than once, beside files with inline content', async () => {
    await put('mesh.stl', LARGE);
    await put('materials.csv', 'steel', '?encrypt=true');
    await api.batchJob(
      withFiles(
        { filename: 'a/mesh.stl', storageName: 'mesh.stl' },
        { filename: 'b/copy', storageName: 'mesh.stl' },
        { filename: 'note.txt', content: base64('a note'), storageName: null },
        { filename: 'm', storageName: 'materials.csv', content: null },
      ),
    );
    const agent = await FakeAgent.join(hub);
    const { additionalFiles } = await nextJob(agent);
    expect(additionalFiles.map(({ path }) => path)).toEqual(['a/mesh.stl', 'b/copy', 'note.txt', 'm']);
    const contents = await Promise.all(additionalFiles.map((file) => contentFor(agent, file)));
    const expected = [LARGE, LARGE, Buffer.from('a note'), Buffer.from('steel')];
    expect(contents.map((content, at) => content.equals(expected[at] as Buffer))).toEqual(
      Array(4).fill(true),
    );
    await agent.leave();
  });

  it('count towards the files of a task', async () => {
    await replaceHub({ config: { limits: { filesPerTask: 2 } } });
    await put('mesh.stl', 'x');
    const request = {
      ...withModel(['name', 'mesh.stl']),
      additionalFiles: [{ filename: 'a', storageName: 'mesh.stl' }],
    };
    const message = /may have at most 2 files: model, scripts and additional files \(limits.filesPerTask\)$/;
    expectError(await api.post(PATH, request), 400, PATH, message);
    expect((await api.post(PATH, withModel(['name', 'mesh.stl']))).status).toBe(201);
  });
});

describe('a reference to the input storage is refused', () => {
  const none = 'there is no file none.wbpz in the input storage, or it has expired';
  const name = /: must have 3 to 64 characters, of which the first is a letter or digit/;

  it.each<[string, object, string | RegExp]>([
    ['to a missing model', withModel(['name', 'none.wbpz']), `${PARAMETERS}: name: ${none}`],
    ['to no name', withModel(), `${PARAMETERS}: must hold the key name`],
    ['to a name that is none', withModel(['name', '../gear.wbpz']), name],
    [
      'to two names',
      withModel(['name', 'gear.wbpz'], ['name', 'gear.wbpz']),
      /\[1\].key: name is given more/,
    ],
    [
      'with a path',
      withModel(['pathToFile', '/gear']),
      new RegExp(`^${PARAMETERS}\\[0\\].key: must be one of name`),
    ],
    [
      'beside a model',
      { ...withModel(['name', 'gear.wbpz']), inputModel: { type: 'WBPZ', content: base64('m') } },
      'inputModelReference: and inputModel exclude each other',
    ],
    [
      'to the name of an additional file',
      { ...withModel(['name', 'gear.wbpz']), ...withFiles({ filename: 'gear.wbpz', content: '' }) },
      'additionalFiles[0].filename: is the name of the staged model (gear.wbpz)',
    ],
    [
      'that lies above an additional file',
      { ...withModel(['name', 'gear.wbpz']), ...withFiles({ filename: 'gear.wbpz/a', content: '' }) },
      /^additionalFiles\[0\].filename: /,
    ],
    [
      'to a missing additional file',
      withFiles({ filename: 'a', storageName: 'none.wbpz' }),
      `additionalFiles[0].storageName: ${none}`,
    ],
    ['to an additional file of a name that is none', withFiles({ filename: 'a', storageName: 'a/b' }), name],
    [
      'beside a content',
      withFiles({ filename: 'a', content: '', storageName: 'gear.wbpz' }),
      'additionalFiles[0].storageName: and content exclude each other',
    ],
    [
      'in neither form',
      withFiles({ filename: 'a', content: null }),
      'additionalFiles[0].content: is required, or storageName in its place',
    ],
  ])('%s', async (_, request, message) => {
    await put('gear.wbpz', 'the model');
    expectError(await api.post(PATH, request), 400, PATH, message);
    expect((await api.get('/api/2.0/workbench/task/list')).body['totalElements']).toBe(0);
  });

  it('when the name has expired', async () => {
    const runtime = new HandDrivenRuntime();
    await replaceHub({ runtime, config: { storage: { input: { expireAfter: '1h' } } } });
    await put('none.wbpz', 'x');
    const request = withModel(['name', 'none.wbpz']);
    runtime.skip(3_599_999);
    expect((await api.post(PATH, request)).status).toBe(201);
    runtime.skip(1);
    expectError(await api.post(PATH, request), 400, PATH, `${PARAMETERS}: name: ${none}`);
  });

  it('with 423 while the input storage is off', async () => {
    await replaceHub({ config: { storage: { input: { enabled: false } } } });
    const off = 'the input storage of this hub is not enabled (storage.input.enabled)';
    for (const request of [
      withModel(['name', 'gear.wbpz']),
      withModel(),
      withFiles({ filename: 'a', storageName: 'abc' }),
    ]) {
      expectError(await api.post(PATH, request), 423, PATH, off);
    }
  });
});
