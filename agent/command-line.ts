/** The command line of `workbench-agent`: arguments, signals and exit codes. The agent is imported when it starts: that takes longer
 *  than to refuse its configuration. */
import { fault, isSound, reportOf, sentencesOf } from '@workbench-hub/shared/checks/finding';
import { logStep, reloading } from '@workbench-hub/shared/config/reload';
import { installationOn } from '@workbench-hub/shared/domain/installation';
import { buildInfo } from '@workbench-hub/shared/runtime/build-info';
import type { Logger, OpenLog } from '@workbench-hub/shared/runtime/logger';
import { runLogged } from '@workbench-hub/shared/runtime/run-logged';
import { EXIT, StartRefused } from '@workbench-hub/shared/runtime/run-program';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import { Command, Option } from 'commander';
import { startOfManaged } from './commands/managed.js';
import { type AgentConfig, ENVIRONMENT_PREFIX, loadAgentConfig, logSettingsOf } from './config.js';
import { isUnwanted, UNWANTED } from './core/unwanted.js';
import { joinLauncher } from './updates/launcher-channel.js';

const command = new Command('workbench-agent')
  .description('Holds workbench instances on a simulation host and joins a hub.')
  .option('-c, --config <file>', 'the configuration, a YAML file; without it every key has its default')
  .option(
    '--check-config',
    'print what would prevent a start with this configuration, one error per line, and exit with 2, or with 0',
  )
  .addOption(new Option('--managed', 'started by a hub, which sends the configuration').hideHelp())
  .version(buildInfo.version, '--version')
  .addHelpText(
    'after',
    `\nEvery key can be overridden by the environment: ${ENVIRONMENT_PREFIX}_DATA_DIR is dataDir.\nExit codes: 0 stopped by a signal; 1 stopped by a defect; 2 the start was refused.`,
  )
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
command
  .command('doctor')
  .description(
    'Checks configuration, folders, keys, sandboxes and programs of an agent, and the way to its hub, whether or not it ' +
      'runs, and says what is wrong and what to do. Changes nothing. Exits with 1 when there is a fault.',
  )
  .option('--no-programs', 'start no instance program: each may take a license')
  .option('--json', 'print JSON')
  .action((options: DoctorCommandOptions) => doctor(command.opts<Options>(), options));

const KEEP_ALIVE_MS = 60_000;

interface Options {
  readonly config?: string;
  readonly checkConfig?: boolean;
  readonly managed?: boolean;
}

interface DoctorCommandOptions {
  readonly programs: boolean;
  readonly json?: boolean;
}

function refuseCommand(unknown: string): void {
  const names = command.commands.map((each) => each.name()).join(', ');
  refuse([
    `unknown command ${JSON.stringify(unknown)}: the commands are ${names}; without one, the agent starts`,
  ]);
}

async function withConfig(options: Options, action: (config: AgentConfig) => Promise<void>): Promise<void> {
  const loaded = loadAgentConfig(options.config ?? null, process.env);
  if ('config' in loaded) return action(loaded.config);
  refuse(loaded.faults);
}

/** Runs as the child of a hub, without a log file: the hub logs each line. */
async function runManaged(): Promise<void> {
  const start = await startOfManaged();
  if ('faults' in start) return refuse(start.faults);
  const { config, hubGone, onLogLevel } = start;
  const { createAgent } = await import('./agent.js');
  await runLogged(
    { name: 'agent', level: config.log.level, file: null, rotation: null },
    (log, opened) => {
      onLogLevel((level) => void opened.reload({ level, file: null, rotation: null }));
      return { service: createAgent(config, { log, ...thisBuild(), environment: process.env }) };
    },
    { stopSignal: hubGone },
  );
}

function refuse(faults: readonly string[]): void {
  for (const fault of faults) console.error(fault);
  process.exitCode = EXIT.REFUSED;
}

