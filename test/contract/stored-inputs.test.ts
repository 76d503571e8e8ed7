/** A file of the input storage: its content, and who uses it (contract 12.27); all outputs of a task in one archive (12.25). */

import { execFileSync } from 'node:child_process';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { eventually } from '../support/eventually.js';
import { type RunningHub, startHub } from '../support/hubs/running-hub.js';
import { Api, base64, expectError } from '../support/interface/api.js';
import { sha256Of } from '../support/interface/resumable-uploads.js';

const INPUTS = '/api/x/storage/inputs';
const MANY = 101;

let hub: RunningHub;
let api: Api;
beforeEach(async () => {
  hub = await startHub({
    config: {
      storage: { input: { enabled: true } },
      instances: [{ id: 'sim', version: '9.1.0', labels: ['gears'] }],
    },
  });
  api = new Api(hub);
});
afterEach(() => hub.stop());

async function upload(name: string, content: string, encrypt = false): Promise<void> {
  const body = new FormData();
  body.append('file', new Blob([content]), name);
  const address = `${hub.address}/api/2.0/storage/input/upload?overwrite=true&encrypt=${encrypt}`;
  expect((await fetch(address, { method: 'POST', body })).status).toBe(204);
}

const job = (more: object) => api.batchJob({ classifiers: [{ type: 'LABLES', value: 'nowhere' }], ...more });
const named = (storageName: string) => ({ additionalFiles: [{ filename: 'a.txt', storageName }] });
const usersOf = async (name: string) => {
  const { status, body, text: shown } = await api.get(`${INPUTS}/${name}/tasks`);
  expect(status, shown).toBe(200);
  return body as { tasks: { id: string }[]; more: boolean };
};

it('is downloaded, whole and in part, also when it is encrypted', async () => {
  for (const [name, encrypt] of [
    ['plain.csv', false],
    ['sealed.csv', true],
  ] as const) {
    await upload(name, 'one,two', encrypt);
    const whole = await api.get(`${INPUTS}/${name}`);
    expect([whole.status, whole.text]).toEqual([200, 'one,two']);
    expect(whole.headers.get('content-disposition')).toBe(`attachment; filename="${name}"`);
    const part = await api.call('GET', `${INPUTS}/${name}`, { headers: { range: 'bytes=4-' } });
    expect([part.status, part.text]).toEqual([206, 'two']);
  }
  expectError(
    await api.get(`${INPUTS}/missing.csv`),
    404,
    `${INPUTS}/missing.csv`,
    /^there is no file "missing.csv" in the input storage/,
  );
});

it('whose large file is gone, as after a restore, is a 500, and the log says which one is missing', async () => {
  const content = 'a mesh of many cells '.repeat(5000);
  await upload('mesh.stl', content);
  const digest = sha256Of(Buffer.from(content));
  const files = await readdir(hub.blobFolder, { recursive: true });
  for (const file of files.filter((path) => path.endsWith(digest))) await rm(join(hub.blobFolder, file));
  expect((await api.get(`${INPUTS}/mesh.stl`)).status).toBe(500);
  const told = `blob ${digest} of "mesh.stl" in the INPUT storage is missing`;
  expect(
    hub.log.filter((line) => JSON.stringify(line).includes(JSON.stringify(told).slice(1, -1))),
  ).toHaveLength(1);
});

it('is used by the tasks that name it or bring the same content, newest first', async () => {
  await upload('used.csv', 'one,two');
  await upload('sealed.csv', 'one,two', true);
  expect(await usersOf('used.csv')).toEqual({ tasks: [], more: false });
  const naming = await job(named('used.csv'));
  const bringing = await job({ additionalFiles: [{ filename: 'b.txt', content: base64('one,two') }] });
  await job({ additionalFiles: [{ filename: 'b.txt', content: base64('other') }] });
  const used = await usersOf('used.csv');
  expect(used.tasks.map(({ id }) => id)).toEqual([bringing, naming]);
  await upload('used.csv', 'replaced');
  expect((await usersOf('used.csv')).tasks).toEqual([]);
  expectError(
    await api.get(`${INPUTS}/missing.csv/tasks`),
    404,
    `${INPUTS}/missing.csv/tasks`,
    /missing.csv/,
  );
});

it('names a bounded number of tasks, and says that there are more', async () => {
  await upload('used.csv', 'one,two');
  const ids: string[] = [];
  for (let at = 0; at < MANY; at++) ids.push(await job(named('used.csv')));
  const { tasks, more } = await usersOf('used.csv');
  expect(more).toBe(true);
  expect(tasks.map(({ id }) => id)).toEqual(ids.reverse().slice(0, MANY - 1));
});

it('has all outputs of a task in one archive', async () => {
  const script =
    "const fs = require('node:fs'); fs.mkdirSync('a'); fs.writeFileSync('a/ä.txt', 'one'); fs.writeFileSync('b.bin', '');";
  const id = await api.batchJob({ inputScripts: [{ content: base64(script) }] });
  await eventually(async () => (await api.get(`/api/x/tasks/${id}`)).body['status'] === 'FINISHED');
  const answer = await api.get(`/api/x/tasks/${id}/archive`);
  expect(answer.status).toBe(200);
  expect(answer.headers.get('content-disposition')).toBe(`attachment; filename="${id}.tar"`);
  const response = await fetch(`${hub.address}/api/x/tasks/${id}/archive`);
  const input = Buffer.from(await response.arrayBuffer());
  const tar = (...options: string[]) =>
    execFileSync('tar', options, { input, encoding: 'utf8', env: { ...process.env, LC_ALL: 'C.UTF-8' } });
  expect(tar('-tf', '-').trim().split('\n')).toEqual([`${id}/a/ä.txt`, `${id}/b.bin`]);
  expect(tar('-xOf', '-', `${id}/a/ä.txt`)).toBe('one');
  const head = await fetch(`${hub.address}/api/x/tasks/${id}/archive`, { method: 'HEAD' });
  expect(head.status).toBe(200);
  const missing = '/api/x/tasks/019aa4f2-6d3c-7c41-9f0e-5b2f6f1d2a77/archive';
  expectError(await api.get(missing), 404, missing, /task/);
});
