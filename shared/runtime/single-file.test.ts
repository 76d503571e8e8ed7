import { expect, it } from 'vitest';
import { SINGLE_FILE, startedCommand, startedProgram } from './single-file.js';

it('starts a program that lies inside the single file as a command of it', () => {
  const file = '/opt/workbench-agent';
  expect(startedCommand(['workbench-runner', '--interpreter', 'sh'], file)).toEqual([
    ...[file, 'runner', '--interpreter', 'sh'],
  ]);
});

it('starts a program that is unpacked from its folder', () => {
  const file = '/opt/workbench-agent';
  const command = ['workbench-mujoco', '--isolation', 'thread'];
  const unpack = (program: string) => `/data/programs/${program}-1`;
  expect(startedCommand(command, file, unpack)).toEqual([
    ...[file, 'mujoco', '/data/programs/workbench-mujoco-1', '--isolation', 'thread'],
  ]);
  expect([startedProgram(command, file), startedProgram(command), startedProgram(['solver'], file)]).toEqual([
    ...[file, 'workbench-mujoco', 'solver'],
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
