import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { scriptKindOf, windowsInterpreter } from './windows-system.js';

it.each([
  ['script-1.bat', '\u{feff}@echo off\ngoto :end\r\n:end\n', '@echo off\r\ngoto :end\r\n:end\r\n'],
  ['script-1.CMD', 'echo 1', 'echo 1'],
  ['script-1.ps1', 'Write-Output ü', '\u{feff}Write-Output ü'],
  ['script-1.ps1', '\u{feff}Write-Output ü', '\u{feff}Write-Output ü'],
  ['script-1.ps1', 'Write-Output 1\n', 'Write-Output 1\n'],
])('%s is read by its interpreter as it was meant: %j', (path, script, expected) => {
  expect(scriptKindOf(path)?.content(Buffer.from(script)).toString()).toBe(expected);
});

it('bytes of another encoding stay in a batch file and in one of PowerShell', () => {
  const script = Buffer.from([0x84, 0x0a]);
  expect(scriptKindOf('a.bat')?.content(script)).toEqual(Buffer.from([0x84, 0x0d, 0x0a]));
  expect(scriptKindOf('a.ps1')?.content(script)).toEqual(script);
});

it.each(['script-1', 'script-1.py', 'bat', '.bat/script-1'])('%s is no kind of Windows', (path) =>
  expect(scriptKindOf(path)).toBeUndefined(),
);

it.each([
  ['/usr/bin/env', ['python3.12', '-u'], 'python3.12', ['-u']],
  ['/usr/bin/env', ['-S octave-cli --quiet'], 'octave-cli', ['--quiet']],
  ['/bin/sh', ['-e'], 'sh', ['-e']],
  ['C:/Tools/solver.exe', [], 'C:/Tools/solver.exe', []],
])('the first line %s %j names %s', (command, args, program, parameters) => {
  expect(windowsInterpreter({ command, args }, { Path: '' })).toEqual({ command: program, args: parameters });
});

it('a folder with the name of a program is none', () => {
  const folder = mkdtempSync(join(tmpdir(), 'windows-system-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const ending = process.platform === 'win32' ? '.exe' : '';
  mkdirSync(join(folder, `python3${ending}`));
  writeFileSync(join(folder, `python${ending}`), '');
  const environment = { PATH: folder, PATHEXT: '.exe' };
  const python3 = { command: '/usr/bin/env', args: ['python3'] };
  expect(windowsInterpreter(python3, environment).command).toBe('python');
});
