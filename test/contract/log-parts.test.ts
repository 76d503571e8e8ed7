/** Logs of tasks and instances, and the log file, in part: tail, offset and Range (contract 12.17). */
import { appendFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { AttemptRef } from '@workbench-hub/shared/domain/task';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { FakeAgent } from '../support/agents/fake-agent.js';
import { HandDrivenRuntime } from '../support/engine/hand-driven-runtime.js';
import { eventually } from '../support/eventually.js';
import { type RunningHub, startHub } from '../support/hubs/running-hub.js';
import { type Answer, Api, expectError } from '../support/interface/api.js';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.js';

const INSTANCE = '/api/2.0/workbench/node/instance/sim-1/log/console';
const LOGFILE = '/actuator/logfile';

let folder: TemporaryFolder;
let file: string;
let hub: RunningHub;
let api: Api;
let agent: FakeAgent;
beforeAll(async () => {
  folder = await temporaryFolder();
  file = join(folder.path, 'hub.log');
  hub = await startHub({ config: { log: { file } } });
  api = new Api(hub);
});
beforeEach(async () => {
  agent = await FakeAgent.join(hub);
});
afterEach(() => agent.leave());
afterAll(async () => {
  await hub.stop();
  await folder.remove();
});

/** Status, text and positions. */
function seen({ status, text, headers }: Answer) {
  const position = (name: string) => (headers.has(name) ? Number(headers.get(name)) : undefined);
  return [status, text, position('log-offset'), position('log-next-offset')];
}

const logOf = (id: string, query = '') => `/api/2.0/workbench/task/${id}/log${query}`;
const ranged = (path: string, range: string) => api.call('GET', path, { headers: { range } });

describe('the log of a running task', () => {
  let id: string;
  let ref: AttemptRef;
  let printed: string;
  beforeEach(async () => {
    id = await api.batchJob();
    ({ ref } = await agent.hear('assign'));
    printed = '';
  });
  afterEach(() => agent.end(ref, 'OK'));

  async function print(text: string): Promise<void> {
    agent.say({ type: 'output', ref, offset: printed.length, text });
    printed += text;
    await eventually(async () => (await api.get(logOf(id))).text.endsWith(text));
  }

  it('is followed by the offset of the previous response, until the task has ended', async () => {
    expect(seen(await api.get(logOf(id, '?offset=0')))).toEqual([204, '', 0, 0]);
    await print('größe 😀\n');
    expect(seen(await api.get(logOf(id, '?offset=0')))).toEqual([200, 'größe 😀\n', 0, 9]);
    expect(seen(await api.get(logOf(id, '?offset=9')))).toEqual([204, '', 9, 9]);
    await print('two\n');
    expect(seen(await api.get(logOf(id, '?offset=9')))).toEqual([200, 'two\n', 9, 13]);
    const log = await agent.upload(`${printed}the end\n`);
    await agent.end(ref, 'OK', { log });
    expect(seen(await api.get(logOf(id, '?offset=13')))).toEqual([200, 'the end\n', undefined, undefined]);
    expect(seen(await api.get(logOf(id, '?offset=21')))).toEqual([204, '', undefined, undefined]);
    expect(seen(await api.get(logOf(id, '?tail=2')))).toEqual([200, 'two\nthe end\n', undefined, undefined]);
    expect(seen(await ranged(logOf(id, '?tail=2'), 'bytes=4-6'))).toEqual([206, 'the', undefined, undefined]);
  });

  it('begins anew for an offset of an earlier attempt', async () => {
    await print('first attempt\n');
    agent.report(ref, 'INSTANCE_LOST');
    ({ ref } = await agent.hear('assign', ({ ref: { attempt } }) => attempt === 2));
    printed = '';
    await print('second\n');
    expect(seen(await api.get(logOf(id, '?offset=14')))).toEqual([200, 'second\n', 0, 7]);
  });

  it('says where a part begins if its beginning is not kept, without a remark in the text', async () => {
    printed = 'x'.repeat(10);
    await print('later\n');
    expect((await api.get(logOf(id))).text).toBe('[… 10 characters before this]\nlater\n');
    expect(seen(await api.get(logOf(id, '?offset=3')))).toEqual([200, 'later\n', 10, 16]);
    expect(seen(await api.get(logOf(id, '?tail=5')))).toEqual([200, 'later\n', 10, 16]);
  });

  it('is returned in ranges of bytes', async () => {
    await print('größe\nend\n');
    const part = await ranged(logOf(id), 'bytes=8-');
    expect(seen(part)).toEqual([206, 'end\n', undefined, undefined]);
    expect(part.headers.get('content-range')).toBe('bytes 8-11/12');
    const beyond = await ranged(logOf(id), 'bytes=12-');
    expectError(beyond, 416, logOf(id), 'the log of the task has 12 bytes');
    expect(beyond.headers.get('content-range')).toBe('bytes */12');
    const conditional = { range: 'bytes=8-', 'if-range': '"another"' };
    expect((await api.call('GET', logOf(id), { headers: conditional })).status).toBe(200);
    const head = await api.call('HEAD', logOf(id));
    expect([head.status, head.headers.get('content-length'), head.headers.get('accept-ranges')]).toEqual([
      200,
      '12',
      'bytes',
    ]);
  });
});

it('the log of a waiting task has no part, whatever it says about the wait', async () => {
  const runtime = new HandDrivenRuntime();
  const waiting = await startHub({ runtime });
  onTestFinished(waiting.stop);
  const its = new Api(waiting);
  const id = await its.batchJob({ classifiers: [{ type: 'VERSION', value: 'none' }] });
  await runtime.advance(60_000);
  expect((await its.get(logOf(id))).text).toMatch(/^Waiting for 1 min: /);
  expect(seen(await its.get(logOf(id, '?offset=0')))).toEqual([204, '', 0, 0]);
  expect(seen(await its.get(logOf(id, '?tail=10')))).toEqual([204, '', 0, 0]);
});

it('the log of an ended task that has printed nothing has no part', async () => {
  const id = await api.batchJob();
  const { ref } = await agent.hear('assign');
  await agent.end(ref, 'OK');
  expect(seen(await api.get(logOf(id, '?tail=1')))).toEqual([204, '', undefined, undefined]);
});

describe('the log of an instance', () => {
  async function asked(query: string, text: string, offset?: number): Promise<unknown[]> {
    const answer = api.get(`${INSTANCE}${query}`);
    const { requestId } = await agent.hear('request');
    agent.say({ type: 'reply', requestId, error: null, text, ...(offset === undefined ? {} : { offset }) });
    return seen(await answer);
  }

  it('has positions since the agent started', async () => {
    expect(await asked('', 'one\ntwo\n', 100)).toEqual([200, 'one\ntwo\n', undefined, undefined]);
    expect(await asked('?offset=0', 'one\ntwo\n', 100)).toEqual([200, 'one\ntwo\n', 100, 108]);
    expect(await asked('?offset=104', 'one\ntwo\n', 100)).toEqual([200, 'two\n', 104, 108]);
    expect(await asked('?offset=108', 'one\ntwo\n', 100)).toEqual([200, '', 108, 108]);
    expect(await asked('?tail=1', 'one\ntwo\n', 100)).toEqual([200, 'two\n', 104, 108]);
    // The agent was restarted.
    expect(await asked('?offset=108', 'new\n', 0)).toEqual([200, 'new\n', 0, 4]);
  });

  it('has none from an agent of an earlier version, which gives all of it', async () => {
    expect(await asked('?offset=4', 'one\ntwo\n')).toEqual([200, 'one\ntwo\n', undefined, undefined]);
    expect(await asked('?tail=1', 'one\ntwo\n')).toEqual([200, 'two\n', undefined, undefined]);
  });

  it('is returned in ranges of bytes', async () => {
    const answer = ranged(INSTANCE, 'bytes=-4');
    const { requestId } = await agent.hear('request');
    agent.say({ type: 'reply', requestId, error: null, text: 'one\ntwo\n' });
    expect(seen(await answer)).toEqual([206, 'two\n', undefined, undefined]);
  });
});

describe('the log file', () => {
  it('is followed by offsets in bytes, also after a rotation', async () => {
    await writeFile(file, 'größe\ntwo\n');
    expect(seen(await api.get(`${LOGFILE}?tail=1`))).toEqual([200, 'two\n', 8, 12]);
    expect(seen(await api.get(`${LOGFILE}?tail=9`))).toEqual([200, 'größe\ntwo\n', 0, 12]);
    await appendFile(file, 'three\n');
    expect(seen(await api.get(`${LOGFILE}?offset=12`))).toEqual([200, 'three\n', 12, 18]);
    expect(seen(await api.get(`${LOGFILE}?offset=18`))).toEqual([200, '', 18, 18]);
    expect(seen(await ranged(`${LOGFILE}?offset=12`, 'bytes=0-1'))).toEqual([
      206,
      'th',
      undefined,
      undefined,
    ]);
    await rename(file, `${file}.1`);
    await writeFile(file, 'new\n');
    expect(seen(await api.get(`${LOGFILE}?offset=18`))).toEqual([200, 'new\n', 0, 4]);
  });

  it('is empty while there is none', async () => {
    await rename(file, `${file}.2`);
    expect(seen(await api.get(`${LOGFILE}?tail=1`))).toEqual([200, '', 0, 0]);
    expect(seen(await api.get(`${LOGFILE}?offset=5`))).toEqual([200, '', 0, 0]);
    await writeFile(file, '');
    expect(seen(await api.get(`${LOGFILE}?tail=1`))).toEqual([200, '', 0, 0]);
  });
});

describe('the part of a log', () => {
  const TAIL = 'tail: must be a whole number from 1 to 10000, given once';
  const OFFSET = 'offset: must be a whole number of at least 0, given once';
  it.each([
    ['?tail=0', TAIL],
    ['?tail=10001', TAIL],
    ['?tail=all', TAIL],
    ['?tail=1&tail=2', TAIL],
    ['?offset=-1', OFFSET],
    ['?offset=1.5', OFFSET],
    ['?tail=1&offset=0', 'tail: must not be given together with offset'],
  ])('is refused for %s', async (query, message) => {
    for (const path of [LOGFILE, INSTANCE, logOf(crypto.randomUUID())]) {
      expectError(await api.get(`${path}${query}`), 400, path, message);
    }
  });
});
