import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import type { ControlGroups } from './control-groups.js';
import { childProcessPrograms } from './programs.js';
import { openPlatform } from './this-platform.js';

const { platform: thisPlatform } = await openPlatform(tmpdir());

const INSTANCE = { id: 'sim', version: '1', revision: '', labels: [] };
const NO_LISTENER = { onStarted: () => undefined, onOutput: () => undefined, onStderr: () => undefined };

function programsOf(
  platform = thisPlatform,
  path = process.env['PATH'] ?? '',
  controlGroups: ControlGroups | null = null,
) {
  return childProcessPrograms({
    nodeId: 'node-of-this-test',
    environment: { PATH: path },
    platform,
    controlGroups,
    sandbox: () => null,
    prepareDirectory: () => {
      throw new Error('this program has no sandbox');
    },
    runtime: systemRuntime,
    log: pino({ level: 'silent' }),
  });
}

const settings = (...parameters: string[]) => ({
  instance: INSTANCE,
  command: [process.execPath, ...parameters],
  env: {},
  sandbox: null,
  limits: null,
  commonProcess: null,
});

test('a program that calls the agent is ended: its unread answers would fill the memory of the agent', async () => {
  const fixture = fileURLToPath(new URL('fixtures/calls-the-agent.mjs', import.meta.url));
  const program = programsOf().start(settings(fixture), NO_LISTENER);
  await program.initialize();
  const end = await program.ended;
  expect(end).toMatchObject({
    kind: 'VIOLATION',
    fault: expect.stringMatching(/^a call of "xxx.*…$/),
  });
  expect(JSON.stringify(end).length).toBeLessThan(1500);
});

test('a program has the folders of the product in its search path, and none of anybody else', async () => {
  let path = '';
  const onStderr = (text: string) => {
    path += text;
  };
  const program = programsOf(thisPlatform, '/given').start(
    settings('--eval', 'process.stderr.write(process.env.PATH)'),
    { ...NO_LISTENER, onStderr },
  );
  await program.ended;
  const root = fileURLToPath(new URL('../../', import.meta.url));
  expect(path.split(delimiter)).toEqual([
    join(root, 'node_modules/.bin'),
    '/given',
    dirname(process.execPath),
  ]);
});

test('a program whose limits cannot be set does not run', async () => {
  const create = () => {
    throw new Error('no limits today');
  };
  const groups = { create, keepsLimits: true } as unknown as ControlGroups;
  const start = (limits: { memoryBytes: number; processors: null } | null) =>
    programsOf(thisPlatform, '', groups).start({ ...settings('--eval', ''), limits }, NO_LISTENER).ended;
  expect(await start({ memoryBytes: 2 ** 30, processors: null })).toEqual({
    kind: 'NOT_STARTED',
    program: process.execPath,
    reason: 'its limits could not be set: no limits today',
  });
  expect(await start(null)).toMatchObject({ kind: 'EXITED', exitCode: 0 });
});

test('a program starts also when the folder of the agent cannot be entered', async () => {
  const before = process.cwd();
  const folder = await mkdtemp(join(tmpdir(), 'program-process-'));
  process.chdir(folder);
  await rm(folder, { recursive: true });
  try {
    const program = programsOf().start(settings('--eval', 'process.exit(7)'), NO_LISTENER);
    expect(await program.ended).toMatchObject({ kind: 'EXITED', exitCode: 7 });
  } finally {
    process.chdir(before);
  }
});

test('a program that has ended gets no signal: its group id may belong to others by then', async () => {
  const signals: string[] = [];
  const programs = programsOf({
    ...thisPlatform,
    signalGroup: (leaderPid, signal) => {
      signals.push(signal);
      return thisPlatform.signalGroup(leaderPid, signal);
    },
  });
  const program = programs.start(settings('--eval', ''), NO_LISTENER);
  await program.ended;
  // Orphans of its group, at its end.
  expect(signals).toEqual(['SIGKILL']);
  program.terminate();
  program.kill();
  programs.killAll();
  expect(signals).toEqual(['SIGKILL']);
});
