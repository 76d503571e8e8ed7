/** The storage on real processes: the examples of its page, and a hub with a full disk. */
import { execFile, spawnSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.js';
import { formWithFile } from '../support/interface/forms.js';
import { base64, outputsOf, restClient } from '../support/interface/rest-client.js';
import { metadataOf } from '../support/interface/resumable-uploads.js';
import { codeBlock } from '../support/pages/code-blocks.js';
import {
  endPrograms,
  type HubProgram,
  type Program,
  startAgent,
  startHub,
} from '../support/programs/programs.js';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.js';

const MIB = 1024 * 1024;

let folder: TemporaryFolder;
beforeEach(async () => {
  folder = await temporaryFolder();
});
afterEach(async () => {
  await endPrograms();
  await folder.remove();
});

it('one upload, two runs and two downloads go as the page on the storage says', async () => {
  const hub = await startHub(folder.path);
  startAgent(folder.path, hub, 'my-host', { instances: [{ id: 'sim', version: '9.1.0' }] });
  const page = 'packages/docs/storage.md';
  const script = codeBlock(page, '# 1. Upload the model').replace('http://127.0.0.1:8080', hub.baseUrl);
  const check = codeBlock(page, 'grep -i etag');
  const { stdout } = await promisify(execFile)('bash', ['-euc', `${script}\n${check}`], { cwd: folder.path });
  const [first, second, etag = '', sum = ''] = stdout.split('\n');
  expect([first, second]).toEqual(['speed 500 rpm', 'speed 1500 rpm']);
  const digest = /^([0-9a-f]{64}) /.exec(sum)?.[1];
  expect(etag).toMatch(new RegExp(`^etag: "${digest}"`, 'i'));
});

/** The most memory that a program has had. */
function peakMib({ process: { pid } }: Program): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024;
}

it.runIf(process.platform === 'linux')(
  'a large file takes little of the memory of hub and agent on its way in and out',
  async () => {
    const fileMib = 192;
    const hub = await startHub(folder.path);
    const agent = startAgent(folder.path, hub, 'host', { instances: [{ id: 'sim', version: '9.1.0' }] });
    await agent.logged(({ msg }) => msg === 'joined the hub');
    const before = [hub, agent].map(peakMib);
    const [head = '', tail = ''] = formWithFile('large.bin', 'CONTENT').raw.toString().split('CONTENT');
    const { headers } = formWithFile('large.bin', 'CONTENT');
    async function* body() {
      yield Buffer.from(head);
      for (let sent = 0; sent < fileMib; sent++) yield Buffer.alloc(MIB, sent);
      yield Buffer.from(tail);
    }
    const uploaded = await fetch(`${hub.baseUrl}/api/2.0/storage/input/upload`, {
      ...{ method: 'POST', headers, body: ReadableStream.from(body()) as ReadableStream, duplex: 'half' },
    });
    expect(uploaded.status).toBe(204);
    const client = restClient(hub.baseUrl);
    const id = await client.createBatchJob({
      inputModelReference: { type: 'INPUT_STORAGE', parameters: [{ key: 'name', value: 'large.bin' }] },
      // Another content, so that it travels back.
      inputScripts: [
        {
          content: base64(
            '#!/bin/sh\nset -eu\ncat "$WORKBENCH_MODEL" > "$WORKBENCH_OUTPUT_STORAGE/longer"\nprintf x >> "$WORKBENCH_OUTPUT_STORAGE/longer"',
          ),
        },
      ],
    });
    expect(await client.batchJobResult(id)).toMatchObject({
      ...{ status: 'FINISHED', storedFiles: [{ size: fileMib * MIB + 1 }] },
    });
    const downloaded = await fetch(`${hub.baseUrl}/api/2.0/storage/output/${id}-longer/download`);
    let bytes = 0;
    for await (const piece of downloaded.body ?? []) bytes += (piece as Uint8Array).length;
    expect(bytes).toBe(fileMib * MIB + 1);
    const grown = [hub, agent].map((program, at) => peakMib(program) - (before[at] ?? 0));
    for (const mib of grown) expect(mib).toBeLessThan(fileMib / 2);
  },
);

it('a resumable upload by hand goes as the page on the storage says', async () => {
  const hub = await startHub(folder.path);
  const content = randomBytes(300_000);
  writeFileSync(join(folder.path, 'gearbox-8.txt'), content);
  const script = codeBlock('packages/docs/storage.md', 'UPLOADS=$');
  const run = promisify(execFile)('bash', ['-euo', 'pipefail', '-c', script], {
    cwd: folder.path,
    env: { ...process.env, HUB: `${hub.baseUrl}/api/2.0` },
  });
  await run;
  const list = await fetch(`${hub.baseUrl}/api/x/storage/input`);
  const digest = createHash('sha256').update(content).digest('hex');
  expect(await list.json()).toEqual({ files: [expect.objectContaining({ name: 'gearbox-8.txt', digest })] });
});