async function run(config: AgentConfig, options: Options): Promise<void> {
  const configFile = options.config ?? null;
  if (options.checkConfig) return printHostCheck(config, configFile);
  const { createAgent, RELOADABLE_KEYS } = await import('./agent.js');
  const launcher = joinLauncher(process.env);
  const restarts = new AbortController();
  const unwanted = new AbortController();
  const end = endOf(config);
  const start = (log: Logger, opened: OpenLog) => {
    const agent = createAgent(config, {
      launcher,
      restart: () => restarts.abort('its launcher starts another version'),
      log,
      ...thisBuild(),
      environment: process.env,
      configFile: options.config,
      onUnauthorized: (forMs) => {
        if (isUnwanted(config, forMs)) unwanted.abort(UNWANTED);
      },
      onStopAfter: end?.set,
    });
    const reload = reloading({
      config,
      load: () => loadAgentConfig(configFile, process.env),
      reloadable: RELOADABLE_KEYS,
      steps: [logStep(opened, logSettingsOf), ...agent.reloadSteps],
      log,
    });
    return { service: agent, reload };
  };
  const stops = [restarts.signal, unwanted.signal, launcher?.stopSignal, end?.signal];
  await runLogged({ name: 'agent', ...logSettingsOf(config) }, start, {
    stopSignal: AbortSignal.any(stops.filter((signal) => signal !== undefined)),
    ignoresSignals: launcher !== null,
  });
}

function thisBuild() {
  const { version, revision, installation } = buildInfo;
  return { version, revision, installation: installationOn(installation, process) };
}

/** Signal that stops the agent when its time is over, which its hub may know better than its configuration; undefined for one that has no end. */
function endOf({
  stopAfter,
}: AgentConfig): { readonly signal: AbortSignal; set(afterMs: number): void } | undefined {
  if (stopAfter === null) return undefined;
  const over = new AbortController();
  const { timers } = systemRuntime;
  const startTimer = (afterMs: number) =>
    timers.after(afterMs, () => over.abort('its time is over (stopAfter)'));
  let timer = startTimer(stopAfter);
  return {
    signal: over.signal,
    set: (afterMs) => {
      timer.cancel();
      timer = startTimer(afterMs);
    },
  };
}

async function printHostCheck(config: AgentConfig, configFile: string | null): Promise<void> {
  const { checkHost } = await import('./commands/check-host.js');
  const options = { configFile, environment: process.env, runtime: systemRuntime };
  const findings = await keptAlive(() => checkHost(config, options));
  if (!isSound(findings)) return refuse(sentencesOf(findings, 'FAULT'));
  const tried = findings.filter(({ state, check }) => state === 'OK' && /^(?:sandbox|control) /.test(check));
  const notes = [...sentencesOf(tried, 'OK'), ...sentencesOf(findings, 'WARNING')];
  console.log(['The configuration is valid.', ...notes].join('\n'));
}

async function doctor(options: Options, { programs, json = false }: DoctorCommandOptions): Promise<void> {
  const { examine } = await import('./commands/doctor/examine.js');
  const loaded = loadAgentConfig(options.config ?? null, process.env);
  const findings =
    'faults' in loaded
      ? loaded.faults.map((message) => fault('configuration', message, 'correct it'))
      : await keptAlive(() =>
          examine(loaded.config, {
            configFile: options.config ?? null,
            environment: process.env,
            runtime: systemRuntime,
            startPrograms: programs,
          }),
        );
  console.log(reportOf(findings, json));
  if (!isSound(findings)) process.exitCode = EXIT.CRASHED;
}

/** Keeps the process alive during an action, which the timers of the runtime do not. */
async function keptAlive<T>(action: () => Promise<T>): Promise<T> {
  const alive = setInterval(() => undefined, KEEP_ALIVE_MS);
  return action().finally(() => clearInterval(alive));
}

async function enrollNow(config: AgentConfig): Promise<void> {
  const { enrollAgent } = await import('./commands/enroll.js');
  try {
    console.log(await enrollAgent(config));
  } catch (error) {
    if (!(error instanceof StartRefused)) throw error;
    refuse([error.message]);
  }
}

// Last, since commands inherit it.
command.allowExcessArguments();

export { command as agentCommand };
