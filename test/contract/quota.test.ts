/** Disk space of one user: the quota of the input storage covers the stored data, not only names. */
import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { FakeAgent } from '../support/agents/fake-agent.js';
import { eventually } from '../support/eventually.js';
import { api, hub, hubForEachTest } from '../support/hubs/hub-for-tests.js';
import { base64 } from '../support/interface/api.js';
import { formWithFile } from '../support/interface/forms.js';
import { beginUpload, bytesOnDisk, INPUT, upload } from '../support/interface/input-storage.js';

const TASK = '/api/2.0/workbench/task';
const KIB = 1024;
/** A tenth of the size that was tried by hand. */
const QUOTA_BYTES = 1024 * KIB;
const FILE_BYTES = 300 * KIB;

hubForEachTest({ config: { storage: { input: { quotaPerUser: QUOTA_BYTES } } } });

const contentOf = (number: number, bytes = FILE_BYTES) => Buffer.alloc(bytes, `content number ${number} `);

describe.each(['', '&encrypt=true'])('with the query "%s"', (encrypt) => {
  it('overwriting one name 25 times leaves one blob', async () => {
    const most: number[] = [];
    for (let number = 0; number < 25; number++) {
      expect((await upload('model.bin', contentOf(number), `?overwrite=true${encrypt}`)).status).toBe(204);
      most.push(await bytesOnDisk());
    }
    // Encryption adds a little to the size of the blob.
    expect(Math.max(...most)).toBeLessThan(FILE_BYTES + KIB);
  });

  it('a deleted file is removed at once, and its space is free', async () => {
    for (let round = 0; round < 3; round++) {
      for (let number = 0; number < 3; number++) {
        const content = contentOf(10 * round + number);
        expect((await upload(`model-${number}`, content, `?overwrite=false${encrypt}`)).status).toBe(204);
      }
      expect((await upload('more', contentOf(99), `?overwrite=false${encrypt}`)).status).toBe(413);
      for (let number = 0; number < 3; number++) await api.delete(`${INPUT}/model-${number}/delete`);
    }
    await eventually(async () => (await bytesOnDisk()) === 0);
  });

  it('simultaneous uploads share the quota, and refused ones leave nothing', async () => {
    const uploads = Array.from({ length: 8 }, (_, number) =>
      upload(`model-${number}`, contentOf(number), `?overwrite=false${encrypt}`),
    );
    const statuses = (await Promise.all(uploads)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 204).length).toBeLessThanOrEqual(3);
    expect(new Set(statuses)).toEqual(new Set([204, 413]));
    const named = statuses.filter((status) => status === 204).length * FILE_BYTES;
    await eventually(async () => (await bytesOnDisk()) < named + KIB);
  });

  it('an upload in progress counts until it is complete or aborted', async () => {
    const content = contentOf(1, 900 * KIB);
    const query = `?overwrite=false${encrypt}`;
    const slow = await beginUpload(formWithFile('slow', content), 800 * KIB, query);
    await eventually(async () => (await bytesOnDisk()) > 700 * KIB);
    expect((await upload('other', contentOf(2), query)).status).toBe(413);
    expect(await slow.finish()).toBe(204);
    expect((await upload('other', contentOf(2, 100 * KIB), query)).status).toBe(204);

    await api.delete(`${INPUT}/slow/delete`);
    await eventually(async () => (await bytesOnDisk()) < 101 * KIB);
    const broken = await beginUpload(formWithFile('broken', content), 800 * KIB, query);
    await eventually(async () => (await bytesOnDisk()) > 800 * KIB);
    expect((await upload('third', contentOf(3), query)).status).toBe(413);
    broken.cut();
    await eventually(async () => (await bytesOnDisk()) < 101 * KIB);
    expect((await upload('third', contentOf(3), query)).status).toBe(204);
  });

  it('a blob with another name stays when it loses one', async () => {
    const content = contentOf(1);
    for (const name of ['one', 'two'])
      await upload(name.padEnd(3, '-'), content, `?overwrite=false${encrypt}`);
    await api.delete(`${INPUT}/one/delete`);
    await upload('other', contentOf(2), `?overwrite=false${encrypt}`);
    await eventually(async () => (await bytesOnDisk()) < 2 * FILE_BYTES + KIB);
    await api.batchJob({
      inputScripts: [{ content: base64('1') }],
      inputModelReference: { type: 'INPUT_STORAGE', parameters: [{ key: 'name', value: 'two' }] },
    });
  });
});

