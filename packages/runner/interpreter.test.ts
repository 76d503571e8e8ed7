import { describe, expect, it } from 'vitest';
import { isNode, languageOf, missingProgram, shebang } from './interpreter.js';

describe('shebang', () => {
  it.each([
    ['#!/bin/sh\necho', { command: '/bin/sh', args: [] }],
    ['#! /bin/sh -eu\necho', { command: '/bin/sh', args: ['-eu'] }],
    ['#!/usr/bin/env python3\r\nprint()', { command: '/usr/bin/env', args: ['python3'] }],
    ['#!/usr/bin/env -S python3 -u -O\n', { command: '/usr/bin/env', args: ['-S python3 -u -O'] }],
    ['#!/bin/sh', { command: '/bin/sh', args: [] }],
  ])('reads %j', (script, interpreter) => expect(shebang(Buffer.from(script))).toEqual(interpreter));

  it.each(['', '#', '#!', '#!\n/bin/sh', ' #!/bin/sh\n', 'print(1)\n#!/bin/sh'])(
    'finds none in %j',
    (script) => expect(shebang(Buffer.from(script))).toBeUndefined(),
  );
});

describe('isNode', () => {
  it.each([
    [['node'], true],
    [['/opt/node-20/bin/node', '--stack-size=2000'], true],
    [['nodejs'], true],
    [['/usr/bin/env', '-S node --expose-gc'], true],
    [['/usr/bin/env', 'python3'], false],
    [['sh'], false],
    [['nodemon'], false],
  ])('%j: %s', ([command = '', ...args], expected) => expect(isNode({ command, args })).toBe(expected));
});

describe('languageOf', () => {
  it.each([
    [{ command: 'node', args: [] }, 'JavaScript'],
    [{ command: '/usr/bin/env', args: ['python3.12'] }, 'Python'],
    [{ command: 'C:/Python/python.EXE', args: ['-u'] }, 'Python'],
    [{ command: 'octave-cli', args: ['--quiet'] }, 'octave-cli'],
    [{ command: '/bin/größe', args: [] }, undefined],
  ])('of %j is %s', (interpreter, language) => {
    expect(languageOf(interpreter)).toBe(language);
  });
});

describe('missingProgram', () => {
  const environment = { PATH: '/usr/bin:/bin' };
  it.each([
    [['sh'], undefined],
    [['/bin/sh', '-e'], undefined],
    [['no-such-program', '-x'], 'no-such-program'],
    [['/no/such/program'], '/no/such/program'],
    [['/usr/bin/env', 'sh'], undefined],
    [['/usr/bin/env', 'no-such-program'], 'no-such-program'],
    [['/usr/bin/env', '-S LANG=C no-such-program -u'], 'no-such-program'],
    [['/usr/bin/env', '-S -u NAME sh'], undefined],
  ])('of %j is %j', ([command = '', ...args], expected) =>
    expect(missingProgram({ command, args }, environment, '/')).toBe(expected),
  );
});
