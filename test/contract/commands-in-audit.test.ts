/** Changes by commands beside the running hub are in the audit log too, without secrets. */
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it, onTestFinished } from 'vitest';
import { endPrograms, startProgram } from '../support/programs/programs.js';
import { temporaryFolder } from '../support/temporary-folder.js';

afterEach(endPrograms);

it('the audit log records commands that change something, also failed ones', async () => {
  const folder = await temporaryFolder();
  onTestFinished(folder.remove);
  const file = join(folder.path, 'hub.yaml');
  writeFileSync(file, JSON.stringify({ dataDir: join(folder.path, 'hub'), security: { enabled: true } }));
  const command = (...words: string[]) =>
    startProgram('hub/bin/workbench-hub.js', ['--config', file, ...words], folder.path);

  const enrollment = command('agent', 'enroll', 'sim-1');
  expect(await enrollment.ended).toBe(0);
  const code = enrollment.printed.find((line) => /^[\w-]{16,}$/.test(line)) ?? '';
  expect(code).not.toBe('');
  expect(await command('keys', 'rotate').ended).toBe(0);
  expect(await command('user', 'disable', 'nobody').ended).toBe(2);
  expect(await command('agent', 'list').ended).toBe(0);
  expect(await command('user', 'list').ended).toBe(0);

  const log = join(folder.path, 'hub', 'audit', 'administration.log');
  const text = readFileSync(log, 'utf8');
  const entries = text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  const common = {
    user: userInfo().username,
    by: 'COMMAND_LINE',
    address: null,
    action: 'COMMAND',
    status: null,
  };
  expect(entries).toEqual([
    {
      at: expect.any(String),
      ...common,
      resource: 'workbench-hub agent enroll sim-1',
      outcome: 'ALLOWED',
      detail: null,
    },
    {
      at: expect.any(String),
      ...common,
      resource: 'workbench-hub keys rotate',
      outcome: 'ALLOWED',
      detail: null,
    },
    {
      at: expect.any(String),
      ...common,
      resource: 'workbench-hub user disable nobody',
      outcome: 'FAILED',
      detail: expect.stringMatching(/nobody/),
    },
  ]);
  expect(text).not.toContain(code);
  expect(statSync(log).mode & 0o777).toBe(0o600);
});