it.each(['', '?encrypt=true'])(
  'a hub that is killed during a resumable upload%s goes on with it',
  async (query) => {
    const content = randomBytes(64 * MIB);
    let hub = await startHub(folder.path);
    const headers = { 'tus-resumable': '1.0.0' };
    const metadata = { filename: 'gear.txt', sha256: createHash('sha256').update(content).digest('hex') };
    const begun = await fetch(`${hub.baseUrl}/api/x/storage/input/uploads${query}`, {
      method: 'POST',
      headers: {
        ...headers,
        'upload-length': String(content.length),
        'upload-metadata': metadataOf(metadata),
      },
    });
    const { id } = (await begun.json()) as { id: string };
    const address = () => `${hub.baseUrl}/api/x/storage/input/uploads/${id}`;
    const offset = async () =>
      Number((await fetch(address(), { method: 'HEAD', headers })).headers.get('upload-offset'));
    const begin = (at: number) => {
      const request = httpRequest(address(), {
        method: 'PATCH',
        headers: {
          ...headers,
          'content-type': 'application/offset+octet-stream',
          'content-length': content.length - at,
          'upload-offset': at,
        },
      });
      request.on('error', () => undefined);
      return request;
    };
    begin(0).write(content.subarray(0, 40 * MIB));
    await eventually(async () => (await offset()) >= 32 * MIB);
    await hub.kill();
    hub = await startHub(folder.path);
    const at = await offset();
    expect(at).toBeGreaterThanOrEqual(32 * MIB);
    const last = begin(at);
    const answered = once(last, 'response');
    last.end(content.subarray(at));
    const [{ statusCode }] = (await answered) as [{ statusCode: number }];
    expect(statusCode).toBe(204);
    const list = await fetch(`${hub.baseUrl}/api/x/storage/input`);
    expect(await list.json()).toEqual({ files: [expect.objectContaining({ size: content.length })] });
    expect(readdirSync(join(folder.path, 'hub', 'files', 'uploads'))).toEqual([]);
  },
  60_000,
);

it('a hub that is killed during an upload keeps the file to be replaced, and nothing of the new one', async () => {
  const hub = await startHub(folder.path);
  const first = formWithFile('gear.txt', 'the first');
  const upload = `${hub.baseUrl}/api/2.0/storage/input/upload`;
  expect((await fetch(upload, { method: 'POST', body: first.raw, headers: first.headers })).status).toBe(204);
  const { raw, headers } = formWithFile('gear.txt', Buffer.alloc(4_000_000, 'the second'));
  const request = httpRequest(`${upload}?overwrite=true`, {
    method: 'POST',
    headers: { ...headers, 'content-length': raw.length },
  });
  request.on('error', () => undefined);
  request.write(raw.subarray(0, 2_000_000));
  const incoming = join(folder.path, 'hub', 'files', 'incoming');
  await eventually(() =>
    readdirSync(incoming).some((name) => statSync(join(incoming, name)).size > 1_000_000),
  );
  await hub.kill();

  const again = await startHub(folder.path);
  expect(readdirSync(incoming)).toEqual([]);
  startAgent(folder.path, again, 'my-host', { instances: [{ id: 'sim', version: '9.1.0' }] });
  const client = restClient(again.baseUrl);
  const id = await client.createBatchJob({
    inputModelReference: { type: 'INPUT_STORAGE', parameters: [{ key: 'name', value: 'gear.txt' }] },
    inputScripts: [{ content: base64('#!/bin/sh\ncp "$WORKBENCH_MODEL" copy') }],
  });
  expect(outputsOf(await client.batchJobResult(id))).toEqual({ copy: 'the first' });
});

/** Runs a command whose folder is a disk of this size. */
const onDisk = (path: string, mebibytes: number) => [
  ...['unshare', '--map-root-user', '--mount', 'sh', '-c'],
  ...[`mount -t tmpfs -o size=${mebibytes}m tmpfs "$0" && exec "$@"`, path],
];
/** Not every system lets all users mount in a namespace of their own. */
const mayMount = () => {
  const [command = '', ...words] = onDisk('/mnt', 1);
  return spawnSync(command, [...words, 'true']).status === 0;
};

