/** The program workbench-hub: arguments, signals and exit codes; nothing else. A service is imported when it starts: that takes
 *  longer than most commands. */
import { logStep, reloading } from '@workbench-hub/shared/config/reload';
import { buildInfo } from '@workbench-hub/shared/runtime/build-info';
import { runLogged } from '@workbench-hub/shared/runtime/run-logged';
import { EXIT } from '@workbench-hub/shared/runtime/run-program';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import { Command } from 'commander';
import { agentCommands } from './commands/agent-commands.js';
import { backupCommands } from './commands/backup-commands.js';
import { refuseCommand, withConfig } from './commands/command.js';
import { doctorCommand } from './commands/doctor-command.js';
import { hostCommands } from './commands/host-commands.js';
import { keyCommands } from './commands/key-commands.js';
import { storageCommands } from './commands/storage-commands.js';
import { storeCommands } from './commands/store-commands.js';
import { tokenCommands } from './commands/token-commands.js';
import { upstreamCommands } from './commands/upstream-commands.js';
import { hashPasswordCommand, userCommands } from './commands/user-commands.js';
import { webhookCommands } from './commands/webhook-commands.js';
import { type HubConfig, loadHubConfig, logFileOf, logSettingsOf } from './config.js';

// Models, results, logs and secrets are for the user of the hub alone.
process.umask(0o077);

const program = new Command('workbench-hub')
  .description(
    'The central server: takes jobs over REST, queues them durably, and gives them to workbench instances.',
  )
  .version(buildInfo.version)
  .option('--config <file>', 'configuration file (YAML); without it, the defaults')
  .option('--check-config', 'say what is wrong with the configuration and exit: 0 when nothing, otherwise 2')
  .addHelpText(
    'after',
    '\nWithout a command, the hub is run.\n' +
      'Every key can be set in the environment: WORKBENCH_HUB_SERVER_PORT=9000 is server.port.',
  )
  .exitOverride((error) => process.exit(error.exitCode === 0 ? EXIT.OK : EXIT.REFUSED))
  .action(({ checkConfig }: { checkConfig?: boolean }) => {
    if (program.args.length > 0) return refuseCommand(program, '; without one, the hub is run');
    return withConfig(program, process.env, async (config) => {
      if (checkConfig) return printHostCheck(config);
      await run(config);
    });
  });

async function run(config: HubConfig): Promise<void> {
  const { createHub } = await import('./hub.js');
  const { RELOADABLE_KEYS } = await import('./wiring/hub-reload.js');
  const { config: file = null } = program.opts<{ config?: string }>();
  await runLogged({ name: 'hub', ...logSettingsOf(config) }, (log, opened) => {
    const logFile = () => opened.file ?? logFileOf(config);
    const hub = createHub(config, log, { logFile, environment: process.env });
    const reload = reloading({
      config,
      load: () => loadHubConfig(file, process.env),
      reloadable: RELOADABLE_KEYS,
      steps: [logStep(opened, logSettingsOf), ...hub.reloadSteps],
      log,
    });
    return { service: hub, reload };
  });
}

async function printHostCheck(config: HubConfig): Promise<void> {
  const { checkHost } = await import('./commands/check-host.js');
  const { faults, notes } = await checkHost(config, process.env, systemRuntime.clock);
  for (const fault of faults) console.error(fault);
  if (faults.length > 0) process.exitCode = EXIT.REFUSED;
  else console.log(['The configuration is valid.', ...notes].join('\n'));
}

userCommands(program, process.env);
hashPasswordCommand(program);
tokenCommands(program, process.env);
keyCommands(program, process.env);
agentCommands(program, process.env);
upstreamCommands(program, process.env);
hostCommands(program, process.env);
backupCommands(program, process.env);
webhookCommands(program, process.env);
storeCommands(program, process.env);
storageCommands(program, process.env);
doctorCommand(program, process.env);
// Last, since commands inherit it.
program.allowExcessArguments();

await program.parseAsync();
