/** The command `service`: the agent as a service of this host. */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { getAsset } from 'node:sea';
import { instanceSettings, loadAgentConfig, logFileOf } from '@workbench-hub/agent/config';
import { longestStopMs } from '@workbench-hub/agent/core/stop-time';
import { EXIT } from '@workbench-hub/shared/runtime/run-program';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import { unpackInto } from '@workbench-hub/shared/runtime/unpacked-parts';
import type { Command } from 'commander';
import { type HostService, ServiceFault, type ServiceTarget } from './host-service.js';
import { serviceAccount } from './service-account.js';
import { SERVICE_NAME } from './service-name.js';
import { systemdService } from './systemd-service.js';

const UNITS = '/etc/systemd/system';
const NOT_RUNNING = 3;
const KEEP_ALIVE_MS = 60_000;

interface Options {
  readonly name: string;
  readonly account?: string;
}

/** Adds the command; `config` is the option of the program above it. */
export function addServiceCommand(agent: Command): void {
  const service = agent
    .command('service')
    .description(
      'Installs, removes, starts and stops the agent as a service of this host, or shows its state.',
    );
  const add = (
    verb: string,
    description: string,
    act: (host: HostService, options: Options) => Promise<string>,
  ) =>
    service
      .command(verb)
      .description(description)
      .option('--name <name>', 'name of the service', SERVICE_NAME.DEFAULT)
      .action((options: Options) => outcome(options, (host) => act(host, options)));
  add(
    'install',
    'Has the agent with the configuration of --config started with the system.',
    (host, options) => install(host, options, agent.opts<{ config?: string }>().config),
  ).option(
    '--account <account>',
    'account of the service, whose password is asked for; by default NT SERVICE\\NAME of Windows, or the user workbench-agent',
  );
  add('uninstall', 'Stops and removes the service; configuration and data stay.', (host) => host.uninstall());
  add('start', 'Starts the service.', (host) => host.start());
  add('stop', 'Stops the service and waits for its end.', (host) => host.stop());
  add('status', 'Says whether it runs; exits with 3 when it does not.', async (host) => {
    const { sentence, isRunning } = await host.status();
    if (!isRunning) process.exitCode = NOT_RUNNING;
    return sentence;
  });
}

async function outcome({ name }: Options, act: (host: HostService) => Promise<string>): Promise<void> {
  const alive = setInterval(() => undefined, KEEP_ALIVE_MS);
  try {
    if (!SERVICE_NAME.FORM.test(name))
      throw new ServiceFault('--name has 1 to 80 letters, digits, "-" and "_"');
    process.stdout.write(`${await act(await hostService(name))}\n`);
  } catch (error) {
    if (!(error instanceof ServiceFault)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exitCode = EXIT.REFUSED;
  } finally {
    clearInterval(alive);
  }
}

async function install(host: HostService, { account }: Options, config: string | undefined): Promise<string> {
  if (config === undefined)
    throw new ServiceFault('a service needs a configuration: workbench-agent service install --config FILE');
  const target = targetOf(resolve(config));
  if (account === undefined) return host.install(target, null);
  const tell = (text: string) => void process.stderr.write(text);
  return host.install(target, await serviceAccount(account, process.platform, process.stdin, tell));
}

/** Loads the configuration as the service will, in the folder of the file. */
function targetOf(config: string): ServiceTarget {
  if (existsSync(config)) process.chdir(dirname(config));
  const loaded = loadAgentConfig(config, process.env);
  if ('faults' in loaded) throw new ServiceFault(loaded.faults.join('\n'));
  const { dataDir, drainTimeout } = loaded.config;
  return {
    program: process.execPath,
    config,
    dataDir: resolve(dataDir),
    logFile: resolve(logFileOf(loaded.config)),
    stopTimeoutMs: longestStopMs(drainTimeout, instanceSettings(loaded.config)),
  };
}

async function hostService(name: string): Promise<HostService> {
  switch (process.platform) {
    case 'win32':
      return openWindows(name);
    case 'linux':
      return systemdService({
        name,
        unit: getAsset('workbench-agent.service', 'utf8'),
        folder: UNITS,
        run: (program, args) => {
          const { status, stdout, stderr } = spawnSync(program, args, { encoding: 'utf8' });
          return { exitCode: status, output: `${stdout ?? ''}${stderr ?? ''}` };
        },
        isSystemdHere: () => existsSync('/run/systemd/system'),
        isRoot: () => process.geteuid?.() === 0,
      });
    default:
      throw new ServiceFault('there are services for Windows and Linux only');
  }
}

/** Windows' functions are loaded beside the program, where administrators alone may write. */
async function openWindows(name: string): Promise<HostService> {
  const [{ loadKoffi }, { serviceCalls }, { eventLog }, { accessLists }, { windowsService }] =
    await Promise.all([
      import('@workbench-hub/agent/process/windows/load-koffi'),
      import('./service-calls.js'),
      import('./event-log.js'),
      import('@workbench-hub/agent/process/windows/access-lists'),
      import('./windows-service.js'),
    ]);
  unpackInto(dirname(process.execPath));
  const koffi = await loadKoffi();
  return windowsService({
    name,
    calls: serviceCalls(koffi),
    events: eventLog(koffi, name),
    accessLists: accessLists(koffi),
    runtime: systemRuntime,
  });
}