describe.runIf(mayMount())('a hub whose disk is full', () => {
  const LARGE = Buffer.alloc(24 * 1024 * 1024, 'more than there is room for');
  const SMALL = Buffer.alloc(2 * 1024 * 1024, 'little enough');
  const INPUT = '/api/2.0/storage/input';
  let hub: HubProgram;
  beforeEach(async () => {
    const files = join(folder.path, 'hub', 'files');
    mkdirSync(files, { recursive: true });
    hub = await startHub(folder.path, {}, 0, onDisk(files, 16));
  });

  const upload = async (content: Buffer, query = '') => {
    const { raw, headers } = formWithFile('gear.wbpz', content);
    return fetch(`${hub.baseUrl}${INPUT}/upload${query}`, { method: 'POST', body: raw, headers });
  };
  const createWith = (content: Buffer) =>
    fetch(`${hub.baseUrl}/api/2.0/workbench/task/execute-batch-job/create`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        inputModel: { type: 'WBPZ', content: content.toString('base64') },
        inputScripts: [{ content: base64('print(1)') }],
      }),
    });
  const createByForm = (content: Buffer) => {
    const form = new FormData();
    form.append('script', new Blob(['print(1)']), 'run.js');
    form.append('model', new Blob([new Uint8Array(content)]), 'gear.wbpz');
    return fetch(`${hub.baseUrl}/api/x/tasks/form`, { method: 'POST', body: form });
  };
  const sendAsAgent = async (content: Buffer) => {
    const token = readFileSync(join(folder.path, 'hub', 'agent-token'), 'utf8').trim();
    const digest = createHash('sha256').update(content).digest('hex');
    return fetch(`${hub.baseUrl}/agent/files/${digest}`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${token}` },
      body: content,
    });
  };

  it.each<[string, (content: Buffer) => Promise<Response>, number]>([
    ['an upload', (content) => upload(content, '?overwrite=true'), 204],
    ['an encrypted upload', (content) => upload(content, '?overwrite=true&encrypt=true'), 204],
    ['a batch job in JSON', createWith, 201],
    ['a batch job in a form', createByForm, 201],
    ['an output of an agent', sendAsAgent, 204],
  ])('refuses %s with 507, and keeps nothing of it', async (_, send, good) => {
    expect((await upload(SMALL)).status).toBe(204);
    const answer = await send(LARGE);
    expect(answer.status).toBe(507);
    expect(await answer.json()).toMatchObject({
      status: 507,
      error: 'Insufficient Storage',
      message: 'the disk of the hub is full; the file was not kept',
      path: new URL(answer.url).pathname,
    });
    for (const path of ['/livez', '/readyz']) expect((await fetch(hub.baseUrl + path)).status).toBe(200);
    const info = await fetch(`${hub.baseUrl}${INPUT}/gear.wbpz`);
    expect(await info.json()).toEqual({ exists: true });
    // An amount that would not fit if anything had stayed.
    expect((await send(Buffer.alloc(12 * 1024 * 1024, 'fits'))).status).toBe(good);
  });

  it('refuses a resumable upload that does not fit, and goes on with one when there is room again', async () => {
    const uploads = `${hub.baseUrl}/api/x/storage/input/uploads`;
    const begin = (bytes: number) =>
      fetch(`${uploads}?encrypt=true`, {
        method: 'POST',
        headers: {
          'tus-resumable': '1.0.0',
          'upload-length': String(bytes),
          'upload-metadata': metadataOf({ filename: 'other.wbpz' }),
        },
      });
    const refused = await begin(LARGE.length);
    expect([refused.status, await refused.text()]).toEqual([507, expect.stringContaining('bytes left')]);
    const { id } = (await (await begin(7 * MIB)).json()) as { id: string };
    const headers = {
      'tus-resumable': '1.0.0',
      'content-type': 'application/offset+octet-stream',
      'upload-offset': '0',
    };
    expect((await upload(Buffer.alloc(4 * MIB, 'takes room'))).status).toBe(204);
    const body = Buffer.alloc(7 * MIB, 'there is no room for this twice');
    const full = await fetch(`${uploads}/${id}`, { method: 'PATCH', headers, body });
    expect(full.status).toBe(507);
    expect((await fetch(`${uploads}/${id}`)).status).toBe(507);
    await fetch(`${hub.baseUrl}${INPUT}/gear.wbpz/delete`, { method: 'DELETE' });
    const finished = await eventually(async () => {
      const response = await fetch(`${uploads}/${id}`);
      return response.status === 200 ? response : undefined;
    });
    expect(await finished.json()).toMatchObject({ stored: true, received: 7 * MIB });
  });
});
