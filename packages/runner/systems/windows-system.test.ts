import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { scriptKindOf, startOnWindows, windowsInterpreter } from './windows-system.js';

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

describe.runIf(process.platform === 'win32')('on Windows', () => {
  let folder: string;
  let environment: NodeJS.ProcessEnv;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'windows system-'));
    mkdirSync(join(folder, 'bin'));
    environment = { ...process.env, PATHEXT: '.COM;.EXE;.BAT;.CMD' };
    for (const name of Object.keys(environment)) if (/^path$/i.test(name)) delete environment[name];
    environment['Path'] = `${join(folder, 'none')};${join(folder, 'bin')}`;
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  it('a program is found by the endings of programs, and a batch file is run by cmd', () => {
    writeFileSync(join(folder, 'bin/tool.bat'), '');
    const started = startOnWindows({ command: 'tool', args: ['a b', '100%', 'x&y'] }, environment, folder);
    if ('fault' in started) throw new Error(started.fault);
    const { command, args, windowsVerbatimArguments } = started;
    expect(command).toMatch(/cmd/i);
    expect(windowsVerbatimArguments).toBe(true);
    expect(args.slice(0, 3)).toEqual(['/d', '/s', '/c']);
    expect(args[3]).toMatch(/tool\.bat \^"a\^ b\^" \^"100\^%\^" \^"x\^&y\^""$/);
  });

  it('the first ending counts, and what is not found is left to Windows', () => {
    for (const name of ['tool.exe', 'tool.bat']) writeFileSync(join(folder, 'bin', name), '');
    expect(startOnWindows({ command: 'tool', args: ['x'] }, environment, folder)).toEqual({
      command: join(folder, 'bin', 'tool.exe'),
      args: ['x'],
    });
    expect(startOnWindows({ command: 'no-such-tool', args: [] }, environment, folder)).toEqual({
      command: 'no-such-tool',
      args: [],
    });
  });

  it('python3 is python where there is no other', () => {
    writeFileSync(join(folder, 'bin/python.exe'), '');
    const line = { command: '/usr/bin/env', args: ['python3'] };
    expect(windowsInterpreter(line, environment)).toEqual({ command: 'python', args: [] });
  });

  it('a batch file in a folder of a network share is refused with what to do', () => {
    writeFileSync(join(folder, 'bin/tool.bat'), '');
    expect(() =>
      startOnWindows({ command: 'tool', args: [] }, environment, String.raw`\\server\share\work`),
    ).toThrow(/set dataDir of the agent to a folder with a drive letter/);
  });
});
