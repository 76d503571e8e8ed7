/** The output storage (contract 3.12, 4.5 and 7.6): files that scripts put into WORKBENCH_OUTPUT_STORAGE. */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readdir, readFile, readlink, writeFile } from 'node:fs/promises';
import { get, type IncomingMessage } from 'node:http';
import type { FileRef } from '@workbench-hub/shared/domain/job';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FakeAgent } from '../support/agents/fake-agent.js';
import { HandDrivenRuntime } from '../support/engine/hand-driven-runtime.js';
import { eventually } from '../support/eventually.js';
import { api, hub, hubForEachTest, replaceHub } from '../support/hubs/hub-for-tests.js';
import type { HubSetup } from '../support/hubs/running-hub.js';
import { expectError } from '../support/interface/api.js';
import { blobFiles, upload } from '../support/interface/input-storage.js';

const DAY_MS = 86_400_000;
const OUTPUT = '/api/2.0/storage/output';
const TASK = '/api/2.0/workbench/task';
const LARGE = Buffer.alloc(300_000, 'what a script left in the output storage; ');

let agent: FakeAgent;
hubForEachTest();
beforeEach(async () => {
  agent = await FakeAgent.join(hub);
});
afterEach(() => agent.leave());

async function start(setup: HubSetup): Promise<void> {
  await agent.leave();
  await replaceHub(setup);
  agent = await FakeAgent.join(hub);
}

/** Runs a task that leaves these files, by their names; resolves with its id. */
async function taskThatLeft(files: Readonly<Record<string, string | Buffer | FileRef>>): Promise<string> {
  const id = await api.batchJob();
  const { ref } = await agent.hear('assign');
  const storedFiles: (FileRef & { path: string })[] = [];
  for (const [path, content] of Object.entries(files)) {
    const file = typeof content === 'object' && 'digest' in content ? content : await agent.upload(content);
    storedFiles.push({ path, ...file });
  }
  // Not `end`, which waits for a clock that may stand still.
  agent.report(ref, 'OK', { storedFiles });
  await eventually(async () => (await api.task(id))['status'] === 'FINISHED');
  return id;
}

const pathOf = (id: string, name: string) => `${OUTPUT}/${encodeURIComponent(`${id}-${name}`)}/download`;

/** The bytes as they are, which `Api` would make a text of. */
async function download(path: string, headers: Record<string, string> = {}) {
  const answer = await fetch(hub.address + path, { headers });
  return { status: answer.status, headers: answer.headers, bytes: Buffer.from(await answer.arrayBuffer()) };
}

const digestOf = (content: Buffer) => createHash('sha256').update(content).digest('hex');

describe('the result of a task', () => {
  it('names its stored files, with sizes, in 2.x only', async () => {
    const id = await taskThatLeft({ 'motion.csv': '1;2\n', 'größe.bin': LARGE });
    const result = `workbench/task/execute-batch-job/${id}/result`;
    const { body } = await api.get(`/api/2.0/${result}`);
    expect(body).toMatchObject({ status: 'FINISHED', outputFiles: [] });
    expect(body['storedFiles']).toEqual([
      { name: `${id}-motion.csv`, size: 4 },
      { name: `${id}-größe.bin`, size: 300_000 },
    ]);
    for (const generation of ['1.0', '1.1']) {
      expect((await api.get(`/api/${generation}/${result}`)).body).not.toHaveProperty('storedFiles');
    }
  });

  it('has no such field without stored files, nor before the end', async () => {
    const result = async (id: string) => (await api.get(`${TASK}/execute-batch-job/${id}/result`)).body;
    expect(await result(await taskThatLeft({}))).not.toHaveProperty('storedFiles');
    expect(await result(await api.batchJob())).not.toHaveProperty('storedFiles');
  });

  it('names stored files of failed scripts too', async () => {
    const id = await api.batchJob();
    const { ref } = await agent.hear('assign');
    await agent.end(ref, 'ERROR', { storedFiles: [{ path: 'a', ...(await agent.upload('a')) }] });
    expect((await download(pathOf(id, 'a'))).bytes.toString()).toBe('a');
  });
});

