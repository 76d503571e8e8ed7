/** Names of the model and the scripts of a batch job (contract 12.40). */
import { describe, expect, it } from 'vitest';
import { FakeAgent } from '../support/agents/fake-agent.js';
import { api, hub, hubForEachTest } from '../support/hubs/hub-for-tests.js';
import { type Answer, base64, expectError } from '../support/interface/api.js';
import { formOf } from '../support/interface/forms.js';
import { upload } from '../support/interface/input-storage.js';
import { PATH, SCRIPT } from './batch-job-requests.js';

hubForEachTest();

const AGENT_2 = '0c0e5e0e-0000-4000-8000-000000000002';
const named = (filename: unknown, content = 'print(1)') => ({ content: base64(content), filename });
const stored = (filename: unknown) => ({
  type: 'INPUT_STORAGE',
  parameters: [{ key: 'name', value: 'content-7.mjcf' }],
  filename,
});

async function created(json: object): Promise<string> {
  const { status, body, text } = await api.call('POST', PATH, { json });
  expect(status, text).toBe(201);
  return String(body['id']);
}

/** The names of the inputs of a task by path, which its details and its list have alike. */
async function namesOf(id: unknown): Promise<Record<string, string | undefined>> {
  const { body } = await api.get(`/api/x/tasks/${id}/inputs`);
  const files = body['files'] as { path: string; filename?: string }[];
  expect((await api.get(`/api/x/tasks/${id}`)).body['inputs']).toEqual(files);
  return Object.fromEntries(files.map(({ path, filename }) => [path, filename]));
}

const savedAs = async (id: string, path: string) =>
  (await api.get(`/api/x/tasks/${id}/inputs/${path}`)).headers.get('content-disposition');

describe('the names of a model and of scripts', () => {
  it('are shown with the inputs, and the files are saved under them', async () => {
    const id = await created({
      inputModel: { type: 'MJCF', ...named('gear/ball.xml') },
      inputScripts: [named('throw.js'), SCRIPT, named('throw.js'), named('wörfe "3".js')],
      additionalFiles: [{ filename: 'a.txt', content: base64('a') }],
    });
    expect(await namesOf(id)).toEqual({
      'model/model.mjcf': 'gear/ball.xml',
      'scripts/1': 'throw.js',
      'scripts/2': undefined,
      'scripts/3': 'throw.js',
      'scripts/4': 'wörfe "3".js',
      'files/a.txt': undefined,
    });
    expect(await savedAs(id, 'model/model.mjcf')).toBe('attachment; filename="ball.xml"');
    expect(await savedAs(id, 'scripts/1')).toBe('attachment; filename="throw.js"');
    expect(await savedAs(id, 'scripts/2')).toBe('attachment; filename="2"');
    expect(await savedAs(id, 'scripts/4')).toBe(
      `attachment; filename="w_rfe _3_.js"; filename*=UTF-8''w%C3%B6rfe%20%223%22.js`,
    );
  });

  it('do not change the names in the working directory; the agent gets those of scripts alone', async () => {
    const agent = await FakeAgent.join(hub);
    await created({
      inputModel: { type: 'MJCF', ...named('ball.xml', 'm') },
      inputScripts: [named('throw.js')],
    });
    const { job } = await agent.hear('assign');
    await created({ inputModel: { type: 'MJCF', content: base64('m') }, inputScripts: [SCRIPT] });
    const other = await FakeAgent.join(hub, { id: 'agent-2', nodeId: AGENT_2, instances: [{ id: 'sim-2' }] });
    const unnamed = (await other.hear('assign')).job as { readonly scripts: readonly object[] };
    // On Windows, the ending tells what runs a script.
    const scripts = unnamed.scripts.map((script) => ({ ...script, filename: 'throw.js' }));
    expect(job).toEqual({ ...unnamed, scripts });
    expect(job).toMatchObject({ model: { path: 'model.mjcf' } });
    await agent.leave();
    await other.leave();
  });

  it('are kept for a model of the input storage, and for a body that is read as it arrives', async () => {
    await upload('content-7.mjcf', 'the model');
    const inputScripts = [named('long.js', '#'.repeat(600_000))];
    const id = await created({ inputModelReference: stored('ball.xml'), inputScripts });
    expect(await namesOf(id)).toEqual({ 'model/content-7.mjcf': 'ball.xml', 'scripts/1': 'long.js' });
    expect((await api.get(`/api/x/tasks/${id}`)).body).toMatchObject({ requirement: { modelType: 'MJCF' } });
  });

  it('may be null, as other fields', async () => {
    const id = await created({ inputModel: { type: 'INP', ...named(null) }, inputScripts: [named(null)] });
    expect(await namesOf(id)).toEqual({ 'model/model.inp': undefined, 'scripts/1': undefined });
  });

  it('do not count when a request is repeated by its key', async () => {
    const by = (json: object): Promise<Answer> =>
      api.call('POST', PATH, { json, headers: { 'idempotency-key': 'once' } });
    const model = { type: 'MJCF', content: base64('m') };
    const first = await by({ inputModel: model, inputScripts: [SCRIPT] });
    const names = { inputModel: { ...model, filename: 'ball.xml' }, inputScripts: [named('throw.js')] };
    const again = await by(names);
    expect([again.status, again.headers.get('idempotency-replayed')]).toEqual([201, 'true']);
    expect(again.body['id']).toBe(first.body['id']);
    expect((await by({ ...names, inputScripts: [named('throw.js', 'print(2)')] })).status).toBe(422);
  });
});

