import { expect, it } from 'vitest';
import { namesOfProgram, pathOf } from './program-names.js';

it.each([
  ['tool', 'linux', ['tool']],
  ['tool', 'win32', ['tool.com', 'tool.exe', 'tool.bat']],
  ['tool.EXE', 'win32', ['tool.EXE']],
  ['solver-2.1', 'win32', ['solver-2.1.com', 'solver-2.1.exe', 'solver-2.1.bat']],
] as const)('the program %s on %s is one of the files %j', (name, platform, files) => {
  expect(namesOfProgram(name, '.COM;.EXE;.BAT', platform)).toEqual(files);
});

it('the search path of Windows has a name in any case', () => {
  expect(pathOf({ Path: 'a' }, 'win32')).toBe('a');
  expect(pathOf({ PATH: 'b', Path: 'a' }, 'linux')).toBe('b');
  expect(pathOf({}, 'win32')).toBe('');
});
