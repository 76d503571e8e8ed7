import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AccessLists } from '@workbench-hub/agent/process/windows/access-lists';
import { WindowsError } from '@workbench-hub/agent/process/windows/foreign-functions';
import { type ManualRuntime, manualRuntime } from '@workbench-hub/shared/runtime/manual-runtime';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { ServiceCalls, ServiceDefinition, ServiceStatus } from './service-calls.js';
import { windowsService } from './windows-service.js';

let folder: string;
let runtime: ManualRuntime;
let services: Map<string, ServiceDefinition>;
let status: Partial<ServiceStatus>;
let registered: boolean;
let restricted: string[];
let fault: WindowsError | null;
let undoFault: WindowsError | null;
/** Whether another program has a removed service open. */
let isHeld: boolean;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'windows-service-'));
  runtime = manualRuntime();
  services = new Map();
  status = { state: 1 };
  registered = false;
  restricted = [];
  fault = null;
  undoFault = null;
  isHeld = false;
});
afterEach(() => rmSync(folder, { recursive: true }));

const target = () => ({
  program: String.raw`C:\Program Files\agent.exe`,
  config: join(folder, 'agent.yaml'),
  dataDir: join(folder, 'data'),
  logFile: join(folder, 'data/logs/agent.log'),
  stopTimeoutMs: 70_000,
});

function service() {
  const calls: ServiceCalls = {
    create: (definition) => {
      if (services.has(definition.name)) throw new WindowsError('CreateService', 1073);
      services.set(definition.name, definition);
      return ['delayed start'];
    },
    remove: (name) => {
      if (!isHeld) services.delete(name);
      if (undoFault !== null) throw undoFault;
    },
    start: () => {
      if (fault !== null) throw fault;
      status = { state: 2, checkpoint: 1 };
    },
    requestStop: () => {
      status = { ...status, state: 3, checkpoint: 1 };
    },
    status: (name) => {
      const found = services.get(name);
      const base = { state: 1, exitCode: 0, specificExitCode: 0, checkpoint: 0, pid: 0 };
      return found && { ...base, account: found.account, ...status };
    },
  };
  const accessLists: Pick<AccessLists, 'restrict'> = {
    restrict: (path) => {
      if (fault !== null) throw fault;
      restricted.push(path);
    },
  };
  return windowsService({
    name: 'one',
    calls,
    accessLists,
    runtime,
    events: {
      report: () => undefined,
      register: () => {
        registered = true;
      },
      unregister: () => {
        if (undoFault !== null) throw undoFault;
        registered = false;
      },
    },
  });
}

it('installs a service of an account of its own, which starts again after failures', async () => {
  const sentence = await service().install(target(), null);
  expect(sentence).toContain(String.raw`runs as NT SERVICE\one`);
  expect(sentence).toContain('This Windows has no setting for: delayed start.');
  expect(services.get('one')).toMatchObject({
    commandLine: `"C:\\Program Files\\agent.exe" --config "${target().config}" --service one`,
    account: String.raw`NT SERVICE\one`,
    password: null,
    shutdownTimeoutMs: 100_000,
  });
  expect(restricted).toEqual([target().dataDir, target().config]);
  expect([registered, existsSync(target().dataDir)]).toEqual([true, true]);
});

it('leaves no service when a step fails', async () => {
  fault = new WindowsError('SetNamedSecurityInfo', 5);
  await expect(service().install(target(), null)).rejects.toThrow(/rights of an administrator/);
  expect([services.size, registered]).toEqual([0, false]);
});

it('tells the step that failed, also when undoing fails', async () => {
  fault = new WindowsError('SetNamedSecurityInfo', 5);
  undoFault = new WindowsError('RegDeleteTree', 1234);
  await expect(service().install(target(), null)).rejects.toThrow(
    /rights of an administrator.*; undoing failed as well: RegDeleteTree: error 1234/,
  );
  expect(services.size).toBe(0);
});

it('refuses a name that is taken, and leaves that service alone', async () => {
  await service().install(target(), null);
  await expect(service().install(target(), { name: '.\\user', password: 'x' })).rejects.toThrow(
    /uninstall it first, or choose another name by --name/,
  );
  expect([services.size, registered]).toEqual([1, true]);
});

it('waits for a stop as long as it makes progress', async () => {
  await service().install(target(), null);
  status = { state: 4, pid: 7 };
  let sentence = '';
  const stopped = service()
    .stop()
    .then((told) => {
      sentence = told;
    });
  for (let checkpoint = 2; checkpoint < 6; checkpoint++) {
    await runtime.advance(50_000);
    status = { state: 3, checkpoint };
  }
  await runtime.advance(1000);
  expect(sentence).toBe('');
  status = { state: 1, exitCode: 1066, specificExitCode: 1 };
  await runtime.advance(1000);
  await stopped;
  expect(sentence).toBe('Service one has stopped with exit code 1.');
});

it('gives up a start without progress', async () => {
  await service().install(target(), null);
  const outcome = expect(service().start()).rejects.toThrow(/starting for 60 s without progress/);
  await runtime.advance(61_000);
  await outcome;
});

it.each([
  [5, /Run as administrator/],
  [1069, /Log on as a service/],
  [1234, /StartService: error 1234 of Windows/],
])('says what to do about error %i', async (number, expected) => {
  await service().install(target(), null);
  fault = new WindowsError('StartService', number);
  await expect(service().start()).rejects.toThrow(expected);
});

it('is removed when nothing has it open, and says so when something has', async () => {
  await service().install(target(), null);
  isHeld = true;
  const held = service().uninstall();
  await runtime.advance(11_000);
  expect(await held).toContain('is removed as soon as no program has it open');
  expect(registered).toBe(false);
  isHeld = false;
  expect(await service().uninstall()).toBe('Service one is removed; configuration and data folder stay.');
});

it('shows its state', async () => {
  expect(await service().status()).toMatchObject({ isInstalled: false, isRunning: false });
  await service().install(target(), null);
  status = { state: 4, pid: 7 };
  expect(await service().status()).toEqual({
    isInstalled: true,
    isRunning: true,
    sentence: String.raw`Service one is running (process 7); its account is NT SERVICE\one.`,
  });
});
