import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { dataDirOf, readArguments } from './launch-arguments.js';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'launch-arguments-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

it.each([
  [[], { config: null, isStart: true }],
  [['--config', 'a.yaml'], { config: 'a.yaml', isStart: true }],
  [['-c', 'a.yaml'], { config: 'a.yaml', isStart: true }],
  [['--config=a.yaml'], { config: 'a.yaml', isStart: true }],
  [['-ca.yaml'], { config: 'a.yaml', isStart: true }],
  [['doctor', '-c', 'a.yaml'], { config: 'a.yaml', isStart: false }],
  [['--config', 'a.yaml', '--check-config'], { config: 'a.yaml', isStart: false }],
  [['--version'], { config: null, isStart: false }],
  [['--managed'], { config: null, isStart: false }],
])('reads %j', (args, expected) => {
  expect(readArguments(args)).toMatchObject({ ...expected, service: null, ofAgent: args });
});

it('takes the name of a service out of the arguments of the agent', () => {
  expect(readArguments(['--config', 'a.yaml', '--service', 'one'])).toEqual({
    config: 'a.yaml',
    isStart: true,
    isServiceCommand: false,
    service: 'one',
    ofAgent: ['--config', 'a.yaml'],
  });
});

it.each([
  [['service', 'status'], true],
  [['--config', 'a.yaml', 'service', 'install'], true],
  [['doctor', 'service'], false],
])('%j: command about the installed file: %s', (args, expected) => {
  expect(readArguments(args).isServiceCommand).toBe(expected);
});

it.each([
  ['dataDir: /var/lib/a\nkeyOfTheFuture: [1]', resolve('/var/lib/a')],
  ['{"dataDir": "./a"}', resolve('a')],
  ['id: host-1', resolve('workbench-agent-data')],
  ['', resolve('workbench-agent-data')],
  ['dataDir: 7', null],
  ['dataDir: [', null],
])('finds the data folder of %j', (text, expected) => {
  const file = join(folder, 'agent.yaml');
  writeFileSync(file, text);
  expect(dataDirOf(file, {})).toBe(expected);
});

it('finds the data folder of the environment, and the one without a configuration', () => {
  const file = join(folder, 'agent.yaml');
  writeFileSync(file, 'dataDir: /var/lib/a');
  expect(dataDirOf(file, { WORKBENCH_AGENT_DATA_DIR: '/srv/b' })).toBe(resolve('/srv/b'));
  expect(dataDirOf(null, {})).toBe(resolve('workbench-agent-data'));
  expect(dataDirOf(join(folder, 'no.yaml'), {})).toBeNull();
});
