/** The program `workbench-agent`: arguments, signals and exit codes. */
import { type LoadedConfig, loadConfig } from '@workbench-hub/shared/config/load';
import { logStep, reloading } from '@workbench-hub/shared/config/reload';
import { buildInfo } from '@workbench-hub/shared/runtime/build-info';
import { runLogged } from '@workbench-hub/shared/runtime/run-logged';
import { EXIT, StartRefused } from '@workbench-hub/shared/runtime/run-program';
import { Command, Option } from 'commander';
import { createAgent, RELOADABLE_KEYS } from './agent.js';
import { checkHost } from './commands/check-host.js';
import { enroll } from './commands/enroll.js';
import { startOfManaged } from './commands/managed.js';
import { type AgentConfig, agentConfigSchema, ENVIRONMENT_PREFIX, logSettingsOf } from './config.js';

const command = new Command('workbench-agent')
  .description('Holds workbench instances on a simulation host and joins a hub.')
  .option('-c, --config <file>', 'the configuration, a YAML file; without it every key has its default')
  .option(
    '--check-config',
    'print what is wrong with the configuration, one error per line, and exit with 2, or with 0',
  )
  .addOption(new Option('--managed', 'started by a hub, which sends the configuration').hideHelp())
  .version(buildInfo.version, '--version')
  .addHelpText(
    'after',
    `\nEvery key can be overridden by the environment: ${ENVIRONMENT_PREFIX}_DATA_DIR is dataDir.\nExit codes: 0 stopped by a signal; 1 stopped by a defect; 2 the start was refused.`,
  )
  .allowExcessArguments()
  .exitOverride((error) => process.exit(error.exitCode === 0 ? EXIT.OK : EXIT.REFUSED))
  .action((options: Options) => {
    const [unknown] = command.args;
    if (unknown !== undefined) return refuseCommand(unknown);
    if (options.managed) return runManaged();
    return withConfig(options, (config) => run(config, options));
  });
command
  .command('enroll')
  .description(
    'Fetches a credential of its own for this agent: asks for the code that "workbench-hub agent enroll ID" printed.',
  )
  .action(() => withConfig(command.opts<Options>(), enrollNow));

const KEEP_ALIVE_MS = 60_000;

interface Options {
  readonly config?: string;
  readonly checkConfig?: boolean;
  readonly managed?: boolean;
}

function refuseCommand(unknown: string): void {
  const names = command.commands.map((each) => each.name()).join(', ');
  console.error(
    `unknown command ${JSON.stringify(unknown)}: the commands are ${names}; without one, the agent starts`,
  );
  process.exitCode = EXIT.REFUSED;
}

function load({ config }: Options): LoadedConfig<AgentConfig> {
  return loadConfig({
    schema: agentConfigSchema,
    file: config ?? null,
    environment: process.env,
    environmentPrefix: ENVIRONMENT_PREFIX,
  });
}

async function withConfig(options: Options, action: (config: AgentConfig) => Promise<void>): Promise<void> {
  const loaded = load(options);
  if ('config' in loaded) return action(loaded.config);
  refuse(loaded.faults);
}

/** Runs as the child of a hub, without a log file: the hub logs each line. */
async function runManaged(): Promise<void> {
  const start = await startOfManaged();
  if ('faults' in start) return refuse(start.faults);
  const { config, hubGone, onLogLevel } = start;
  const { version, revision } = buildInfo;
  await runLogged(
    { name: 'agent', level: config.log.level, file: null, rotation: null },
    (log, opened) => {
      onLogLevel((level) => void opened.reload({ level, file: null, rotation: null }));
      return { service: createAgent(config, { log, version, revision, environment: process.env }) };
    },
    hubGone,
  );
}

function refuse(faults: readonly string[]): void {
  for (const fault of faults) console.error(fault);
  process.exitCode = EXIT.REFUSED;
}

async function run(config: AgentConfig, options: Options): Promise<void> {
  if (options.checkConfig) {
    // The timers of the runtime keep no process alive.
    const alive = setInterval(() => undefined, KEEP_ALIVE_MS);
    const { faults, notes } = await checkHost(config, options.config ?? null, process.env).finally(() =>
      clearInterval(alive),
    );
    for (const fault of faults) console.error(fault);
    if (faults.length > 0) process.exitCode = EXIT.REFUSED;
    else console.log(['The configuration is valid.', ...notes].join('\n'));
    return;
  }
  const { version, revision } = buildInfo;
  await runLogged({ name: 'agent', ...logSettingsOf(config) }, (log, opened) => {
    const agent = createAgent(config, {
      log,
      version,
      revision,
      environment: process.env,
      configFile: options.config,
    });
    const reload = reloading({
      config,
      load: () => load(options),
      reloadable: RELOADABLE_KEYS,
      steps: [logStep(opened, logSettingsOf), ...agent.reloadSteps],
      log,
    });
    return { service: agent, reload };
  });
}

async function enrollNow(config: AgentConfig): Promise<void> {
  try {
    console.log(await enroll(config));
  } catch (error) {
    if (!(error instanceof StartRefused)) throw error;
    console.error(error.message);
    process.exitCode = EXIT.REFUSED;
  }
}

await command.parseAsync();
