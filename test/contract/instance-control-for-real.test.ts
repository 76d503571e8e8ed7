/** Start, stop, restart and logs with a real hub, a real agent and a real instance program (contract 6.3 and 6.4). */
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { eventually } from '../support/eventually.js';
import { Api, base64 } from '../support/interface/api.js';
import { endPrograms, startAgent, startHub } from '../support/programs/programs.js';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.js';

const INSTANCE = '/api/2.0/workbench/node/instance/sim';
const TASKS = '/api/2.0/workbench/task';

let folder: TemporaryFolder;
let api: Api;
beforeEach(async () => {
  folder = await temporaryFolder();
  const hub = await startHub(folder.path);
  startAgent(folder.path, hub, 'host', { instances: [{ id: 'sim', version: '1' }] });
  api = new Api({ address: hub.baseUrl });
  await becomes('UP');
});
afterEach(async () => {
  await endPrograms();
  await folder.remove();
});

const instance = async () => (await api.get(INSTANCE)).body;

async function becomes(status: string) {
  return eventually(async () => {
    const { body } = await api.get(INSTANCE);
    expect(body).toMatchObject({ status });
    return body;
  });
}

async function order(command: string): Promise<void> {
  const { status, text } = await api.call('PATCH', `${INSTANCE}/${command}`);
  expect([status, text]).toEqual([202, '']);
}

/** A job that runs until the test lets it end; resolves when it runs. */
async function runJob() {
  const [began, mayEnd] = [join(folder.path, 'began'), join(folder.path, 'may-end')];
  const script = `
    const { existsSync, writeFileSync } = require('node:fs');
    writeFileSync(${JSON.stringify(began)}, '');
    println('to the console');
    console.error('to stderr');
    const look = setInterval(() => existsSync(${JSON.stringify(mayEnd)}) && clearInterval(look), 5);
  `;
  const id = await api.batchJob({ inputScripts: [{ content: base64(script) }] });
  await eventually(() => existsSync(began));
  return {
    id,
    end: async () => {
      writeFileSync(mayEnd, '');
      return (await api.get(`${TASKS}/execute-batch-job/${id}/result?timeout=20`)).body;
    },
  };
}

it('an instance stops and starts in the background, and ignores commands without effect', async () => {
  await order('start');
  expect(await instance()).toMatchObject({ status: 'UP', working: false });
  await order('stop');
  expect(await becomes('DOWN')).not.toHaveProperty('startedDatetime');
  await order('stop');
  expect(await instance()).toMatchObject({ status: 'DOWN' });

  const id = await api.simulateWork({ duration: 0 });
  expect(await api.task(id)).toMatchObject({ status: 'WAITING' });
  await order('start');
  const result = await api.get(`${TASKS}/simulate-work/${id}/result?timeout=20`);
  expect(result.body).toMatchObject({ status: 'FINISHED' });
});

it('a restarted instance has another process and another start time', async () => {
  const before = await instance();
  await order('restart');
  const after = await eventually(async () => {
    const now = await instance();
    return now['status'] === 'UP' && now['startedDatetime'] !== before['startedDatetime'] ? now : undefined;
  });
  expect(String(after['startedDatetime']) > String(before['startedDatetime'])).toBe(true);
});

it('a working instance first finishes its task', async () => {
  const job = await runJob();
  await order('stop');
  expect(await becomes('STOPPING')).toMatchObject({ working: true });
  expect(await job.end()).toMatchObject({ status: 'FINISHED', batchExecutionStatus: 'OK' });
  await becomes('DOWN');
});

it('the last of several commands counts', async () => {
  const job = await runJob();
  const before = await instance();
  await order('stop');
  await order('start');
  expect(await job.end()).toMatchObject({ status: 'FINISHED' });
  expect(await instance()).toMatchObject({ status: 'UP', startedDatetime: before['startedDatetime'] });
  await order('stop');
  await order('start');
  await becomes('UP');
  await order('start');
  await order('stop');
  await becomes('DOWN');
});

it('the log of an instance names a task and its request, in the lines of agent and runner', async () => {
  const script = '#!/bin/sh\nrm .workbench-script-1 && mkdir .workbench-script-1\n';
  const { body } = await api.call('POST', `${TASKS}/execute-batch-job/create`, {
    json: { inputScripts: [{ content: base64(script) }] },
    headers: { 'x-request-id': 'build-4711' },
  });
  const { id } = body as { id: string };
  const result = await api.get(`${TASKS}/execute-batch-job/${id}/result?timeout=20`);
  expect(result.body).toMatchObject({ status: 'FINISHED' });
  const { text } = await api.get(`${INSTANCE}/log/console`);
  expect(text).toContain(`[agent] task ${id}, request build-4711 begins\n`);
  expect(text).toMatch(/^workbench-runner: the file of a script stays in the working directory: /m);
  expect(text).toContain(` (task ${id}, request build-4711)\n`);
});

it('the logs of an instance are separate by type', async () => {
  const job = await runJob();
  await job.end();
  const log = async (type: string) => (await api.get(`${INSTANCE}/log/${type}`)).text;
  expect(await log('stdout')).toBe('to the console\n');
  expect(await log('stderr')).toBe('to stderr\n');
  const both = await log('console');
  expect(both).toContain('to the console\n');
  expect(both).toContain('to stderr\n');
  expect(both).toContain('[agent]');
  // The hub's own log is a file that it writes itself.
  expect((await api.get('/actuator/logfile')).text).toContain('the hub listens');
  const part = await api.call('GET', '/actuator/logfile', { headers: { range: 'bytes=0-0' } });
  expect([part.status, part.text]).toEqual([206, '{']);
});