describe('a download from the output storage', () => {
  it.each<[string, Buffer]>([
    ['empty', Buffer.alloc(0)],
    ['small', Buffer.from([0, 255, 10, 13])],
    ['large', LARGE],
  ])('of a file that is %s returns its bytes under its name', async (_, content) => {
    const path = pathOf(await taskThatLeft({ 'a.bin': content }), 'a.bin');
    const { status, headers, bytes } = await download(path);
    expect([status, bytes.equals(content)]).toEqual([200, true]);
    expect(Object.fromEntries(headers)).toMatchObject({
      'content-type': 'application/octet-stream',
      'content-length': `${content.length}`,
      'content-disposition': expect.stringMatching(/^attachment; filename="[0-9a-f-]{36}-a\.bin"$/),
      'accept-ranges': 'bytes',
      'cache-control': 'private, no-cache',
      'x-content-type-options': 'nosniff',
      etag: `"${digestOf(content)}"`,
    });
    const head = await api.call('HEAD', path);
    expect([head.status, head.text, head.headers.get('content-length')]).toEqual([
      200,
      '',
      `${content.length}`,
    ]);
  });

  it.each(['größe 1.csv', 'a"b', '50%.txt', '...', '-', '工具.bin', "it's", 'x'.repeat(200)])(
    'works for a file named %j',
    async (name) => {
      const id = await taskThatLeft({ [name]: 'content' });
      const { status, headers, bytes } = await download(pathOf(id, name));
      expect([status, bytes.toString()]).toEqual([200, 'content']);
      const exact = /filename\*=UTF-8''(.*)$/.exec(headers.get('content-disposition') ?? '')?.[1];
      const plain = /filename="(.*?)"/.exec(headers.get('content-disposition') ?? '')?.[1];
      expect(exact === undefined ? plain : decodeURIComponent(exact)).toBe(`${id}-${name}`);
    },
  );

  it.each<[string, number, number]>([
    ['bytes=0-0', 0, 1],
    ['bytes=100000-199999', 100_000, 200_000],
    ['bytes=299999-', 299_999, 300_000],
    ['bytes=-5', 299_995, 300_000],
    ['bytes=-400000', 0, 300_000],
    ['bytes=299990-400000', 299_990, 300_000],
  ])('of the range %s returns that range', async (range, from, to) => {
    const path = pathOf(await taskThatLeft({ a: LARGE }), 'a');
    const { status, headers, bytes } = await download(path, { range });
    expect([status, headers.get('content-range')]).toEqual([206, `bytes ${from}-${to - 1}/300000`]);
    expect(headers.get('content-length')).toBe(`${to - from}`);
    expect(bytes.equals(LARGE.subarray(from, to))).toBe(true);
  });

  it('of an unsatisfiable range is refused; of several ranges or another unit it returns the whole file', async () => {
    const path = pathOf(await taskThatLeft({ a: LARGE }), 'a');
    const beyond = await api.call('GET', path, { headers: { range: 'bytes=300000-' } });
    expectError(beyond, 416, path, 'the file has 300000 bytes');
    expect(beyond.headers.get('content-range')).toBe('bytes */300000');
    for (const range of ['bytes=0-1,5-6', 'lines=1-2', 'bytes=5-4', 'bytes=']) {
      const { status, bytes } = await download(path, { range });
      expect([status, bytes.length]).toEqual([200, 300_000]);
    }
  });

  it('by HEAD describes the whole file, because only GET has ranges', async () => {
    const path = pathOf(await taskThatLeft({ a: LARGE }), 'a');
    for (const range of ['bytes=0-9', 'bytes=300000-']) {
      const { status, headers } = await api.call('HEAD', path, { headers: { range } });
      const told = [status, headers.get('content-length'), headers.get('content-range')];
      expect(told).toEqual([200, '300000', null]);
    }
  });

  it('is resumed only for an unchanged file, and omitted when the client has it', async () => {
    const path = pathOf(await taskThatLeft({ a: LARGE }), 'a');
    const etag = `"${digestOf(LARGE)}"`;
    const range = 'bytes=299999-';
    expect((await download(path, { range, 'if-range': etag })).status).toBe(206);
    expect((await download(path, { range, 'if-range': '"another"' })).status).toBe(200);
    for (const known of [etag, `"x", W/${etag}`, '*']) {
      const { status, bytes, headers } = await download(path, { 'if-none-match': known });
      expect([status, bytes.length, headers.get('etag')]).toEqual([304, 0, etag]);
    }
    expect((await download(path, { 'if-none-match': '"another"' })).status).toBe(200);
  });

  it.each(['nothing', '..%2f..%2fetc%2fpasswd', 'a%00b', '%ff', 'x'.repeat(5000)])(
    'of a missing file is answered with 404: %s',
    async (name) => {
      const path = `${OUTPUT}/${name}/download`;
      expectError(await api.get(path), 404, path, /^there is no file ".*" in the output storage/);
    },
  );

  it('does not find files of the input storage', async () => {
    await upload('gear.wbpz', 'x');
    expect((await api.get(`${OUTPUT}/gear.wbpz/download`)).status).toBe(404);
  });

  it('that its client aborts leaves no file open', async () => {
    const content = Buffer.alloc(40_000_000, 'more than the sockets between the two hold');
    const path = pathOf(await taskThatLeft({ a: content }), 'a');
    const digest = digestOf(content);
    // The hub runs in this process.
    const open = async () => {
      const names = await readdir('/proc/self/fd');
      const targets = await Promise.all(
        names.map((name) => readlink(`/proc/self/fd/${name}`).catch(() => '')),
      );
      return targets.filter((target) => target.includes(digest)).length;
    };
    for (const headers of [{}, { range: 'bytes=1000-39999999' }]) {
      const asked = get(hub.address + path, { headers });
      const [answer] = (await once(asked, 'response')) as [IncomingMessage];
      await once(answer, 'readable');
      await eventually(async () => (await open()) === 1);
      answer.destroy();
      await eventually(async () => (await open()) === 0);
    }
  });

  it('that has begun completes when the file expires meanwhile', async () => {
    const runtime = new HandDrivenRuntime();
    await start({ runtime, config: { storage: { output: { expireAfter: '1d' } } } });
    // More than the sockets between the two hold.
    const content = Buffer.alloc(40_000_000, 'a content that takes a while');
    const id = await taskThatLeft({ a: content });
    const answer = await new Promise<IncomingMessage>((resolve) => {
      get(hub.address + pathOf(id, 'a'), resolve);
    });
    runtime.skip(DAY_MS);
    await runtime.advance(60_000);
    await eventually(() => hub.log.some(({ msg }) => msg === 'swept what is no longer kept'));
    await eventually(async () => (await blobFiles()).length === 0);
    expect((await api.get(pathOf(id, 'a'))).status).toBe(404);
    const hash = createHash('sha256');
    answer.on('data', (piece) => hash.update(piece));
    await once(answer, 'end');
    expect(hash.digest('hex')).toBe(digestOf(content));
  });
});

