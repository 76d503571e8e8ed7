/** Differences between systems in starting scripts and reading their output. */
import { StringDecoder } from 'node:string_decoder';
import { withVariables } from '@workbench-hub/shared/instance-protocol/program-names';
import type { Interpreter } from '../interpreter.js';

/** A process to be started. */
export interface StartedCommand {
  readonly command: string;
  readonly args: readonly string[];
  /** Whether the arguments are the command line as it stands (Windows). */
  readonly windowsVerbatimArguments?: boolean;
}

/** Bytes of a stream as text. */
export interface OutputDecoder {
  write(bytes: Buffer): string;
  /** The rest at the end of the stream. */
  end(): string;
}

export interface HostSystem {
  /** Kind of a script that the system, without a `#!` line, runs by the ending of its name; undefined: the interpreter of the instance runs it. */
  scriptKind(path: string): ScriptKind | undefined;
  /** Interpreter of a `#!` line on this system. */
  interpreterOf(shebang: Interpreter, environment: NodeJS.ProcessEnv): Interpreter;
  /** The process that runs a command, or the reason why this system cannot start it. */
  start(
    command: StartedCommand,
    environment: NodeJS.ProcessEnv,
    workingDirectory: string,
  ): StartedCommand | { readonly fault: string };
  /** An environment with further variables in place of those of the same name. */
  withVariables(environment: NodeJS.ProcessEnv, added: NodeJS.ProcessEnv): NodeJS.ProcessEnv;
  outputDecoder(): OutputDecoder;
}

export interface ScriptKind {
  /** Ending of the file, such as `.bat`. */
  readonly ending: string;
  /** Null: the file itself is started. */
  readonly interpreter: Interpreter | null;
  /** The bytes as that interpreter reads them. */
  content(script: Buffer): Buffer;
}

/** Linux and other systems of POSIX: a script is a program by its `#!` line, and text is UTF-8. */
export const posix: HostSystem = {
  scriptKind: () => undefined,
  interpreterOf: (shebang) => shebang,
  start: (command) => command,
  withVariables: (environment, added) => withVariables(environment, added, 'linux'),
  outputDecoder: () => new StringDecoder('utf8'),
};
