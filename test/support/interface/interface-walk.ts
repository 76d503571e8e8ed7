/** A walk through every endpoint by a client and an agent: each call succeeds once, and most also fail once. */
import { randomUUID } from 'node:crypto';
import type { InstanceCrashes } from '@workbench-hub/shared/domain/instance';
import { expect } from 'vitest';
import type { FakeAgent } from '../agents/fake-agent.js';
import { eventually } from '../eventually.js';
import { passwordOf } from '../hubs/running-hub.js';
import type { Answer } from './api.js';

/** `json` may be a form or bytes instead. */
export type Call = (
  method: string,
  path: string,
  json?: unknown,
  headers?: Record<string, string>,
) => Promise<Pick<Answer, 'status' | 'text' | 'headers'>>;

/** Calls the hub, or a proxy before it, at `http://127.0.0.1:49152`. */
export async function callAt(
  address: string,
  ...[method, path, json, headers = {}]: Parameters<Call>
): Promise<Pick<Answer, 'status' | 'text' | 'headers'>> {
  const isJson = json !== undefined && !(json instanceof FormData) && !(json instanceof Uint8Array);
  const body = isJson ? JSON.stringify(json) : (json as FormData | Uint8Array<ArrayBuffer> | undefined);
  const response = await fetch(address + path, {
    method,
    ...(body === undefined ? {} : { body }),
    headers: { ...headers, ...(isJson ? { 'content-type': 'application/json' } : {}) },
  });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

const SCRIPT = { content: Buffer.from('print(1)').toString('base64') };
const NOWHERE = [
  { type: 'VERSION', value: 'none' },
  { type: 'LABLES', value: 'gears, linux' },
  { type: 'PRIORITY', value: 'LOW' },
];

/** Kinds of later requests that the agent of a walk answers. */
export const ANSWERS = ['instanceCrashes', 'updateState', 'update'];

/** Walks as the ADMIN `anna` over a hub to which the agent has joined with the instance `sim-1` and nothing to do; `updates`: the hub updates agents. */
export async function walkThroughInterface(
  call: Call,
  agent: FakeAgent,
  { updates = false }: { readonly updates?: boolean } = {},
): Promise<void> {
  const authorization = `Bearer ${await walkThroughLogIn(call)}`;
  const expected: Walker['expected'] = async (status, method, path, json, headers = {}) => {
    const answer = await call(method, path, json, { authorization, ...headers });
    expect(answer.status, `${method} ${path}: ${answer.text}`).toBe(status);
    return answer.text;
  };
  const created = async (path: string, json: unknown) =>
    (JSON.parse(await expected(201, 'POST', path, json)) as { id: string }).id;

  for (const path of [
    '/livez',
    '/readyz',
    '/actuator/health',
    '/actuator/info',
    '/actuator/logfile',
    '/actuator/logfile?offset=0',
    '/actuator/prometheus',
    '/openapi.json',
  ]) {
    await expected(200, 'GET', path);
  }
  await expected(200, 'GET', '/api/2.0/user');
  await expected(200, 'GET', '/api/x/caller');
  await expected(200, 'GET', '/api/x/hubs');
  await expected(200, 'GET', '/api/x/upstreams');
  await walkThroughHosts(expected);
  for (const generation of ['1.0', '1.1', '2.0']) {
    await walkThroughTasks(`/api/${generation}/workbench/task`, generation, { expected, created, agent });
    await walkThroughNodes(`/api/${generation}/workbench/node`, generation, { expected, agent });
  }
  await walkThroughStudies({ expected, created });
  await walkThroughInputs(expected);
  await walkThroughUploads(expected);
  await walkThroughForm(expected);
  await expected(200, 'GET', '/api/2.0/monitoring/server-info');
  await expected(200, 'GET', '/api/2.0/admin/prepare-shutdown');
  await expected(200, 'POST', '/api/2.0/admin/prepare-shutdown/change', { initiated: true });
  await expected(423, 'POST', '/api/2.0/workbench/task/simulate-work/create', { duration: 1 });
  await expected(423, 'POST', '/api/1.0/workbench/task/execute-batch-job/create', { inputScripts: [SCRIPT] });
  await expected(423, 'POST', '/api/x/tasks', { type: 'SIMULATE_WORK', duration: 1 });
  await expected(200, 'POST', '/api/2.0/admin/prepare-shutdown/change', { initiated: false });
  for (const version of ['9.1.0', 'none']) {
    await expected(200, 'POST', '/api/x/explain', { classifiers: [{ type: 'VERSION', value: version }] });
  }
  await walkThroughEvents(expected);
  await walkThroughDrains(expected, agent);
  await walkThroughUpdates(expected, agent, updates);
  await walkThroughTokens({ expected, created });
  await walkThroughUsers(expected);
  await expected(200, 'GET', '/api/x/audit?limit=10&outcome=REFUSED&from=2026-11-21T06:53:00Z');
}

/** An access token that outlives the session that the walk ends. */
async function walkThroughLogIn(call: Call): Promise<string> {
  const anna = { username: 'anna', password: passwordOf('anna') };
  const { text } = await call('POST', '/api/1.0/auth/login', anna);
  let { headers } = await call('POST', '/api/2.0/auth/login', anna);
  for (const path of ['/api/2.0/auth/refresh', '/api/2.0/auth/logout']) {
    const [cookie = ''] = headers.getSetCookie()[0]?.split(';') ?? [];
    const answer = await call('GET', path, undefined, { cookie });
    expect(answer.status, `${path}: ${answer.text}`).toBe(200);
    ({ headers } = answer);
  }
  return (JSON.parse(text) as { accessToken: string }).accessToken;
}

async function walkThroughEvents(expected: Walker['expected']) {
  await expected(200, 'GET', '/api/x/sign-on');
  // Without a provider; test/contract/browser-sign-on.test.ts has one.
  for (const path of ['begin', 'refresh', 'end']) await expected(404, 'POST', `/api/x/sign-on/${path}`);
  await expected(404, 'POST', '/api/x/sign-on/finish', { query: 'code=1&state=2' });
  await expected(200, 'GET', '/api/x/statistics?step=HOUR&to=2026-11-22T00:00:00Z');
  const filter = 'status=WAITING&instance=sim-1&from=2026-11-21T06:53:00Z';
  await expected(200, 'GET', `/api/x/tasks?limit=1&${filter}`);
  const { cursor, next } = JSON.parse(await expected(200, 'GET', '/api/x/tasks?limit=1')) as {
    cursor: string;
    next: string;
  };
  await expected(200, 'GET', `/api/x/tasks?limit=1&after=${next}`);
  expect(await expected(200, 'GET', `/api/x/events?timeout=0&since=${cursor}`)).toContain('event: hello');
  await expected(201, 'POST', '/api/x/tasks', { type: 'SIMULATE_WORK', duration: 1, classifiers: NOWHERE });
  const job = { type: 'EXECUTE_BATCH_JOB', inputScripts: [SCRIPT], classifiers: NOWHERE };
  await expected(201, 'POST', '/api/x/tasks', job);
  for (const action of ['cancel', 'delete']) {
    await expected(200, 'POST', `/api/x/tasks/${action}`, { filter: { name: 'nothing*' }, dryRun: true });
    await expected(200, 'POST', `/api/x/tasks/${action}`, { filter: { name: 'nothing*' }, dryRun: false });
  }
}

async function walkThroughDrains(expected: Walker['expected'], { id }: FakeAgent) {
  const path = '/api/x/agents';
  for (const [command, drained] of Object.entries({ drain: true, undrain: false })) {
    expect(await expected(200, 'POST', `${path}/${id}/${command}`)).toContain(`"drained":${drained}`);
    await expected(404, 'POST', `${path}/nobody/${command}`);
    await expected(200, 'GET', `${path}?page=0&size=5`);
    await expected(200, 'GET', `${path}/${id}`);
  }
  await expected(404, 'GET', `${path}/nobody`);
  await expected(201, 'POST', path, { id: 'host-9', validFor: 60 });
  await expected(204, 'POST', `${path}/host-9/revoke`);
  await expected(409, 'POST', `${path}/host-9/revoke`);
  await expected(404, 'POST', `${path}/nobody/revoke`);
}

async function walkThroughTokens({ expected, created }: Pick<Walker, 'expected' | 'created'>) {
  const path = '/api/x/tokens';
  const id = await created(path, { name: 'nightly build', expiresInDays: 7, role: 'USER' });
  await expected(200, 'GET', `${path}?user=anna&page=0&size=5`);
  await expected(204, 'DELETE', `${path}/${id}`);
  await expected(404, 'DELETE', `${path}/${id}`);
}

async function walkThroughUsers(expected: Walker['expected']) {
  const path = '/api/x/users';
  const password = passwordOf('newcomer');
  // Hubs on one database share their users, and each of them may be walked over.
  const username = `newcomer-${randomUUID()}`;
  await expected(201, 'POST', path, { username, password, roles: ['USER'] });
  await expected(409, 'POST', path, { username, password, roles: ['USER'] });
  await expected(200, 'GET', `${path}?page=0&size=5`);
  await expected(200, 'PATCH', `${path}/${username}`, { roles: ['VIEWER'], disabled: true });
  await expected(409, 'PATCH', `${path}/anna`, { disabled: true });
  await expected(404, 'PATCH', `${path}/nobody`, { disabled: true });
  await expected(204, 'POST', `${path}/${username}/password`, { password });
  await expected(409, 'POST', `${path}/anna/password`, { password });
  await expected(404, 'POST', `${path}/nobody/password`, { password });
  await expected(204, 'DELETE', `${path}/${username}/sessions`);
  await expected(404, 'DELETE', `${path}/nobody/sessions`);
}

async function walkThroughInputs(expected: Walker['expected']) {
  const base = '/api/2.0/storage/input';
  const form = new FormData();
  form.append('file', new Blob(['the model']), 'walk.wbpz');
  await expected(200, 'GET', '/api/2.1/storage/input/status');
  await expected(204, 'POST', `${base}/upload`, form);
  await expected(409, 'POST', `${base}/upload`, form);
  await expected(204, 'POST', `${base}/upload?overwrite=true&encrypt=true`, form);
  await expected(200, 'GET', `${base}/walk.wbpz?renewExpirationTimestamp=true`);
  expect(await expected(200, 'GET', '/api/x/storage/input?prefix=walk&owner=anna')).toContain('walk.wbpz');
  await expected(200, 'GET', '/api/x/storage/inputs/walk.wbpz');
  await expected(200, 'GET', '/api/x/storage/inputs/walk.wbpz/tasks');
  await expected(404, 'GET', '/api/x/storage/inputs/missing.wbpz');
  await expected(200, 'GET', '/api/x/storage/output?limit=1');
  await expected(204, 'DELETE', `${base}/walk.wbpz/delete`);
  await expected(200, 'GET', `${base}/walk.wbpz`);
}

async function walkThroughForm(expected: Walker['expected']) {
  const form = new FormData();
  form.append('script', new Blob(['print(1)']), 'run.js');
  form.append('version', 'none');
  form.append('variable', 'load=12');
  const { id } = JSON.parse(await expected(201, 'POST', '/api/x/tasks/form', form)) as { id: string };
  await expected(204, 'DELETE', `/api/2.0/workbench/task/${id}/cancel`);
  form.append('name', new Blob(['x']), 'name.txt');
  await expected(400, 'POST', '/api/x/tasks/form', form);
}

async function walkThroughUploads(expected: Walker['expected']) {
  const uploads = '/api/x/storage/input/uploads';
  const tus = { 'tus-resumable': '1.0.0' };
  const name = Buffer.from('resumed.wbpz').toString('base64');
  const begin = { ...tus, 'upload-length': '10', 'upload-metadata': `filename ${name}` };
  const send = (offset: number) => ({
    ...tus,
    'content-type': 'application/offset+octet-stream',
    'upload-offset': String(offset),
  });
  await expected(204, 'OPTIONS', uploads);
  await expected(412, 'POST', `${uploads}?overwrite=false`, undefined, {});
  const { id } = JSON.parse(await expected(201, 'POST', uploads, undefined, begin)) as { id: string };
  await expected(204, 'PATCH', `${uploads}/${id}`, new Uint8Array(4), send(0));
  await expected(409, 'PATCH', `${uploads}/${id}`, new Uint8Array(6), send(0));
  await expected(200, 'GET', uploads);
  await expected(200, 'GET', `${uploads}/${id}`);
  await expected(204, 'PATCH', `${uploads}/${id}`, new Uint8Array(6), send(4));
  await expected(409, 'POST', uploads, undefined, begin);
  await expected(204, 'DELETE', `${uploads}/${id}`, undefined, tus);
  await expected(404, 'DELETE', `${uploads}/${id}`, undefined, tus);
  await expected(204, 'DELETE', '/api/2.0/storage/input/resumed.wbpz/delete');
}

interface Walker {
  readonly expected: (
    status: number,
    method: string,
    path: string,
    json?: unknown,
    headers?: Record<string, string>,
  ) => Promise<string>;
  readonly created: (path: string, json: unknown) => Promise<string>;
  readonly agent: FakeAgent;
}

/** Changes each recipe of hosts that the hub has. */
async function walkThroughHosts(expected: Walker['expected']): Promise<void> {
  const { content } = JSON.parse(await expected(200, 'GET', '/api/x/hosts')) as {
    content: { name: string }[];
  };
  await expected(200, 'GET', '/api/x/hosts/hours?months=2');
  for (const { name } of content)
    for (const action of ['pause', 'resume', 'drain'])
      await expected(204, 'POST', `/api/x/hosts/${name}/${action}`);
}

/** On a study whose points no instance fits. */
async function walkThroughStudies({ expected, created }: Pick<Walker, 'expected' | 'created'>) {
  const base = '/api/x/studies';
  const levels = [{ variable: 'speed', values: [500, 1500] }];
  const study = {
    name: 'walk',
    inputScripts: [SCRIPT],
    classifiers: NOWHERE,
    variables: [{ name: 'speed' }],
    plan: { kind: 'GRID', levels },
    values: [
      {
        name: 'stress',
        source: { kind: 'LOG' },
        reader: { kind: 'REGULAR_EXPRESSION', pattern: 'stress (.*)' },
      },
    ],
  };
  const unknown = { kind: 'GRID', levels: [{ variable: 'load', values: [1] }] };
  await expected(400, 'POST', base, { ...study, plan: unknown });
  const id = await created(base, study);
  await expected(200, 'GET', `${base}?name=walk&limit=1`);
  await expected(200, 'GET', `${base}/${id}`);
  expect(await expected(200, 'GET', `${base}/${id}/events?timeout=0`)).toContain('event: study');
  await expected(200, 'GET', `${base}/${id}/points?outcome=OPEN&limit=1`);
  await expected(200, 'POST', `${base}/${id}/points`, { plan: { kind: 'LIST', points: [{ speed: 2500 }] } });
  await expected(200, 'POST', `${base}/${id}/pause`);
  await expected(409, 'POST', `${base}/${id}/pause`);
  await expected(200, 'POST', `${base}/${id}/resume`);
  await expected(409, 'DELETE', `${base}/${id}`);
  await expected(200, 'POST', `${base}/${id}/retry`, { outcomes: ['CANCELED'] });
  await expected(200, 'POST', `${base}/${id}/stop`);
  await eventually(async () => {
    const { points } = JSON.parse(await expected(200, 'GET', `${base}/${id}`)) as {
      points: { open: number };
    };
    return points.open === 0;
  });
  await expected(204, 'DELETE', `${base}/${id}`);
  await expected(404, 'GET', `${base}/${id}/points`);
  const invalidations = '/api/x/invalidations';
  const invalid = await created(invalidations, {
    kind: 'INSTANCE',
    instanceId: 'sim-1',
    note: 'wrong license',
  });
  await expected(200, 'GET', invalidations);
  await expected(204, 'DELETE', `${invalidations}/${invalid}`);
  await expected(404, 'DELETE', `${invalidations}/${invalid}`);
}

async function walkThroughTasks(base: string, generation: string, { expected, created, agent }: Walker) {
  const is2 = generation === '2.0';
  const explained = (id: string) => expected(200, 'GET', `/api/x/tasks/${id}/explain`);
  const shown = async (kind: string, id: string) => {
    await expected(200, 'GET', `${base}/${id}`);
    await expected(200, 'GET', `${base}/${kind}/${id}/result?timeout=0`);
    await explained(id);
  };
  const work = await created(`${base}/simulate-work/create`, { duration: 0, name: 'walk' });
  const { ref } = await agent.hear('assign');
  await shown('simulate-work', work);
  const waiting = await created(`${base}/simulate-work/create`, { duration: 1, classifiers: NOWHERE });
  await shown('simulate-work', waiting);
  for (const list of is2 ? ['list'] : ['list', 'list/running', 'list/waiting']) {
    await expected(200, 'GET', `${base}/${list}?page=0&size=5`);
  }
  if (is2) {
    await expected(
      200,
      'GET',
      `${base}/list?type=SIMULATE_WORK&priority=LOW&name=w*&status=WAITING&status=RUNNING`,
    );
    await expected(204, 'GET', `${base}/${work}/log`);
  }
  if (generation !== '1.1') {
    await expected(409, 'DELETE', `${base}/${work}/cancel`);
    await expected(204, 'DELETE', `${base}/${waiting}/cancel`);
    await expected(404, 'DELETE', `${base}/nobody/cancel`);
  }
  await agent.end(ref, 'OK');
  await shown('simulate-work', work);

  const job = await created(`${base}/execute-batch-job/create`, {
    inputScripts: [SCRIPT],
    inputModel: { type: 'WBPZ', content: SCRIPT.content },
    additionalFiles: [{ filename: 'a/b.txt', content: SCRIPT.content }],
    variablesToInject: [{ key: 'a', value: '1' }],
    timeLimit: 60,
  });
  const { ref: jobRef } = await agent.hear('assign');
  await shown('execute-batch-job', job);
  const file = await agent.upload(`output of ${generation}`);
  await agent.end(jobRef, is2 ? 'ERROR' : 'OK', {
    message: is2 ? 'script 1 exited with 7' : null,
    outputFiles: [{ path: 'plots/a.txt', ...file }],
    log: file,
    storedFiles: [{ path: 'movie.bin', ...file }],
  });
  await shown('execute-batch-job', job);
  await expected(404, 'GET', `${base}/${crypto.randomUUID()}`);
  await expected(404, 'GET', `${base}/simulate-work/${job}/result`);
  if (!is2) return;
  await walkThroughFiles(expected, job);
  await expected(200, 'GET', `/api/2.0/storage/output/${job}-movie.bin/download`);
  await expected(404, 'GET', `/api/2.0/storage/output/${job}-nothing/download`);
  await expected(200, 'GET', `${base}/${job}/log`);
  await expected(200, 'GET', `${base}/${job}/log?tail=1`);
  await expected(204, 'DELETE', `${base}/${job}/delete`);
  await expected(404, 'DELETE', `${base}/${job}/delete`);
}

async function walkThroughFiles(expected: Walker['expected'], id: string) {
  const base = `/api/x/tasks/${id}`;
  await expected(200, 'GET', base);
  await expected(200, 'GET', `${base}/inputs`);
  await expected(200, 'GET', `${base}/inputs/scripts%2F1`);
  await expected(404, 'GET', `${base}/inputs/scripts%2F2`);
  await expected(200, 'GET', `${base}/outputs`);
  expect(await expected(200, 'GET', `${base}/outputs/plots%2Fa.txt`)).toBe('output of 2.0');
  await expected(404, 'GET', `${base}/outputs/plots`);
  await expected(200, 'GET', `${base}/archive`);
  await expected(200, 'GET', `${base}/manifest`);
  await expected(200, 'GET', '/api/x/manifest-keys');
  expect(await expected(200, 'GET', `${base}/log?follow=true&since=1.3`)).toContain('event: end');
  for (const path of ['', '/inputs', '/inputs/scripts%2F1', '/log', '/manifest', '/outputs', '/outputs/a']) {
    await expected(404, 'GET', `/api/x/tasks/${crypto.randomUUID()}${path}`);
  }
}

/** The agent answers such requests. */
async function walkThroughCrashes(expected: Walker['expected'], agent: FakeAgent) {
  const path = '/api/x/instances/sim-1/crashes';
  const asked = async (status: number, reply: { error: string | null; crashes?: InstanceCrashes }) => {
    const answer = expected(status, 'GET', path);
    const { requestId } = await agent.hear('request');
    agent.say({ type: 'reply', requestId, text: null, ...reply });
    await answer;
  };
  const latest = [
    { agoMs: 10, reason: 'the instance program was ended by SIGSEGV', taskId: crypto.randomUUID() },
    { agoMs: 20, reason: 'the instance program exited with code 1 before it was ready', taskId: null },
  ];
  await asked(200, { error: null, crashes: { agentUpForMs: 1000, count: 2, latest } });
  await asked(502, { error: 'it cannot be done' });
  await expected(404, 'GET', '/api/x/instances/nobody/crashes');
}

/** The agent answers such requests. */
async function walkThroughUpdates(expected: Walker['expected'], agent: FakeAgent, updates: boolean) {
  const path = `/api/x/agents/${agent.id}/update`;
  const failed = { name: '0.2.0-9f86d081884c7d65', reason: 'it ended', log: 'why', agoMs: 10 };
  const idle = { unable: null, system: 'linux-x64', running: null, problem: null, failed };
  const tell = async (phase: 'IDLE' | 'DOWNLOADING', target: string | null) => {
    const { requestId } = await agent.hear('request');
    agent.say({ type: 'reply', requestId, error: null, text: null, update: { ...idle, phase, target } });
  };
  const state = expected(200, 'GET', path);
  await tell('IDLE', null);
  expect(await state).toContain('"version":"0.2.0-9f86d081884c7d65"');
  const untold = expected(502, 'GET', path);
  const { requestId } = await agent.hear('request');
  agent.say({ type: 'reply', requestId, error: 'it cannot be told', text: null });
  await untold;
  for (const method of ['GET', 'POST']) await expected(404, method, '/api/x/agents/nobody/update');
  expect(await expected(200, 'GET', '/api/x/rollout')).toContain(updates ? '"version"' : '"state":"OFF"');
  for (const action of ['stop', 'resume'])
    await expected(updates ? 200 : 409, 'POST', `/api/x/rollout/${action}`);
  if (!updates) return void (await expected(409, 'POST', path));
  const ordered = expected(200, 'POST', `${path}?again=true`);
  await tell('IDLE', null);
  await tell('DOWNLOADING', '0.1.0-0123456789abcdef');
  expect(await ordered).toContain('"phase":"DOWNLOADING"');
}

async function walkThroughNodes(
  base: string,
  generation: string,
  { expected, agent }: Omit<Walker, 'created'>,
) {
  const others = generation === '2.0' ? 'agent' : 'server';
  for (const path of [
    'instance/list?page=0&size=1',
    'instance/sim-1',
    `${others}/list?size=3`,
    `${others}/${agent.id}`,
  ]) {
    await expected(200, 'GET', `${base}/${path}`);
  }
  await expected(404, 'GET', `${base}/instance/nobody`);
  await expected(404, 'GET', `${base}/${others}/nobody`);
  const asked = async (status: number, method: string, path: string, text: string | null) => {
    const answer = expected(status, method, `${base}/instance/sim-1/${path}`);
    const { requestId } = await agent.hear('request');
    agent.say({ type: 'reply', requestId, error: status === 502 ? 'it cannot be done' : null, text });
    await answer;
  };
  if (generation === '1.1') return;
  for (const command of ['start', 'stop', ...(generation === '2.0' ? ['restart'] : [])]) {
    await asked(202, 'PATCH', command, null);
    await asked(502, 'PATCH', command, null);
    await expected(404, 'PATCH', `${base}/instance/nobody/${command}`);
  }
  if (generation !== '2.0') return;
  for (const type of ['stdout', 'stderr', 'console']) await asked(200, 'GET', `log/${type}`, `of ${type}\n`);
  await walkThroughCrashes(expected, agent);
  await expected(200, 'GET', `${base}/instance/list?version=9.*&labels=a&labels=b&status=UP&working=false`);
  await expected(200, 'GET', `${base}/agent/list?status=UP&status=DOWN&id=a*`);
}
