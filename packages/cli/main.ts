import { readFileSync } from 'node:fs';
import { tell } from './console.js';
import { EXIT, type ExitCode, exitCodeOfError, messageOf } from './exit-codes.js';
import { CommanderError, createProgram, exitCodeOfCommander } from './program.js';

/** Runs `wb` with these arguments of the process; resolves with its exit code. */
export async function main(argv: readonly string[]): Promise<ExitCode> {
  // A reader that has seen enough, such as head, closes the pipe.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(EXIT.FINISHED);
    throw error;
  });
  const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
    version: string;
  };
  const program = createProgram(version);
  try {
    await program.command.parseAsync([...argv]);
    return program.exitCode();
  } catch (error) {
    if (error instanceof CommanderError) return exitCodeOfCommander(error);
    tell(`wb: ${messageOf(error)}`);
    return exitCodeOfError(error);
  }
}
