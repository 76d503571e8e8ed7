/** Creation of a batch job by a form (contract 12.21). */
import { randomBytes } from 'node:crypto';
import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import { FakeAgent } from '../support/agents/fake-agent.js';
import { eventually } from '../support/eventually.js';
import { api, hub, hubForEachTest, replaceHub } from '../support/hubs/hub-for-tests.js';
import { type Answer, expectError } from '../support/interface/api.js';
import { type FormPart, formOf } from '../support/interface/forms.js';
import { blobFiles, upload } from '../support/interface/input-storage.js';

const FORM = '/api/x/tasks/form';
const LARGE = randomBytes(300_000);

hubForEachTest();

const file = (part: string, fileName: string, content: string | Buffer): FormPart => ({
  head: `Content-Disposition: form-data; name="${part}"; filename="${fileName}"`,
  content,
});
const text = (part: string, content: string): FormPart => ({
  head: `Content-Disposition: form-data; name="${part}"`,
  content,
});
const SCRIPT = file('script', 'run.js', 'print(1)');

function create(parts: readonly FormPart[], headers: Record<string, string> = {}): Promise<Answer> {
  const form = formOf(parts);
  return api.call('POST', FORM, { raw: form.raw, headers: { ...form.headers, ...headers } });
}

/** Contents of the inputs of a task, by path. */
async function inputsOf(id: unknown): Promise<Record<string, string>> {
  const { body } = await api.get(`/api/x/tasks/${id}`);
  const inputs = body['inputs'] as { path: string; kind: string; size: number }[];
  return Object.fromEntries(inputs.map(({ path, kind, size }) => [path, `${kind} ${size}`]));
}

it('a form with every part creates the same job as JSON', async () => {
  await upload('mesh.stl', 'the mesh');
  const {
    status,
    body,
    text: shown,
  } = await create([
    text('name', 'run 7'),
    text('note', 'softer bearing'),
    text('variable', 'load=12=13'),
    text('variable', 'empty='),
    text('version', '9.*'),
    text('labels', 'gears, linux'),
    text('priority', 'high'),
    text('timeLimit', '60'),
    SCRIPT,
    file('script', 'second.js', LARGE),
    file('model', 'gear.wbpz', LARGE),
    file('file', 'parts/a.txt', 'a'),
    file('file', 'b.txt', ''),
    text('storedFile', 'parts/mesh.stl=mesh.stl'),
    text('storedFile', 'mesh.stl'),
  ]);
  expect(status, shown).toBe(201);
  expect(body).toMatchObject({
    type: 'EXECUTE_BATCH_JOB',
    name: 'run 7',
    note: 'softer bearing',
    status: 'WAITING',
    priority: 'HIGH',
    classifiers: [
      { type: 'VERSION', value: '9.*' },
      { type: 'LABLES', value: 'gears, linux' },
      { type: 'PRIORITY', value: expect.stringMatching(/high/i) },
    ],
  });
  const details = (await api.get(`/api/x/tasks/${body['id']}`)).body;
  expect(details).toMatchObject({
    timeLimit: 60,
    variables: [
      { key: 'load', value: '12=13' },
      { key: 'empty', value: '' },
    ],
  });
  expect(Object.values(await inputsOf(body['id'])).sort()).toEqual(
    [
      'ADDITIONAL_FILE 0',
      'ADDITIONAL_FILE 1',
      'ADDITIONAL_FILE 8',
      'ADDITIONAL_FILE 8',
      'MODEL 300000',
      'SCRIPT 300000',
      'SCRIPT 8',
    ].sort(),
  );
});

it('a job by a form runs on an agent with its files', async () => {
  const agent = await FakeAgent.join(hub);
  const { body } = await create([SCRIPT, file('model', 'gear.inp', LARGE)]);
  const { job } = await agent.hear('assign');
  expect(job).toMatchObject({ type: 'EXECUTE_BATCH_JOB', model: { path: 'model.inp', sizeBytes: 300_000 } });
  expect(body['id']).toEqual(expect.any(String));
  await agent.leave();
});

it('a form with the same Idempotency-Key creates one task', async () => {
  const key = { 'idempotency-key': 'once' };
  const first = await create([SCRIPT], key);
  const again = await create([SCRIPT], key);
  expect(again.body['id']).toBe(first.body['id']);
  expect(again.headers.get('idempotency-replayed')).toBe('true');
  expect((await create([SCRIPT, text('name', 'another')], key)).status).toBe(422);
});

