import { type Job, MAX_JOB_BYTES } from '@workbench-hub/shared/domain/job';
import { describe, expect, it } from 'vitest';
import {
  additionalFileErrors,
  jobSizeErrors,
  MAX_VARIABLE_KEY_LENGTH,
  modelFileName,
  variableErrors,
} from './batch-job.js';

describe('the name of a staged model', () => {
  it.each([
    ['WBPZ', 'model.wbpz'],
    ['MJCF', 'model.mjcf'],
    ['3DM', 'model.3dm'],
  ])('%s is %s', (type, name) => expect(modelFileName(type)).toBe(name));
});

describe('keys of variables', () => {
  const faultOf = (key: string) => variableErrors([{ key }])[0]?.what;

  it.each([
    'a',
    'A1',
    '_private',
    '$cell',
    'größe',
    'Δt',
    'длина',
    '長さ',
    'a\u200db',
    'of',
    'async',
    'get',
    'PATH',
    'LD_PRELOAD',
    'x'.repeat(128),
  ])('may be %s', (key) => expect(faultOf(key)).toBeUndefined());

  it.each(['', '1a', 'a-b', 'a b', ' a', 'a.b', 'a\n', '\u200da', '😀', 'a=b', '{x}', '"'])(
    'may not be %j, which is no identifier',
    (key) =>
      expect(faultOf(key)).toBe(
        'must be an ECMAScript identifier: letters, digits, $ and _, not a digit first',
      ),
  );

  it.each([
    'class',
    'await',
    'let',
    'null',
    'true',
    'undefined',
    'NaN',
    'eval',
    'arguments',
    'enum',
    'static',
  ])('may not be %s, which no script could use', (key) =>
    expect(faultOf(key)).toBe(`must be a name that a script can use; ${key} is reserved by the language`),
  );

  it('have at most 128 characters', () => {
    expect(MAX_VARIABLE_KEY_LENGTH).toBe(128);
    expect(faultOf('x'.repeat(129))).toBe('must have at most 128 characters');
  });

  it('must be unique; case matters', () => {
    expect(variableErrors([{ key: 'a' }, { key: 'A' }, { key: 'b' }, { key: 'a' }])).toEqual([
      { where: 'variablesToInject[3].key', what: 'is given more than once' },
    ]);
  });

  it('are all checked', () => {
    expect(variableErrors([{ key: '1' }, { key: 'ok' }, { key: 'if' }]).map(({ where }) => where)).toEqual([
      'variablesToInject[0].key',
      'variablesToInject[2].key',
    ]);
  });
});

describe('names of additional files', () => {
  const faultOf = (path: string, model: string | null = null) => additionalFileErrors([path], model)[0]?.what;

  it.each([
    'a.txt',
    'folder/a.txt',
    'a/b/c/d',
    '.hidden',
    '...',
    'a..b',
    'mit Leerzeichen.csv',
    'größe.txt',
    'ab:c',
    'sub/.workbench-x',
    `${'x'.repeat(255)}/y`,
  ])('may be %s', (path) => expect(faultOf(path)).toBeUndefined());

  it.each([
    ['', 'must not be empty'],
    ['/etc/passwd', 'must be relative, without a leading "/"'],
    ['..', 'must not have ".." as a part'],
    ['../a', 'must not have ".." as a part'],
    ['a/../../b', 'must not have ".." as a part'],
    ['./a', 'must not have "." as a part'],
    ['a//b', 'must not have an empty part ("//" or a "/" at the end)'],
    ['a/', 'must not have an empty part ("//" or a "/" at the end)'],
    ['a\\b', 'must use "/" between folders, not "\\"'],
    ['..\\a', 'must use "/" between folders, not "\\"'],
    ['C:/a', 'must be relative, without a drive letter'],
    ['c:a', 'must be relative, without a drive letter'],
    ['a\nb', 'must not contain control characters'],
    ['a\0', 'must not contain control characters'],
    ['a\u007f', 'must not contain control characters'],
    ['a\ud800', 'must be well-formed Unicode'],
    ['x'.repeat(256), 'must not have a part longer than 255 bytes'],
    [`${'ä'.repeat(128)}`, 'must not have a part longer than 255 bytes'],
    [`${'a/'.repeat(512)}b`, 'must have at most 1024 characters'],
    ['.workbench-variables.json', 'must not begin with ".workbench-", which workbenches use'],
  ])('may not be %j', (path, what) => expect(faultOf(path)).toBe(what));

  it('must be unique, and none may be the folder of another, in any order', () => {
    const fault = (...paths: string[]) => additionalFileErrors(paths, null);
    expect(fault('a', 'b', 'a')).toEqual([
      { where: 'additionalFiles[2].filename', what: 'is given more than once' },
    ]);
    expect(fault('a', 'a/b')).toEqual([
      { where: 'additionalFiles[1].filename', what: 'lies in "a", which is a file' },
    ]);
    expect(fault('a/b/c', 'x', 'a/b')).toEqual([
      { where: 'additionalFiles[2].filename', what: 'is also a folder of another file' },
    ]);
    expect(fault('a/b', 'a/c', 'ab', 'a.b')).toEqual([]);
  });

  it('may be neither the staged model nor within it', () => {
    const what = 'is the name of the staged model (model.wbpz)';
    expect(additionalFileErrors(['a', 'model.wbpz'], 'model.wbpz')).toEqual([
      { where: 'additionalFiles[1].filename', what },
    ]);
    expect(faultOf('model.wbpz/x', 'model.wbpz')).toBe(what);
    expect(faultOf('model.wbpz', null)).toBeUndefined();
    expect(faultOf('folder/model.wbpz', 'model.wbpz')).toBeUndefined();
    expect(additionalFileErrors(['a', 'a'], 'model.wbpz')).toEqual([
      { where: 'additionalFiles[1].filename', what: 'is given more than once' },
    ]);
  });

  it('are all checked', () => {
    expect(additionalFileErrors(['/a', 'ok', '..'], null).map(({ where }) => where)).toEqual([
      'additionalFiles[0].filename',
      'additionalFiles[2].filename',
    ]);
  });
});

describe('the size of a job', () => {
  const job = (value: string): Job => ({
    type: 'EXECUTE_BATCH_JOB',
    model: null,
    scripts: [],
    additionalFiles: [],
    variables: [{ key: 'a', value }],
  });
  const frame = JSON.stringify(job('')).length;

  it('is limited to that of one message, in bytes', () => {
    expect(jobSizeErrors(job('x'.repeat(MAX_JOB_BYTES - frame)))).toEqual([]);
    expect(jobSizeErrors(job('x'.repeat(MAX_JOB_BYTES - frame + 1)))).toHaveLength(1);
    expect(jobSizeErrors(job('ä'.repeat(MAX_JOB_BYTES / 2)))[0]).toEqual({
      where: 'variablesToInject, additionalFiles',
      what: expect.stringMatching(/^names and values take \d+ bytes together, at most 4194304 are allowed/),
    });
  });
});
