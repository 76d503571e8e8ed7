import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { placeScript } from './placed-script.js';
import { type HostSystem, posix } from './systems/host-system.js';
import { scriptKindOf, windowsInterpreter } from './systems/windows-system.js';

const windows: HostSystem = { ...posix, scriptKind: scriptKindOf, interpreterOf: windowsInterpreter };

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'placed-script-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

function place(name: string, content: string) {
  const source = join(folder, name);
  writeFileSync(source, content);
  const interpreter = { command: 'node', args: [] };
  const placed = placeScript(source, 1, folder, { interpreter, system: windows, environment: {} });
  return {
    name: basename(placed.path),
    command: placed.ownInterpreter === null ? null : placed.ownInterpreter?.command,
    content: readFileSync(placed.path, 'utf8'),
  };
}

it.each([
  ['a.ps1', '#!/usr/bin/env pwsh\n"ä"\n', '.ps1', 'pwsh'],
  ['a.bat', '#!/usr/bin/perl\nprint 1;\n', '.bat', 'perl'],
  ['a.cmd', '#!/usr/bin/env node\nawait 1;\n', '.mjs', 'node'],
])('runs %s by its first line, and leaves its content', (name, content, ending, command) => {
  expect(place(name, content)).toEqual({ name: `.workbench-script-1${ending}`, command, content });
});

it.each([
  ['a.ps1', '"ä"\n', '.ps1', 'powershell', '\u{feff}"ä"\n'],
  ['a.bat', 'echo 1\n', '.bat', null, 'echo 1\r\n'],
  ['a.js', 'print(1);\n', '.cjs', undefined, 'print(1);\n'],
])('runs %s without such a line by its ending', (name, content, ending, command, placed) => {
  expect(place(name, content)).toEqual({ name: `.workbench-script-1${ending}`, command, content: placed });
});
