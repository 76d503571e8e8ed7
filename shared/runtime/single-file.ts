/** The single executable file, in which the agent and other programs of the product lie with their Node.js (packages/one-file). */
import { isSea } from 'node:sea';
import { unpackedProgram } from './unpacked-parts.js';

/** Path of the single file that runs; null for a program that Node.js started from its modules. */
export const SINGLE_FILE: string | null = isSea() ? process.execPath : null;

/** Instance programs inside the single file that run from an unpacked folder. */
export const UNPACKED_PROGRAMS: readonly string[] = ['workbench-mujoco'];

/** Command of the single file that runs each instance program inside it. */
const COMMANDS: ReadonlyMap<string, string> = new Map([
  ['workbench-runner', 'runner'],
  ['workbench-mujoco', 'mujoco'],
]);

/** File that is executed for the command line of an instance. */
export function startedProgram(
  [program = '']: readonly string[],
  singleFile: string | null = SINGLE_FILE,
): string {
  return singleFile !== null && COMMANDS.has(program) ? singleFile : program;
}

/** Command line that starts an instance program: one that lies inside the single file is a command of that. Unpacks the program if it
 *  has to; throws the system's error when that fails. */
export function startedCommand(
  command: readonly string[],
  singleFile: string | null = SINGLE_FILE,
  unpack: (program: string) => string = unpackedProgram,
): readonly string[] {
  const [program = '', ...parameters] = command;
  const inside = COMMANDS.get(program);
  if (singleFile === null || inside === undefined) return command;
  const folder = UNPACKED_PROGRAMS.includes(program) ? [unpack(program)] : [];
  return [singleFile, inside, ...folder, ...parameters];
}
