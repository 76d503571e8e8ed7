/** The units for systemd stop hub and agent in the way that they need. */
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { agentConfigSchema, instanceSettings } from '@workbench-hub/agent/config';
import { longestStopMs } from '@workbench-hub/agent/core/stop-time';
import { expect, it, onTestFinished } from 'vitest';
import { parse } from 'yaml';
import { codeBlock } from '../support/pages/code-blocks.js';
import { temporaryFolder } from '../support/temporary-folder.js';

const unit = (name: string) =>
  readFileSync(new URL(`../../deploy/systemd/workbench-${name}.service`, import.meta.url), 'utf8');
const setting = (name: string, key: string) => new RegExp(`^${key}=(.*)$`, 'm').exec(unit(name))?.[1];

it.each(['hub', 'agent'])(
  'the unit of the %s signals its main process only, and restarts it after a crash',
  (name) => {
    expect(setting(name, 'KillMode')).toBe('mixed');
    expect(setting(name, 'KillSignal')).toBeUndefined(); // SIGTERM
    expect(setting(name, 'Restart')).toBe('on-failure');
  },
);

it.each(['hub', 'agent'])('the unit of the %s reloads it by SIGHUP, which never ends it for good', (name) => {
  expect(setting(name, 'ExecReload')).toBe('/bin/kill -HUP $MAINPID');
  // By default, systemd takes this signal for a normal end.
  expect(setting(name, 'RestartForceExitStatus')).toBe('SIGHUP');
});

it('the unit of the agent allows the time of a stop with the defaults', () => {
  const config = agentConfigSchema.parse({ instances: [{ id: 'a', version: '1' }] });
  const longestMs = longestStopMs(config.drainTimeout, instanceSettings(config));
  expect(Number(setting('agent', 'TimeoutStopSec')) * 1000).toBeGreaterThan(longestMs);
});

it('the settings for a long drain in upgrading.md allow the time of that drain', () => {
  const page = 'packages/docs/upgrading.md';
  const settings = parse(codeBlock(page, 'drainTimeout: 20h')) as object;
  const config = agentConfigSchema.parse({ ...settings, instances: [{ id: 'a', version: '1' }] });
  const added = codeBlock(page, 'TimeoutStopSec=20h');
  const [, hours, minutes] = /^TimeoutStopSec=(\d+)h (\d+)min$/m.exec(added) ?? [];
  expect((Number(hours) * 60 + Number(minutes)) * 60_000).toBeGreaterThan(
    longestStopMs(config.drainTimeout, instanceSettings(config)),
  );
  expect(/^KillMode=(.*)$/m.exec(added)?.[1]).toBe(setting('agent', 'KillMode'));
});

/** Exit code 0 of a tool of systemd, which not every system has. */
const hasSystemdAnalyze = spawnSync('systemd-analyze', ['--version']).status === 0;

it.runIf(hasSystemdAnalyze).each(['hub', 'agent'])('systemd accepts the unit of the %s', async (name) => {
  const folder = await temporaryFolder();
  onTestFinished(folder.remove);
  const file = join(folder.path, `workbench-${name}.service`);
  // Programs and users exist only where the unit is installed.
  const local = unit(name)
    .replace(/^ExecStart=\S+/m, 'ExecStart=/bin/sh')
    .replace(/^User=.*$/m, 'User=root')
    .replace(/^(?:Group)=.*$/m, '');
  writeFileSync(file, local);
  const { status, stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', file], { encoding: 'utf8' });
  expect(stderr.split('\n').filter((line) => line.includes(`workbench-${name}.service`))).toEqual([]);
  expect(status, stderr).toBe(0);
});

it('the unit of the agent permits control groups', () => {
  expect(setting('agent', 'Delegate')).toBe('yes');
  expect(setting('agent', 'ProtectControlGroups')).toBeUndefined();
});

it.each([
  'RestrictNamespaces',
  'ProtectKernelTunables',
  'ProtectKernelLogs',
  'ProcSubset',
  'SystemCallFilter',
])('the unit of the agent omits %s, which would break the sandbox', (key) => {
  expect(setting('agent', key)).toBeUndefined();
});

it('the unit of the agent has the restrictions that threat-model.md names', () => {
  const page = readFileSync(new URL('../../packages/docs/threat-model.md', import.meta.url), 'utf8');
  const paragraph = /^- \*\*The service manager\*\*(?:.|\n {2})*/m.exec(page)?.[0] ?? '';
  const named = [...paragraph.matchAll(/`(\w+)=(\w+)`/g)].map(([, key = '', value = '']) => ({ key, value }));
  const suggested = named.filter(({ key }) => key.startsWith('IPAddress'));
  const active = named.filter(({ key }) => !key.startsWith('IPAddress'));
  expect([active.length, suggested.length]).toEqual([5, 1]);
  for (const { key, value } of active) expect(setting('agent', key), key).toBe(value);
  for (const { key, value } of suggested) expect(unit('agent')).toContain(`#${key}=${value}`);
  for (const key of ['#MemoryMax=', '#IPAddressAllow=', 'TasksMax='])
    expect(unit('agent')).toContain(`\n${key}`);
});

it.each(['hub', 'agent'])('the unit of the %s lets it write its own folders only', (name) => {
  expect(setting(name, 'ProtectSystem')).toBe('strict');
  expect(setting(name, 'ReadWritePaths')).toBeUndefined();
});

it.each(['hub', 'agent'])(
  'the unit of the %s opens the folders that its Debian package configures',
  (name) => {
    const file = new URL(`../../deploy/debian/${name}/etc/workbench-${name}/${name}.yaml`, import.meta.url);
    const { dataDir, log } = parse(readFileSync(file, 'utf8')) as { dataDir: string; log: { file: string } };
    expect(dataDir).toBe(`/var/lib/${setting(name, 'StateDirectory')}`);
    expect(dirname(log.file)).toBe(`/var/log/${setting(name, 'LogsDirectory')}`);
  },
);
