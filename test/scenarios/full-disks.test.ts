/** Disks of hub and agent that are really full. */
import { closeSync, openSync, readdirSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.js';
import { formWithFile } from '../support/interface/forms.js';
import { base64, outputsOf, restClient } from '../support/interface/rest-client.js';
import { endPrograms, type HubProgram, startAgent, startHub } from '../support/programs/programs.js';
import { hasSmallDisks, mountSmallDisk } from '../support/stores/small-disk.js';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.js';

const MIB = 1024 ** 2;
const UPLOAD = '/api/2.0/storage/input/upload';
const SIM = { instances: [{ id: 'sim', version: '1' }] };

let folder: TemporaryFolder;
let unmount: () => void = () => undefined;

beforeEach(async () => {
  folder = await temporaryFolder();
});

afterEach(async () => {
  await endPrograms();
  unmount();
  unmount = () => undefined;
  await folder.remove();
});

/** Fills the disk; returns a function that frees the space. */
function fill(disk: string): () => void {
  const path = join(disk, 'filler');
  const file = openSync(path, 'w');
  try {
    for (let bytes = MIB; bytes >= 1; ) {
      try {
        writeSync(file, Buffer.alloc(bytes, 'x'));
      } catch {
        bytes = Math.floor(bytes / 2);
      }
    }
  } finally {
    closeSync(file);
  }
  return () => rmSync(path);
}

/** Resolves with the error body of the hub. */
async function refused(hub: HubProgram, path: string, init: RequestInit): Promise<Record<string, unknown>> {
  const answer = await fetch(`${hub.baseUrl}${path}`, init);
  const body = (await answer.json()) as Record<string, unknown>;
  expect({ status: answer.status, ...body }).toMatchObject({ status: 507, path: path.split('?')[0] });
  return body;
}

describe.skipIf(!hasSmallDisks())('on a full disk', { timeout: 180_000 }, () => {
  it('the hub refuses data that is too large, keeps nothing of it, and continues', async () => {
    const data = join(folder.path, 'hub');
    unmount = mountSmallDisk(data, 24);
    const hub = await startHub(folder.path);
    startAgent(folder.path, hub, 'host', SIM);
    const client = restClient(hub.baseUrl);
    const large = Buffer.alloc(40 * MIB, 'large');

    for (const query of ['', '?encrypt=true']) {
      const { raw, headers } = formWithFile('model.bin', large);
      const { message } = await refused(hub, `${UPLOAD}${query}`, { method: 'POST', body: raw, headers });
      expect(message).toMatch(/disk of the hub is full/);
    }
    const job = {
      inputScripts: [{ content: base64('1') }],
      inputModel: { type: 'WBPZ', content: large.toString('base64') },
    };
    const create = '/api/2.0/workbench/task/execute-batch-job/create';
    await refused(hub, create, { method: 'POST', body: JSON.stringify(job) });
    expect(readdirSync(join(data, 'files', 'incoming'))).toEqual([]);

    const id = await client.createBatchJob({ inputScripts: [{ content: base64('println("done")') }] });
    expect((await client.batchJobResult(id)).status).toBe('FINISHED');
  });

  it('the hub serves reads, and tasks end as soon as there is space', async () => {
    const data = join(folder.path, 'hub');
    unmount = mountSmallDisk(data, 24);
    const hub = await startHub(folder.path);
    const agent = startAgent(folder.path, hub, 'host', SIM);
    const client = restClient(hub.baseUrl);
    const output = 'of many lines\n'.repeat(100_000);
    const wait = `
      const { existsSync, writeFileSync } = require('node:fs');
      while (!existsSync(go)) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
      writeFileSync('out.txt', 'of many lines\\n'.repeat(100_000));
    `;
    const go = join(folder.path, 'go');
    const id = await client.createBatchJob({
      inputScripts: [{ content: base64(wait) }],
      variablesToInject: [{ key: 'go', value: go }],
    });
    const statusOf = async () =>
      ((await client.call(`/api/2.0/workbench/task/${id}`)).json() as { status: string }).status;
    await eventually(async () => (await statusOf()) === 'RUNNING');

    const makeRoom = fill(data);
    closeSync(openSync(go, 'w'));
    await agent.logged(({ msg }) => msg === 'uploading a result failed; trying again');
    const job = JSON.stringify({ inputScripts: [{ content: base64('1') }], name: 'x'.repeat(200) });
    await eventually(async () => {
      // Free pages of the database may still hold a few.
      await refused(hub, '/api/2.0/workbench/task/execute-batch-job/create', { method: 'POST', body: job });
      return true;
    });
    expect(await statusOf()).toBe('RUNNING');
    expect((await client.call('/api/2.0/workbench/task/list')).status).toBe(200);

    makeRoom();
    const result = await client.batchJobResult(id);
    expect(result).toMatchObject({ status: 'FINISHED' });
    expect(outputsOf(result)['out.txt'] === output).toBe(true);
  });

  it('the hub cancels, deletes and renews, so that space can be freed', async () => {
    const data = join(folder.path, 'hub');
    unmount = mountSmallDisk(data, 48);
    const hub = await startHub(folder.path);
    const client = restClient(hub.baseUrl);
    const tasks = '/api/2.0/workbench/task';
    const content = Buffer.alloc(20_000, 'x').toString('base64');
    const nowhere = [{ type: 'VERSION', value: 'none' }];
    const request = { classifiers: nowhere, inputScripts: [{ content }] };
    const ids = await Promise.all(Array.from({ length: 40 }, () => client.createBatchJob(request)));
    const { raw, headers } = formWithFile('model.bin', Buffer.from('small'));
    const uploaded = await fetch(`${hub.baseUrl}${UPLOAD}`, { method: 'POST', body: raw, headers });
    expect(uploaded.status).toBe(204);

    fill(data);
    const create = { method: 'POST', body: JSON.stringify(request) };
    await eventually(async () => {
      await refused(hub, `${tasks}/execute-batch-job/create`, create);
      return true;
    });
    const statusOf = async (method: string, path: string) =>
      (await fetch(`${hub.baseUrl}${path}`, { method })).status;
    expect(
      await statusOf('GET', '/api/2.1/storage/input/status?name=model.bin&renewExpirationTimestamp=true'),
    ).toBe(200);
    for (const id of ids) {
      expect(await statusOf('DELETE', `${tasks}/${id}/cancel`)).toBe(204);
      expect(await statusOf('DELETE', `${tasks}/${id}/delete`)).toBe(204);
    }
    expect(await statusOf('DELETE', '/api/2.0/storage/input/model.bin/delete')).toBe(204);
    await refused(hub, `${tasks}/execute-batch-job/create`, create);
  });

  it('an agent returns its task, which fails with the reason when no other agent can run it', async () => {
    const hub = await startHub(folder.path, { tasks: { maxLosses: 2 } });
    const data = join(folder.path, 'host');
    unmount = mountSmallDisk(data, 8);
    startAgent(folder.path, hub, 'host', SIM);
    const client = restClient(hub.baseUrl);
    const model = { type: 'WBPZ', content: Buffer.alloc(12 * MIB, 'model').toString('base64') };
    const create = (rest: object) =>
      client.createBatchJob({ inputScripts: [{ content: base64('println("done")') }], ...rest });
    const result = await client.batchJobResult(await create({ inputModel: model }));
    expect(result).toMatchObject({
      status: 'FAILED',
      message: expect.stringMatching(
        /on the agent's host.*full: ENOSPC: it has 12582912 bytes, .* room for \d+$/,
      ),
    });
    expect(readdirSync(join(data, 'cache'))).toEqual([expect.stringMatching(/^[0-9a-f]{64}$/)]);
    expect((await client.batchJobResult(await create({}))).status).toBe('FINISHED');
  });

  /** Writes until the small disk is full, waits for the file `go` if there is one to wait for, and then fails. Does not fill a
   *  larger disk. */
  const FILL = `
    const { existsSync, openSync, writeFileSync, writeSync } = require('node:fs');
    const say = (file) => file && writeFileSync(file, '');
    const wait = (file) => {
      while (file && !existsSync(file)) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
    };
    println('filling');
    const file = openSync('results.bin', 'w');
    try {
      for (let chunk = 0; chunk < 1024; chunk++) writeSync(file, Buffer.alloc(65_536, 'x'));
      process.exit(4);
    } catch (error) {
      say(full);
      wait(go);
      println('cannot go on:', error.code);
      process.exit(3);
    }
  `;

  it('an agent returns a task that failed while its disk was full, and another agent runs it', async () => {
    const hub = await startHub(folder.path);
    unmount = mountSmallDisk(join(folder.path, 'small'), 8);
    const small = startAgent(folder.path, hub, 'small', {
      instances: [{ id: 'sim', version: '1', count: 2 }],
    });
    await small.logged(({ msg }) => msg === 'joined the hub');
    const client = restClient(hub.baseUrl);
    const [full, go] = ['full', 'go'].map((name) => join(folder.path, name));
    const inject = (values: Record<string, string | undefined>) =>
      Object.entries(values).map(([key, value = '']) => ({ key, value }));
    const filler = await client.createBatchJob({
      inputScripts: [{ content: base64(FILL) }],
      variablesToInject: inject({ full, go }),
    });
    const innocent = await client.createBatchJob({
      inputScripts: [
        {
          content: base64(`
            const { existsSync, writeFileSync } = require('node:fs');
            while (!existsSync(full)) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
            writeFileSync('out.txt', 'of many lines\\n'.repeat(20_000));
          `),
        },
      ],
      variablesToInject: inject({ full }),
    });
    const explained = async (id: string) => {
      const { message } = (await client.call(`/api/x/tasks/${id}/explain`)).json() as { message?: string };
      return message?.includes('returned it') ? message : undefined;
    };
    const why =
      /Agent small returned it \d+ s ago: the disk of the agent's host was full while the job ran \((0 bytes|[\d.]+ KiB( \(\d+ bytes\))?) of 8 MiB were free for working directories\); the job failed: /;
    expect(await eventually(() => explained(innocent))).toMatch(why);
    closeSync(openSync(go as string, 'w'));
    expect(await eventually(() => explained(filler))).toMatch(why);
    // The large disk is that of the machine.
    await client.cancel(filler, true);
    startAgent(folder.path, hub, 'large', SIM);
    const result = await client.batchJobResult(innocent);
    expect(result).toMatchObject({ status: 'FINISHED' });
    expect(outputsOf(result)['out.txt']).toBe('of many lines\n'.repeat(20_000));
  });

  it('a job that fills every disk finally fails, with the reason, the host and its log', async () => {
    const hub = await startHub(folder.path, { tasks: { maxLosses: 2 } });
    unmount = mountSmallDisk(join(folder.path, 'host'), 8);
    startAgent(folder.path, hub, 'host', SIM);
    const client = restClient(hub.baseUrl);
    const id = await client.createBatchJob({
      inputScripts: [{ content: base64(FILL) }],
      variablesToInject: ['full', 'go'].map((key) => ({ key, value: '' })),
    });
    expect(await client.batchJobResult(id)).toMatchObject({
      status: 'FAILED',
      message: expect.stringMatching(
        /^agents returned this task or were lost while running it 2 times \(tasks.maxLosses\), at last agent host: the disk of the agent's host was full while the job ran \(.* of 8 MiB were free for working directories\); the job failed: .*3/,
      ),
    });
    expect(await client.log(id)).toBe('filling\ncannot go on: ENOSPC\n');
  });
});
