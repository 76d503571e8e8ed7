import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { ServiceTarget } from './host-service.js';
import { type SystemdPorts, systemdService, unitFor } from './systemd-service.js';

const UNIT = readFileSync(
  new URL('../../../deploy/systemd/workbench-agent.service', import.meta.url),
  'utf8',
);
const TARGET: ServiceTarget = {
  program: '/usr/local/bin/workbench-agent',
  config: '/etc/workbench-agent/agent.yaml',
  dataDir: '/srv/agent',
  logFile: '/srv/agent/logs/agent.log',
  stopTimeoutMs: 3_600_000,
};

let folder: string;
let calls: string[];
/** Commands that fail. */
let failing: string[];
let isSystemdHere: boolean;
let isRoot: boolean;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'systemd-service-'));
  calls = [];
  failing = ['systemctl cat one.service'];
  isSystemdHere = true;
  isRoot = true;
});
afterEach(() => rmSync(folder, { recursive: true }));

const target = (): ServiceTarget => ({
  ...TARGET,
  dataDir: tmpdirOf('data'),
  logFile: tmpdirOf('log/agent.log'),
});
/** Folders of tests are below /tmp, which units hide. */
const tmpdirOf = (name: string) => join('/proc/self/root', folder, name);

function service() {
  const run: SystemdPorts['run'] = (program, args) => {
    const call = [program, ...args].join(' ');
    calls.push(call);
    if (program === 'id') return { exitCode: 0, output: `${process.getuid?.() ?? 0}\n` };
    return failing.includes(call) ? { exitCode: 1, output: 'no' } : { exitCode: 0, output: 'active\n' };
  };
  return systemdService({
    name: 'one',
    unit: UNIT,
    folder,
    run,
    isSystemdHere: () => isSystemdHere,
    isRoot: () => isRoot,
  });
}
const unitFile = () => join(folder, 'one.service');

it('has the paths, the account and the time for a stop in its unit', () => {
  const unit = unitFor(UNIT, { ...TARGET, config: '/etc/my $agent/a 50%.yaml' }, 'sim');
  expect(unit).toContain(
    '\nExecStart=/usr/local/bin/workbench-agent --config "/etc/my $$agent/a 50%%.yaml"\n',
  );
  expect(unit).toContain('\nUser=sim\n');
  expect(unit).toContain('\nTimeoutStopSec=3630\n');
  expect(unit).toContain('\nReadWritePaths=/srv/agent\nReadWritePaths=/srv/agent/logs\n');
  expect(unit).not.toMatch(/^(?:State|Logs)Directory/m);
  expect(unit).toMatch(/^\[Install\]\nWantedBy/m);
});

it.runIf(spawnSync('systemd-analyze', ['--version']).status === 0)('has a unit that systemd accepts', () => {
  const file = join(folder, 'workbench-agent.service');
  writeFileSync(file, unitFor(UNIT, { ...TARGET, program: '/bin/sh' }, 'root'));
  const { status, stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', file], { encoding: 'utf8' });
  expect(stderr.split('\n').filter((line) => line.includes('workbench-agent.service'))).toEqual([]);
  expect(status, stderr).toBe(0);
});

it('is installed, and removed again', async () => {
  const sentence = await service().install(target(), null);
  expect(sentence).toContain('runs as workbench-agent');
  expect(sentence).toContain('runuser -u workbench-agent -- /usr/local/bin/workbench-agent enroll');
  expect(existsSync(unitFile())).toBe(true);
  expect(calls.slice(-2)).toEqual(['systemctl daemon-reload', 'systemctl enable one.service']);
  expect(await service().status()).toMatchObject({ isInstalled: true, isRunning: true });
  await service().uninstall();
  expect(calls).toContain('systemctl disable --now one.service');
  expect(existsSync(unitFile())).toBe(false);
});

it('leaves no unit when systemd refuses it', async () => {
  failing.push('systemctl enable one.service');
  await expect(service().install(target(), null)).rejects.toThrow('systemctl enable one.service: no');
  expect(existsSync(unitFile())).toBe(false);
});

it('says what is missing', async () => {
  await expect(service().start()).rejects.toThrow(/not installed/);
  await expect(service().install({ ...TARGET, program: '/home/anna/workbench-agent' }, null)).rejects.toThrow(
    /folder that the unit hides/,
  );
  failing = [];
  await expect(service().install(target(), null)).rejects.toThrow(/there is a unit one\.service/);
  isRoot = false;
  await expect(service().install(target(), null)).rejects.toThrow(/by sudo/);
  isSystemdHere = false;
  await expect(service().install(target(), null)).rejects.toThrow(/systemd does not run here/);
});
