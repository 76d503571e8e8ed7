import { serveProgram } from '@workbench-hub/shared/instance-protocol/program';
import { readCommandLine, USAGE } from './command-line.js';
import { runnerProgram } from './runner-program.js';
import type { PrepareNode } from './script-node.js';
import { openHostSystem } from './systems/this-system.js';

export interface RunnerOptions {
  readonly version: string;
  readonly prepareNode: PrepareNode;
}

/** Runs `workbench-runner` with these arguments, and ends the process when it has served. */
export async function runRunner(
  parameters: string[],
  { version, prepareNode }: RunnerOptions,
): Promise<void> {
  const commandLine = readCommandLine(parameters);
  switch (commandLine.kind) {
    case 'help':
      process.stdout.write(USAGE);
      break;
    case 'version':
      process.stdout.write(`${version}\n`);
      break;
    case 'refused':
      process.stderr.write(`workbench-runner: ${commandLine.message}\n\n${USAGE}`);
      process.exitCode = 2;
      break;
    case 'serve': {
      const [command = '', ...args] = commandLine.interpreter;
      const stop = new AbortController();
      process.once('SIGTERM', () => stop.abort());
      process.once('SIGINT', () => stop.abort());
      const program = runnerProgram(version, { command, args }, prepareNode, await openHostSystem());
      await serveProgram(program, { stop: stop.signal });
      process.exit(0);
    }
  }
}