describe('a task', () => {
  it('that is deleted frees the space of its outputs within seconds', async () => {
    const agent = await FakeAgent.join(hub);
    const id = await api.batchJob();
    const { ref } = await agent.hear('assign');
    const file = await agent.upload(contentOf(1));
    await agent.end(ref, 'OK', { outputFiles: [{ path: 'a', ...file }] });
    expect(await bytesOnDisk()).toBe(FILE_BYTES);
    expect((await api.delete(`${TASK}/${id}/delete`)).status).toBe(204);
    await eventually(async () => (await bytesOnDisk()) === 0);
    await agent.leave();
  });

  it('whose report no longer counts leaves no uploaded blobs', async () => {
    const agent = await FakeAgent.join(hub);
    const id = await api.batchJob();
    const { ref } = await agent.hear('assign');
    const file = await agent.upload(contentOf(1));
    expect((await api.delete(`${TASK}/${id}/cancel?force=true`)).status).toBe(204);
    expect((await api.delete(`${TASK}/${id}/delete`)).status).toBe(204);
    expect(await agent.end(ref, 'OK', { outputFiles: [{ path: 'a', ...file }] })).toBe(false);
    await eventually(async () => (await bytesOnDisk()) === 0);
    await agent.leave();
  });

  it('keeps uploaded blobs until the report, also when another reference to them is removed', async () => {
    const agent = await FakeAgent.join(hub);
    const id = await api.batchJob();
    const { ref } = await agent.hear('assign');
    await upload('same', contentOf(1));
    // The agent is told that the hub has it.
    const digest = createHash('sha256').update(contentOf(1)).digest('hex');
    expect((await agent.file(digest, { method: 'HEAD' })).status).toBe(200);
    await api.delete(`${INPUT}/same/delete`);
    await upload('another', contentOf(2));
    const file = { digest, sizeBytes: FILE_BYTES };
    expect(await agent.end(ref, 'OK', { outputFiles: [{ path: 'a', ...file }] })).toBe(true);
    expect((await agent.file(digest)).status).toBe(200);
    expect((await api.task(id))['status']).toBe('FINISHED');
    await agent.leave();
  });
});

it('a refused request leaves no blobs', async () => {
  const large = contentOf(1, 400 * KIB).toString('base64');
  const body = {
    inputScripts: [{ content: large }],
    additionalFiles: [{ filename: '../out', content: large }],
  };
  expect((await api.post(`${TASK}/execute-batch-job/create`, body)).status).toBe(400);
  await eventually(async () => (await bytesOnDisk()) === 0);
});

it('a download completes although its file is deleted meanwhile', async () => {
  const content = contentOf(1, 40_000 * KIB);
  const agent = await FakeAgent.join(hub);
  const id = await api.batchJob();
  const { ref } = await agent.hear('assign');
  const file = await agent.upload(content);
  await agent.end(ref, 'OK', {
    outputFiles: [
      { path: 'a', ...file },
      { path: 'b', ...file },
    ],
  });
  const answer = await fetch(`${hub.address}${TASK}/execute-batch-job/${id}/result`);
  expect((await api.delete(`${TASK}/${id}/delete`)).status).toBe(204);
  const { outputFiles } = (await answer.json()) as { outputFiles: { content: string }[] };
  expect(outputFiles.map(({ content }) => Buffer.from(content, 'base64').length)).toEqual([
    content.length,
    content.length,
  ]);
  await eventually(async () => (await bytesOnDisk()) === 0);
  await agent.leave();
});
