/** `workbench-hub hosts check`, as on the page hosts.md: faults of the recipes of hosts, in words, before a task waits for one. */
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { endPrograms, startProgram } from '../support/programs/programs.js';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.js';

const MANAGER = fileURLToPath(new URL('../hosts/fixtures/process-manager.sh', import.meta.url));

let folder: TemporaryFolder;
beforeEach(async () => {
  folder = await temporaryFolder();
  mkdirSync(join(folder.path, 'shared'));
});
afterEach(async () => {
  await endPrograms();
  await folder.remove();
});

const managerFolder = () => join(folder.path, 'manager');
const command = (...words: string[]) => ['sh', MANAGER, managerFolder(), ...words];

function recipe(name: string, manager: object = {}, rest: object = {}): object {
  return {
    name,
    manager: {
      kind: 'command',
      submit: command('submit'),
      list: command('list'),
      cancel: command('cancel'),
      ...manager,
    },
    folder: join(folder.path, 'shared'),
    wallTime: '30m',
    agent: { hub: 'ws://hub.example.com:8080', instances: [{ id: 'gear', version: '9.1' }] },
    ...rest,
  };
}

async function run(hosts: readonly object[], ...args: string[]) {
  const file = join(folder.path, 'hub.yaml');
  writeFileSync(file, stringify({ dataDir: join(folder.path, 'data'), server: { port: 0 }, hosts }));
  const program = startProgram('hub/bin/workbench-hub.js', ['--config', file, ...args], folder.path);
  return { exitCode: await program.ended, printed: program.printed.join('\n') };
}

const check = (hosts: readonly object[], ...names: string[]) => run(hosts, 'hosts', 'check', ...names);

it('says which recipes the workload manager takes, runs no job, and leaves no file', async () => {
  const hosts = [recipe('gears', { check: command('check') }), recipe('belts')];
  const shared = join(folder.path, 'shared');
  expect(await check(hosts)).toEqual({
    exitCode: 0,
    printed: [
      `ok       hosts gears: command takes its jobs, and ${shared} can be written`,
      `ok       hosts belts: ${shared} can be written; "manager.check" is not configured, so nothing else was asked`,
    ].join('\n'),
  });
  expect(readdirSync(join(managerFolder(), 'jobs'))).toEqual([]);
  expect(readdirSync(shared)).toEqual([]);
});

it('says what the workload manager does not take, and what to do', async () => {
  const hosts = [recipe('gears', { check: command('check', '--partition=other') })];
  const { exitCode, printed } = await check(hosts);
  expect(exitCode).toBe(1);
  expect(printed).toMatch(
    /^FAULT {4}hosts gears: command takes no job of this recipe: there is no partition other; the only one is main\n/,
  );
  expect(printed).toContain('-> correct what it names');
});

it('names a folder that is not there, and a workload manager that is away', async () => {
  mkdirSync(managerFolder());
  writeFileSync(join(managerFolder(), 'away'), '');
  const missing = join(folder.path, 'missing');
  const hosts = [
    recipe('gears', {}, { folder: missing }),
    recipe('belts', { check: command('check') }),
    recipe('gone', { check: ['/nonexistent/check'] }),
  ];
  const { exitCode, printed } = await check(hosts);
  expect(exitCode).toBe(1);
  expect(printed).toContain(
    `hosts gears: command takes no job of this recipe: sh cannot use the files below ${missing}: ${missing} is no folder that this user may enter; make it, on a file system that the hosts share`,
  );
  expect(printed).toMatch(/FAULT {4}hosts belts: command does not answer: .*the manager is away/);
  expect(printed).toMatch(/FAULT {4}hosts gone: command does not answer: .*\/nonexistent\/check/);
});

it('checks the recipes that are named, and knows no others', async () => {
  const hosts = [recipe('gears'), recipe('belts', { check: ['/nonexistent/check'] })];
  expect(await check(hosts, 'gears')).toMatchObject({
    exitCode: 0,
    printed: expect.not.stringContaining('belts'),
  });
  expect(await check(hosts, 'wheels')).toEqual({
    exitCode: 2,
    printed: 'there is no recipe "wheels"; the configuration has gears, belts',
  });
  expect(await check([])).toEqual({
    exitCode: 2,
    printed: 'the configuration has no recipes: add one to "hosts"',
  });
});
