/** The commands of `wb`. */
import { Command, CommanderError, Option } from 'commander';
import type { Run, RunOnDemand } from './command-action.js';
import { addAgentCommands } from './commands/agents.js';
import { addBulkCommands } from './commands/bulk.js';
import { addHostCommands } from './commands/hosts.js';
import { addHubCommands } from './commands/hub.js';
import { addInstanceCommands } from './commands/instances.js';
import { addLoginCommands } from './commands/login.js';
import { addManifestCommands } from './commands/manifests.js';
import { addRunCommands } from './commands/run.js';
import { addStorageCommands } from './commands/storage.js';
import { addStudyCommands } from './commands/studies.js';
import { addTaskCommands } from './commands/tasks.js';
import { addCompletion } from './completion.js';
import { type HubOptions, hubOf } from './connect.js';
import { EXAMPLES } from './examples.js';
import { EXIT, type ExitCode } from './exit-codes.js';

/** Options of every command. */
interface CommonOptions extends HubOptions {
  readonly json?: boolean;
}

export interface Program {
  readonly command: Command;
  /** Exit code of the command that has run. */
  exitCode(): ExitCode;
}

/** The program with all commands. */
export function createProgram(version: string): Program {
  let exitCode: ExitCode = EXIT.FINISHED;
  const runOnDemand: RunOnDemand =
    (action) =>
    async (...args) => {
      // Commander adds options and command to the arguments.
      const options = args.at(-2) as CommonOptions;
      const output = { isJson: options.json === true };
      exitCode = await action(() => hubOf(options), output, ...(args.slice(0, -1) as never));
    };
  const run: Run = (action) =>
    runOnDemand(async (hub, output, ...args) => action(await hub(), output, ...(args as never)));
  const program = new Command('wb')
    .description('Run jobs on a Workbench Hub, and look after it.')
    .version(version, '-V, --version', 'print the version of wb')
    .addOption(new Option('--wb-version').hideHelp())
    .on('option:wb-version', () => {
      process.stdout.write(`${version}\n`);
      throw new CommanderError(0, 'commander.version', version);
    })
    .enablePositionalOptions()
    .exitOverride()
    .showHelpAfterError('(wb --help lists the commands, wb COMMAND --help its options and examples)');
  addRunCommands(program, run);
  addTaskCommands(program, run);
  addManifestCommands(program, run, runOnDemand);
  addBulkCommands(program, run);
  addStudyCommands(program, run);
  addInstanceCommands(program, run);
  addAgentCommands(program, run);
  addStorageCommands(program, run);
  addHostCommands(program, run);
  addHubCommands(program, run);
  addLoginCommands(program);
  for (const command of leavesOf(program)) {
    withCommonOptions(command);
    withExamples(command);
  }
  addCompletion(program);
  return { command: program, exitCode: () => exitCode };
}

/** All commands that do something. */
function leavesOf(command: Command): Command[] {
  return command.commands.length === 0 ? [command] : command.commands.flatMap(leavesOf);
}

function withCommonOptions(command: Command): void {
  command
    .option('--json', 'print JSON')
    .option('--hub <url>', 'address of the hub, instead of the profile')
    .option('--profile <name>', 'profile to use (wb login --profile NAME makes one)')
    .option('--ca-file <file>', 'certificate of a private authority, in PEM')
    .exitOverride();
}

/** Adds its examples to the help of a command. Throws for a command without any. */
function withExamples(command: Command): void {
  const group = command.parent?.parent ? `${command.parent.name()} ` : '';
  const examples = EXAMPLES[group + command.name()];
  if (!examples) throw new Error(`wb ${group}${command.name()} has no example`);
  const title = examples.length === 1 ? 'Example' : 'Examples';
  command.addHelpText('after', `\n${title}:\n${examples.map((each) => `  ${each}`).join('\n')}`);
}

/** Exit code of a failure of Commander: 0 for help and version, else that of wrong usage. */
export function exitCodeOfCommander(error: CommanderError): ExitCode {
  return error.exitCode === 0 ? EXIT.FINISHED : EXIT.USAGE;
}

export { CommanderError };