describe('a form is refused, and nothing of it is kept,', () => {
  it.each<[string, FormPart[], string]>([
    ['without a script', [text('name', 'x')], 'script: is required: a file'],
    [
      'with an unknown text',
      [SCRIPT, text('variables', 'a=1')],
      'form: has the unknown part "variables"; known are script, model, file, modelType, storedModel, hostModel, storedFile, variable, name, note, version, labels, priority, timeLimit',
    ],
    ['with a file in place of a text', [SCRIPT, file('name', 'a.txt', 'x')], 'name: must be a text'],
    ['with a text in place of a file', [text('script', 'print(1)')], 'script: must be a file'],
    [
      'with two models',
      [SCRIPT, file('model', 'a.inp', 'x'), file('model', 'b.inp', 'y')],
      'model: must be given once',
    ],
    ['with two names', [SCRIPT, text('name', 'a'), text('name', 'b')], 'name: must be given once'],
    [
      'with a model and a stored one',
      [SCRIPT, file('model', 'a.inp', 'x'), text('storedModel', 'gear.inp')],
      'model: storedModel and hostModel exclude each other',
    ],
    [
      'with a model without a type',
      [SCRIPT, file('model', 'gear', 'x')],
      'modelType: is required: the file name of the model has no ending',
    ],
    [
      'with a variable without a value',
      [SCRIPT, text('variable', 'load')],
      'variable: must be like key=value',
    ],
    ['with a time limit that is no number', [SCRIPT, text('timeLimit', '1e3')], 'timeLimit: '],
    [
      'with a file name that leads out of the folder',
      [SCRIPT, file('file', '../a.txt', LARGE)],
      'additionalFiles[0].filename: ',
    ],
    [
      'with an absolute file name',
      [SCRIPT, file('file', '/etc/passwd', LARGE)],
      'additionalFiles[0].filename: ',
    ],
    [
      'with a stored file that there is not',
      [SCRIPT, text('storedFile', 'gone.stl')],
      'additionalFiles[0].storageName: there is no file gone.stl',
    ],
    ['with an unknown priority', [SCRIPT, text('priority', 'URGENT')], 'classifiers[0].value: '],
  ])('%s', async (_, parts, message) => {
    const answer = await create(
      [file('script', 'large.js', LARGE), ...parts].slice(message.startsWith('script: is required') ? 1 : 0),
    );
    expect(answer.status, answer.text).toBe(400);
    expect(answer.body['message']).toContain(message);
    await eventually(async () => (await blobFiles()).length === 0);
    expect((await api.get('/api/x/tasks')).body).toMatchObject({ tasks: [] });
  });

  it('that is cut off', async () => {
    const { raw, headers } = formOf([SCRIPT, file('model', 'gear.wbpz', Buffer.alloc(3_000_000, 'x'))]);
    const { hostname, port } = new URL(hub.address);
    const socket = connect(Number(port), hostname);
    socket.write(
      `POST ${FORM} HTTP/1.1\r\nhost: ${hostname}\r\ncontent-length: ${raw.length}\r\ncontent-type: ${headers['content-type']}\r\n\r\n`,
    );
    socket.write(raw.subarray(0, 1_500_000));
    await eventually(async () => (await blobFiles()).length > 0);
    socket.destroy();
    await eventually(async () => (await blobFiles()).length === 0);
    expect((await api.get('/api/x/tasks')).body).toMatchObject({ tasks: [] });
    expect(hub.log.filter(({ level }) => level >= 40)).toEqual([]);
  });

  it('that is none', async () => {
    const json = { raw: '{}', headers: { 'content-type': 'application/json' } };
    const message = 'body: must be multipart/form-data with a boundary';
    expectError(await api.call('POST', FORM, json), 400, FORM, message);
    const { raw, headers } = formOf([SCRIPT]);
    const half = { raw: raw.subarray(0, raw.length - 10), headers };
    expectError(await api.call('POST', FORM, half), 400, FORM, /^body: is no multipart\/form-data: /);
  });
});

describe('the limits of a form', () => {
  it.each<[string, object, FormPart[], number, RegExp]>([
    [
      'limits.fileSize',
      { fileSize: 100_000 },
      [SCRIPT, file('file', 'a', LARGE)],
      413,
      /^file: a file may have at most 100000 bytes/,
    ],
    [
      'limits.requestBody',
      { requestBody: 400_000 },
      [SCRIPT, file('file', 'a', LARGE), file('file', 'b', LARGE)],
      413,
      /400000 bytes \(limits\.requestBody\)/,
    ],
    [
      'limits.filesPerTask',
      { filesPerTask: 2 },
      [SCRIPT, file('file', 'a', 'a'), file('file', 'b', 'b')],
      400,
      /at most 2 files/,
    ],
  ])('%s', async (_, limits, parts, status, message) => {
    await replaceHub({ config: { limits } });
    expectError(await create(parts), status, FORM, message);
    await eventually(async () => (await blobFiles()).length === 0);
  });

  it('1 MiB of texts', async () => {
    const texts = Array.from({ length: 20 }, (_, at) => text('variable', `v${at}=${'x'.repeat(60_000)}`));
    expectError(
      await create([SCRIPT, ...texts]),
      413,
      FORM,
      'the texts of a form may have at most 1048576 bytes',
    );
    expect((await create([SCRIPT, ...texts.slice(0, 15)])).status).toBe(201);
  });

  it('1,000 small files are taken', async () => {
    const files = Array.from({ length: 1000 }, (_, at) => file('file', `f${at}.txt`, `content ${at}`));
    const { status, text: shown } = await create([SCRIPT, ...files]);
    expect(status, shown).toBe(201);
  });
});
