/** Tests that need Windows: `npm run test:windows` runs them. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { startOnWindows, windowsInterpreter } from '../windows-system.js';

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
  const refused = startOnWindows({ command: 'tool', args: [] }, environment, String.raw`\\server\share\work`);
  expect(refused).toEqual({
    fault: expect.stringMatching(/set dataDir of the agent to a folder with a drive letter/),
  });
});