describe('a name is refused', () => {
  const where = 'inputScripts[1].filename';
  it.each<[string, unknown, string]>([
    ['that is empty', '', 'must not be empty'],
    ['that leads away', '../throw.js', 'must not have ".." as a part'],
    ['that is absolute', '/throw.js', 'must be relative, without a leading "/"'],
    ['with a drive', 'C:throw.js', 'must be relative, without a drive letter'],
    ['with a backslash', 'a\\throw.js', 'must use "/" between folders, not "\\"'],
    ['with a line end', 'throw\r\n.js', 'must not contain control characters'],
    ['of malformed Unicode', '\ud800.js', 'must be well-formed Unicode'],
    ['that is too long', 'x'.repeat(1025), 'must have at most 1024 characters'],
    ['that is reserved', '.workbench-x', 'must not begin with ".workbench-", which workbenches use'],
    ['that is no text', 7, 'must be a text'],
  ])('%s', async (_, filename, message) => {
    const json = { inputScripts: [SCRIPT, named(filename)] };
    expectError(await api.call('POST', PATH, { json }), 400, PATH, `${where}: ${message}`);
  });

  it('of a model as that of a script', async () => {
    await upload('content-7.mjcf', 'the model');
    const fault = 'must not have ".." as a part';
    const own = { inputModel: { type: 'MJCF', ...named('..') }, inputScripts: [SCRIPT] };
    expectError(await api.call('POST', PATH, { json: own }), 400, PATH, `inputModel.filename: ${fault}`);
    const referenced = { inputModelReference: stored('..'), inputScripts: [SCRIPT] };
    const message = `inputModelReference.filename: ${fault}`;
    expectError(await api.call('POST', PATH, { json: referenced }), 400, PATH, message);
  });

  it('of a model on the simulation host, which has one', async () => {
    const parameters = [{ key: 'pathToFile', value: '/models/gear.wbpz' }];
    const inputModelReference = { type: 'LOCAL_FILESYSTEM', parameters, filename: 'gear.wbpz' };
    const json = { inputModelReference, inputScripts: [SCRIPT] };
    const message = 'inputModelReference.filename: and LOCAL_FILESYSTEM exclude each other';
    expectError(await api.call('POST', PATH, { json }), 400, PATH, message);
  });
});

it('a form keeps the file names of its model and its scripts that are valid', async () => {
  const part = (name: string, fileName: string) => ({
    head: `Content-Disposition: form-data; name="${name}"; filename="${fileName}"`,
    content: 'x',
  });
  const parts = [part('script', 'throw.js'), part('script', '../up.js'), part('model', '/tmp/ball.inp')];
  const more = [part('script', 'C:/down.js'), part('script', 'more/last.js')];
  const { status, body, text } = await api.call('POST', '/api/x/tasks/form', formOf([...parts, ...more]));
  expect(status, text).toBe(201);
  expect(await namesOf(body['id'])).toEqual({
    'model/model.inp': undefined,
    'scripts/1': 'throw.js',
    'scripts/2': undefined,
    'scripts/3': undefined,
    'scripts/4': 'more/last.js',
  });
});
