import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { childProcessPrograms } from './programs.js';
import { thisPlatform } from './this-platform.js';

test('a program that has ended gets no signal: its group id may belong to others by then', async () => {
  const signals: string[] = [];
  const programs = childProcessPrograms({
    nodeId: 'node-of-this-test',
    environment: { PATH: process.env['PATH'] ?? '' },
    platform: {
      ...thisPlatform,
      signalGroup: (leaderPid, signal) => {
        signals.push(signal);
        return thisPlatform.signalGroup(leaderPid, signal);
      },
    },
    controlGroups: null,
    sandbox: () => null,
    prepareDirectory: () => {
      throw new Error('this program has no sandbox');
    },
    runtime: systemRuntime,
    log: pino({ level: 'silent' }),
  });
  const instance = { id: 'sim', version: '1', revision: '', labels: [] };
  const program = programs.start(
    { instance, command: [process.execPath, '--eval', ''], env: {}, sandbox: null, commonProcess: null },
    { onStarted: () => undefined, onOutput: () => undefined, onStderr: () => undefined },
  );
  await program.ended;
  // Orphans of its group, at its end.
  expect(signals).toEqual(['SIGKILL']);
  program.terminate();
  program.kill();
  programs.killAll();
  expect(signals).toEqual(['SIGKILL']);
});
