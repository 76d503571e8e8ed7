import { spawnSync } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import { ENVIRONMENT_IGNORES_CASE } from './host-names.js';
import {
  inheritedEnvironment,
  injectedEnvironment,
  jobEnvironment,
  variablesObject,
} from './job-environment.js';

const PATHS = {
  model: null,
  variables: '/w/variables.json',
  outputStorage: '/w/output-storage',
  checkpoint: '/w/checkpoint',
};

function injected(...keys: string[]): string[] {
  const variables = keys.map((key) => ({ key, value: 'x' }));
  return Object.keys(jobEnvironment('task', variables, PATHS)).filter((key) => !key.startsWith('WORKBENCH_'));
}

/** A name that steers programs where the case of names does not count. */
const lowerCase = (name: string) => (ENVIRONMENT_IGNORES_CASE ? [] : [name]);

describe('the environment of a script', () => {
  test('contains the task and its files', () => {
    expect(jobEnvironment('task', [], PATHS)).toEqual({
      WORKBENCH_TASK_ID: 'task',
      WORKBENCH_VARIABLES: '/w/variables.json',
      WORKBENCH_OUTPUT_STORAGE: '/w/output-storage',
      WORKBENCH_CHECKPOINT: '/w/checkpoint',
    });
    expect(jobEnvironment('task', [], { ...PATHS, model: '/w/files/model.wbpz' })).toMatchObject({
      WORKBENCH_MODEL: '/w/files/model.wbpz',
    });
  });

  test('contains variables whose key is a valid name', () => {
    expect(
      injected('speed', '_x', 'A1', 'path', 'GOAL', 'CC', 'user', '$x', 'größe', '1a', 'a-b', ''),
    ).toEqual(['speed', '_x', 'A1', ...lowerCase('path'), 'GOAL', 'CC', ...lowerCase('user')]);
  });

  test.each([
    'PATH',
    'HOME',
    'SHELL',
    'USER',
    'TMPDIR',
    'IFS',
    'ENV',
    'BASH_ENV',
    'NODE_OPTIONS',
    'NODE_PATH',
    'PYTHONPATH',
    'PYTHONSTARTUP',
    'PERL5OPT',
    'RUBYLIB',
    'RUBYOPT',
    'LD_PRELOAD',
    'DYLD_INSERT_LIBRARIES',
    'WORKBENCH_MODEL',
    'JAVA_TOOL_OPTIONS',
    'GIT_SSH_COMMAND',
    'http_proxy',
    'HTTPS_PROXY',
    'all_proxy',
    'npm_config_registry',
    'GCONV_PATH',
    'LC_ALL',
    'SSL_CERT_FILE',
    'XDG_CONFIG_HOME',
  ])('has no variable %s', (key) => {
    expect(injected(key)).toEqual([]);
  });

  test('has no value that no environment can hold', () => {
    expect(jobEnvironment('task', [{ key: 'a', value: 'b\0c' }], PATHS)).not.toHaveProperty('a');
  });

  test('has as much as a program can be started with, and what fits of the rest', () => {
    const largest = 'x'.repeat(128 * 1024 - 'a='.length - 1);
    const keys = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i'];
    const environment = jobEnvironment(
      'task',
      [
        ...keys.map((key) => ({ key, value: largest })),
        { key: 'j', value: `${largest}x` },
        { key: 'k', value: 'ü'.repeat(largest.length - 1) },
      ],
      PATHS,
    );
    expect(Object.keys(environment)).toEqual([
      ...keys.slice(0, -1),
      ...Object.keys(jobEnvironment('task', [], PATHS)),
    ]);
    expect(spawnSync(process.execPath, ['-e', ''], { env: environment })).toMatchObject({ status: 0 });
  });

  test('has no variables when the file has them', () => {
    const variables = [
      { key: 'PATH', value: '1' },
      { key: '__proto__', value: '2' },
      { key: 'größe', value: '3' },
    ];
    expect(JSON.stringify(variablesObject(variables))).toBe('{"PATH":"1","__proto__":"2","größe":"3"}');
  });
});

describe('the environment of programs', () => {
  test("is the agent's environment without its settings and variables for its process alone", () => {
    const environment = {
      PATH: '/bin',
      LANG: 'C.UTF-8',
      OMP_NUM_THREADS: '4',
      EMPTY: undefined,
      WORKBENCH_AGENT_TOKEN: 'secret',
      WORKBENCH_HUB_AGENTS_TOKEN: 'secret',
      NODE_OPTIONS: '--inspect',
      NOTIFY_SOCKET: '/run/x',
      npm_lifecycle_event: 'start',
    };
    expect(inheritedEnvironment(environment)).toEqual({
      PATH: '/bin',
      LANG: 'C.UTF-8',
      OMP_NUM_THREADS: '4',
    });
  });

  test('has the search path of Windows under one name, and other systems as it is', () => {
    expect(inheritedEnvironment({ Path: 'C:\\Windows' }, true)).toEqual({ PATH: 'C:\\Windows' });
    const environment = { PATH: '/bin', Path: 'x' };
    expect(inheritedEnvironment(environment, false)).toEqual(environment);
  });
});

test.each([
  ['comspec', true],
  ['pAtH', true],
  ['node_options', true],
  ['pythonpath', true],
  ['load', false],
])('the variable %s steers programs where the case of names does not count: %s', (key, steers) => {
  const variables = [{ key, value: 'x' }];
  expect(injectedEnvironment(variables, true)).toEqual(steers ? {} : { [key]: 'x' });
  expect(injectedEnvironment(variables, false)).toEqual({ [key]: 'x' });
});