describe('a stored file of a task', () => {
  it('outlives the task', async () => {
    const id = await taskThatLeft({ a: LARGE });
    expect((await api.delete(`${TASK}/${id}/delete`)).status).toBe(204);
    expect((await download(pathOf(id, 'a'))).bytes.equals(LARGE)).toBe(true);
  });

  it('expires, also while the task is kept', async () => {
    const runtime = new HandDrivenRuntime();
    await start({ runtime, config: { storage: { output: { expireAfter: '2d' } } } });
    const id = await taskThatLeft({ a: LARGE, b: 'small' });
    runtime.skip(2 * DAY_MS - 1);
    expect((await api.get(pathOf(id, 'a'))).status).toBe(200);
    runtime.skip(1);
    expect((await api.get(pathOf(id, 'a'))).status).toBe(404);
    const { body } = await api.get(`${TASK}/execute-batch-job/${id}/result`);
    expect(body['storedFiles']).toHaveLength(2);
  });

  it('is not kept when the attempt no longer counts', async () => {
    const id = await api.batchJob();
    const { ref } = await agent.hear('assign');
    expect((await api.delete(`${TASK}/${id}/cancel?force=true`)).status).toBe(204);
    expect((await api.delete(`${TASK}/${id}/delete`)).status).toBe(204);
    const file = await agent.upload('late');
    expect(await agent.end(ref, 'OK', { storedFiles: [{ path: 'a', ...file }] })).toBe(false);
    expect((await api.get(pathOf(id, 'a'))).status).toBe(404);
  });

  it('must have been uploaded', async () => {
    await api.batchJob();
    const { ref } = await agent.hear('assign');
    agent.report(ref, 'OK', { storedFiles: [{ path: 'a', digest: 'a'.repeat(64), sizeBytes: 5 }] });
    expect(await agent.closed()).toMatch(/a report of task [0-9a-f-]{36} names a/);
  });

  it('may be an encrypted blob that somebody else stored, and reads the same', async () => {
    await upload('same', LARGE, '?encrypt=true');
    const file = { digest: digestOf(LARGE), sizeBytes: LARGE.length };
    const path = pathOf(await taskThatLeft({ a: file }), 'a');
    expect(await blobFiles()).toEqual([expect.stringMatching(/[0-9a-f]{64}\.sealed$/)]);
    expect((await download(path)).bytes.equals(LARGE)).toBe(true);
    const { status, bytes } = await download(path, { range: 'bytes=131000-262200' });
    expect([status, bytes.equals(LARGE.subarray(131_000, 262_201))]).toEqual([206, true]);
  });

  it('that is damaged is never returned as if it were complete', async () => {
    const content = Buffer.alloc(3_000_000, 'long enough that its beginning has left before its end is read');
    await upload('same', content, '?encrypt=true');
    const path = pathOf(await taskThatLeft({ a: { digest: digestOf(content), sizeBytes: 3_000_000 } }), 'a');
    const [file = ''] = await blobFiles();
    const whole = await readFile(file);
    const damage = async (at: number) => {
      const damaged = Buffer.from(whole);
      damaged[at] = (damaged[at] ?? 0) ^ 1;
      await writeFile(file, damaged);
    };

    await damage(whole.length - 20);
    await expect(download(path)).rejects.toThrow();
    const told = 'download aborted: the stored file cannot be read to its end';
    expect(hub.log.find(({ msg }) => msg === told)).toMatchObject({ digest: digestOf(content) });
    const good = await download(path, { range: 'bytes=0-99' });
    expect([good.status, good.bytes.equals(content.subarray(0, 100))]).toEqual([206, true]);

    for (const at of [5, 60, 200]) {
      await damage(at);
      const answer = await api.get(path);
      expect([answer.status, answer.text.includes(hub.config.dataDir)]).toEqual([500, false]);
    }
  });
});

it('the output storage answers 423 while it is off, and the agent is told to send no stored files', async () => {
  await start({ config: { storage: { output: { enabled: false } } } });
  expect(agent.heard.find(({ type }) => type === 'welcome')).toMatchObject({ outputStorage: false });
  const id = await taskThatLeft({ a: 'x' });
  const off = 'the output storage of this hub is not enabled (storage.output.enabled)';
  expectError(await api.get(pathOf(id, 'a')), 423, pathOf(id, 'a'), off);
  const { body } = await api.get(`${TASK}/execute-batch-job/${id}/result`);
  expect(body).not.toHaveProperty('storedFiles');
  const told = 'files for the output storage were dropped: it is not enabled (storage.output.enabled)';
  expect(hub.log.find(({ msg }) => msg === told)).toMatchObject({ taskId: id, files: 1 });
});
