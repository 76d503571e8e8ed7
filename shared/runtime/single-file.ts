/** The single executable file, in which the agent and other programs of the product lie with their Node.js (packages/one-file). */
import { isSea } from 'node:sea';

/** Path of the single file that runs; null for a program that Node.js started from its modules. */
export const SINGLE_FILE: string | null = isSea() ? process.execPath : null;

/** Programs inside the single file, by name, and the command of it that runs each. */
const COMMANDS: ReadonlyMap<string, string> = new Map([['workbench-runner', 'runner']]);

/** Command line that starts an instance program: one that lies inside the single file is a command of that. */
export function startedCommand(
  command: readonly string[],
  singleFile: string | null = SINGLE_FILE,
): readonly string[] {
  const [program = '', ...parameters] = command;
  const inside = COMMANDS.get(program);
  return singleFile === null || inside === undefined ? command : [singleFile, inside, ...parameters];
}
