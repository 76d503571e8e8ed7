import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { placeFile, SINGLE_FILE, startedCommand, unpackedModule } from './single-file.js';

it('starts a program that lies inside the single file as a command of it', () => {
  const file = '/opt/workbench-agent';
  expect(startedCommand(['workbench-runner', '--interpreter', 'sh'], file)).toEqual([
    ...[file, 'runner', '--interpreter', 'sh'],
  ]);
});

it('leaves the commands of other programs, and all commands outside of a single file', () => {
  const file = '/opt/workbench-agent';
  for (const command of [['/usr/bin/workbench-runner'], ['solver', 'workbench-runner']]) {
    expect(startedCommand(command, file)).toEqual(command);
  }
  expect(SINGLE_FILE).toBe(null);
  expect(startedCommand(['workbench-runner'])).toEqual(['workbench-runner']);
});

it('places a module once, and again when it was changed', () => {
  const above = mkdtempSync(join(tmpdir(), 'single-file-'));
  onTestFinished(() => rmSync(above, { recursive: true, force: true }));
  const folder = join(above, 'native');
  const place = () => placeFile(Buffer.from('module'), 'koffi.node', folder);
  const path = place();
  expect(readFileSync(path, 'utf8')).toBe('module');
  const { ino } = statSync(path);
  expect([place(), statSync(path).ino]).toEqual([path, ino]);
  writeFileSync(path, 'broken');
  expect([place(), readFileSync(path, 'utf8')]).toEqual([path, 'module']);
  expect(placeFile(Buffer.from('newer'), 'koffi.node', folder)).not.toBe(path);
  expect(readdirSync(folder)).toHaveLength(2);
});

it('knows no place of a module that was not unpacked', () => {
  expect(() => unpackedModule('koffi.node')).toThrow('koffi.node was not unpacked');
});
