import { fileURLToPath } from 'node:url';
import type { Interpreter } from './interpreter.js';

/** An interpreter with the variables that its process gets in addition. */
export interface PreparedInterpreter extends Interpreter {
  readonly environment?: Readonly<Record<string, string>>;
}

/**
 * Prepares Node.js as the interpreter of scripts that have the variables, `print` and `println` as globals. The interpreter `node`
 * becomes the Node.js of the runner, which always exists, whatever PATH a service manager sets.
 */
export type PrepareNode = (interpreter: Interpreter, environment: NodeJS.ProcessEnv) => PreparedInterpreter;

const GLOBALS_PRELOAD = fileURLToPath(new URL('javascript-globals.cjs', import.meta.url));

/** The Node.js that started the runner from its modules. */
export const nodeOfRunner: PrepareNode = ({ command, args }) => ({
  command: command === 'node' ? process.execPath : command,
  args: [...args, '--require', GLOBALS_PRELOAD],
});
