/** Invalid requests to POST /api/2.0/workbench/task/execute-batch-job/create (contract 3.1 to 3.7). */
import { describe, expect, it } from 'vitest';
import { api, hubForAllTests } from '../support/hubs/hub-for-tests.js';
import { expectError } from '../support/interface/api.js';
import { files, model, PATH, reference, SCRIPT, variables } from './batch-job-requests.js';

const NOT_BASE64 = 'must be Base64 (RFC 4648 section 4) with padding';

hubForAllTests();

describe('a bad request is answered with 400, the field and what is allowed', () => {
  const keys = 'must be one of pathToFile, copyFileToWorkingDirectory';
  const parameters = 'inputModelReference.parameters';
  const modelType = 'inputModel.type: must be WBPZ or another name of 1 to 16 letters and digits';

  it.each<[string, object, string | RegExp]>([
    ['no scripts', {}, 'inputScripts: is required'],
    ['an empty list of scripts', { inputScripts: [] }, 'inputScripts: must be at least 1 items long'],
    ['scripts that are no list', { inputScripts: SCRIPT }, 'inputScripts: must be a list'],
    ['a script that is a text', { inputScripts: ['cHJpbnQ='] }, 'inputScripts[0]: must be an object'],
    ['a script without content', { inputScripts: [SCRIPT, {}] }, 'inputScripts[1].content: is required'],
    ['a script of no text', { inputScripts: [{ content: 5 }] }, 'inputScripts[0].content: must be a text'],
    [
      'model and reference',
      { ...model('WBPZ'), ...reference(['pathToFile', '/a']) },
      'inputModelReference: and inputModel exclude each other',
    ],
    [
      'a model without content',
      { inputScripts: [SCRIPT], inputModel: { type: 'WBPZ' } },
      'inputModel.content: is required',
    ],
    ['a model without type', model(undefined), 'inputModel.type: is required'],
    ['an empty model type', model(''), modelType],
    ['a model type with a dot', model('tar.gz'), modelType],
    ['a model type too long', model('X'.repeat(17)), modelType],
    ['a model type that leads away', model('../x'), modelType],
    [
      'a reference of unknown type',
      { inputScripts: [SCRIPT], inputModelReference: { type: 'FTP', parameters: [] } },
      'inputModelReference.type: must be one of LOCAL_FILESYSTEM, INPUT_STORAGE',
    ],
    [
      'a reference without parameters',
      { inputScripts: [SCRIPT], inputModelReference: { type: 'LOCAL_FILESYSTEM' } },
      'inputModelReference.parameters: is required',
    ],
    ['a reference without path', reference(), `${parameters}: must hold the key pathToFile`],
    [
      'a relative path',
      reference(['pathToFile', 'a.wbpz']),
      `${parameters}: pathToFile: must be an absolute path`,
    ],
    [
      'a relative path with dots',
      reference(['pathToFile', '../a']),
      `${parameters}: pathToFile: must be an absolute path`,
    ],
    [
      'a path relative to a drive',
      reference(['pathToFile', 'C:a.wbpz']),
      `${parameters}: pathToFile: must be an absolute path`,
    ],
    [
      'a path relative to the current drive',
      reference(['pathToFile', '\\a.wbpz']),
      `${parameters}: pathToFile: must be an absolute path`,
    ],
    ['an empty path', reference(['pathToFile', '']), `${parameters}: pathToFile: must be an absolute path`],
    [
      'a path with NUL',
      reference(['pathToFile', '/a\0b']),
      `${parameters}: pathToFile: must not contain control characters`,
    ],
    [
      'a path twice',
      reference(['pathToFile', '/a'], ['pathToFile', '/b']),
      `${parameters}[1].key: pathToFile is given more than once`,
    ],
    [
      'an unknown parameter',
      reference(['pathToFile', '/a'], ['color', 'red']),
      `${parameters}[1].key: ${keys}`,
    ],
    ['a parameter of no text', reference(['pathToFile', 5]), `${parameters}[0].value: must be a text`],
    [
      'a copy of neither true nor false',
      reference(['pathToFile', '/a'], ['copyFileToWorkingDirectory', 'yes']),
      `${parameters}: copyFileToWorkingDirectory: must be true or false`,
    ],
    [
      'a file name that leads away',
      files('../a'),
      'additionalFiles[0].filename: must not have ".." as a part',
    ],
    [
      'an absolute file name',
      files('/a'),
      'additionalFiles[0].filename: must be relative, without a leading "/"',
    ],
    [
      'a file name with a drive',
      files('c:a'),
      'additionalFiles[0].filename: must be relative, without a drive letter',
    ],
    [
      'a file name with a backslash',
      files('a\\b'),
      /^additionalFiles\[0\]\.filename: must use "\/" between folders/,
    ],
    [
      'a file name with a line end',
      files('a\nb'),
      'additionalFiles[0].filename: must not contain control characters',
    ],
    ['no file name', files(undefined), 'additionalFiles[0].filename: is required'],
    ['an empty file name', files(''), 'additionalFiles[0].filename: must not be empty'],
    ['a file name twice', files('a', 'b', 'a'), 'additionalFiles[2].filename: is given more than once'],
    [
      "a file that is another one's folder",
      files('a/b', 'a'),
      'additionalFiles[1].filename: is also a folder of another file',
    ],
    [
      'a file below another one',
      files('a', 'a/b'),
      'additionalFiles[1].filename: lies in "a", which is a file',
    ],
    [
      'the name of the model',
      { ...model('WBPZ'), ...files('model.wbpz') },
      'additionalFiles[0].filename: is the name of the staged model (model.wbpz)',
    ],
    [
      'the name of the copied model',
      {
        ...reference(['pathToFile', 'C:\\m\\gear.wbpz'], ['copyFileToWorkingDirectory', 'true']),
        ...files('gear.wbpz'),
      },
      'additionalFiles[0].filename: is the name of the staged model (gear.wbpz)',
    ],
    [
      'a file without content',
      { inputScripts: [SCRIPT], additionalFiles: [{ filename: 'a' }] },
      'additionalFiles[0].content: is required, or storageName in its place',
    ],
    [
      'a key that is no identifier',
      variables('a-b'),
      /^variablesToInject\[0\]\.key: must be an ECMAScript identifier/,
    ],
    [
      'a key that a script cannot use',
      variables('class'),
      /^variablesToInject\[0\]\.key: must be a name that a script can use/,
    ],
    [
      'a key too long',
      variables('x'.repeat(129)),
      'variablesToInject[0].key: must have at most 128 characters',
    ],
    ['a key twice', variables('a', 'a'), 'variablesToInject[1].key: is given more than once'],
    [
      'a variable without value',
      { inputScripts: [SCRIPT], variablesToInject: [{ key: 'a' }] },
      'variablesToInject[0].value: is required',
    ],
    [
      'a variable of no text',
      { inputScripts: [SCRIPT], variablesToInject: [{ key: 'a', value: 5 }] },
      'variablesToInject[0].value: must be a text',
    ],
    [
      'values that take too much',
      { inputScripts: [SCRIPT], variablesToInject: [{ key: 'a', value: 'x'.repeat(5_000_000) }] },
      /^variablesToInject, additionalFiles: names and values take \d+ bytes together/,
    ],
    [
      'a bad classifier',
      { inputScripts: [SCRIPT], classifiers: [{ type: 'PRIORITY', value: 'x' }] },
      'classifiers[0].value: must be one of HIGHEST, HIGH, NORMAL, LOW, LOWEST',
    ],
    ['a bad time limit', { inputScripts: [SCRIPT], timeLimit: -1 }, 'timeLimit: must be at least 1'],
    ['a duration of no meaning', { duration: 5 }, 'inputScripts: is required'],
  ])('%s', async (_, request, message) => {
    expectError(await api.post(PATH, request), 400, PATH, message);
  });

  it.each([
    'A',
    'AA',
    'AAA',
    'AA=',
    'A===',
    'AA==AA==',
    '====',
    'AA AA===',
    'A A=',
    'AAA*',
    'AA-_',
    'AAA\n',
    'äAAA',
    'AAAA=',
  ])('invalid Base64 is reported with its field: %j', async (content) => {
    const request = {
      inputModel: { type: 'WBPZ', content },
      inputScripts: [SCRIPT, { content }],
      additionalFiles: [{ filename: 'a', content }],
    };
    expectError(
      await api.post(PATH, request),
      400,
      PATH,
      `inputModel.content: ${NOT_BASE64}; inputScripts[1].content: ${NOT_BASE64}; additionalFiles[0].content: ${NOT_BASE64}`,
    );
  });

  it('all validation errors are reported at once', async () => {
    const request = {
      classifiers: [{ type: 'VERSION', value: '' }],
      inputScripts: [{ content: '*' }],
      additionalFiles: [{ filename: '..', content: '' }],
      variablesToInject: [{ key: '1', value: '' }],
    };
    const { status, body } = await api.post(PATH, request);
    expect(status).toBe(400);
    expect((body['message'] as string).split('; ').map((fault) => fault.split(':')[0])).toEqual([
      'classifiers[0].value',
      'inputScripts[0].content',
      'additionalFiles[0].filename',
      'variablesToInject[0].key',
    ]);
  });

  it('and nothing is created', async () => {
    const count = async () => (await api.get('/api/2.0/workbench/task/list')).body['totalElements'];
    const before = await count();
    await api.post(PATH, { inputScripts: [{ content: '*' }] });
    expect(await count()).toBe(before);
  });
});
