/** The launch of an instance program, and what its exit code means. */
import { constants } from 'node:os';
import { basename, dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { withVariables } from '@workbench-hub/shared/runtime/environment-variables';
import { liesOnPath, searchPath } from '@workbench-hub/shared/runtime/find-program';
import { pathOf } from '@workbench-hub/shared/runtime/program-names';
import { startFolder } from '@workbench-hub/shared/runtime/start-folder';
import { execa } from 'execa';
import type { ProgramEnd } from '../core/ports/programs.js';
import { COOKIE_VARIABLE, type Platform } from './platform.js';
import type { SandboxOfProgram } from './sandbox.js';

export interface ProcessCommand {
  /** Program and arguments. */
  readonly command: readonly string[];
  /** Added to the inherited environment. */
  readonly env: Readonly<Record<string, string>>;
}

export interface LaunchOptions {
  /** Inherited environment. */
  readonly environment: Readonly<Record<string, string>>;
  /** Value of {@link COOKIE_VARIABLE}. One that ends with `/` is also the beginning of others, which belong to the process, too. */
  readonly cookie: string;
  readonly platform: Pick<Platform, 'hasGroups'>;
  /** Null: no sandbox. */
  readonly sandbox: SandboxOfProgram | null;
}

/** A folder of the product: its own programs need no PATH. */
const LOCAL_DIRECTORY = dirname(fileURLToPath(import.meta.url));

export type Launched = ReturnType<typeof launch>;

/** Starts the program in its sandbox, if it has one; it leads a group of its own where the system has groups. */
export function launch(command: ProcessCommand, options: LaunchOptions) {
  const [file = '', ...parameters] = commandOf(command, options);
  const environment = environmentOf(command, options);
  const child = execa(file, parameters, {
    stdio: options.sandbox ? ['pipe', 'pipe', 'pipe', 'pipe'] : ['pipe', 'pipe', 'pipe'],
    buffer: false,
    reject: false,
    stripFinalNewline: false,
    cleanup: false,
    detached: options.platform.hasGroups,
    windowsHide: true,
    extendEnv: false,
    env: environment,
    cwd: startFolder(),
  });
  return { child, file, environment };
}

/** End of a program that has no process. */
export async function reasonNotStarted({ child, file, environment }: Launched): Promise<ProgramEnd> {
  const { code, originalMessage } = await child;
  // With an unreadable folder in PATH, a missing program looks like a forbidden one.
  const isMissing =
    code === 'ENOENT' ||
    (code === 'EACCES' && file === basename(file) && !(await liesOnPath(file, environment['PATH'] ?? '')));
  if (isMissing) return { kind: 'NOT_FOUND', program: file };
  return { kind: 'NOT_STARTED', program: file, reason: originalMessage ?? code ?? 'unknown reason' };
}

function commandOf({ command }: ProcessCommand, { sandbox }: LaunchOptions): readonly string[] {
  return sandbox ? sandbox.sandbox.wrap(command, sandbox.directory, sandbox.settings) : command;
}

/** End of the program, from bubblewrap's exit code, which is 128 plus the number of a signal. */
export function endInside(exitCode: number | null, signal: string | null) {
  const name = Object.entries(constants.signals).find(([, number]) => exitCode === 128 + number)?.[0];
  return name === undefined ? { exitCode, signal } : { exitCode: null, signal: name };
}

/** Environment of the program, with the configured variables in place of inherited ones. */
export function environmentOf(
  { env }: ProcessCommand,
  options: Omit<LaunchOptions, 'platform'>,
  system: NodeJS.Platform = process.platform,
): Record<string, string> {
  const inherited = options.sandbox?.sandbox.environment(options.environment) ?? options.environment;
  const environment = withVariables(inherited, env, system);
  const path = searchPath(pathOf(environment, system), LOCAL_DIRECTORY);
  return withVariables(environment, { PATH: path, [COOKIE_VARIABLE]: options.cookie }, system);
}
