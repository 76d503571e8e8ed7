import { accessSync, constants, existsSync } from 'node:fs';
import { basename, delimiter, isAbsolute, join, resolve } from 'node:path';
import { SCRIPT_LANGUAGE } from '@workbench-hub/shared/instance-protocol/messages';

/** A command that runs a script, whose path is appended. */
export interface Interpreter {
  command: string;
  args: string[];
}

/** Interpreter in a script's `#!` line, with at most one argument, like the kernel; undefined without such a line. A `\r` at
 *  the end of the line is ignored. */
export function shebang(script: Buffer): Interpreter | undefined {
  if (script[0] !== 0x23 || script[1] !== 0x21) return undefined;
  const end = script.indexOf('\n');
  const line = script.toString('utf8', 2, end < 0 ? script.length : end).trim();
  const [, command, argument] = /^(\S+)(?:\s+(.*))?$/s.exec(line) ?? [];
  if (command === undefined) return undefined;
  return { command, args: argument === undefined ? [] : [argument] };
}

/** Whether the interpreter is Node, by the name of its program. */
export function isNode(interpreter: Interpreter): boolean {
  return /^node(js)?$/.test(nameOf(interpreter));
}

/** Language of the scripts that the interpreter runs, as far as its name tells: `JavaScript`, `Python`, or that of the program.
 *  Undefined for a name that cannot be shown as a language. */
export function languageOf(interpreter: Interpreter): string | undefined {
  if (isNode(interpreter)) return 'JavaScript';
  const name = nameOf(interpreter);
  if (/^(python|pypy)[\d.]*$/.test(name)) return 'Python';
  return SCRIPT_LANGUAGE.test(name) ? name : undefined;
}

/** Name of the program that interprets, in lower case, without folder and `.exe`. */
function nameOf({ command, args }: Interpreter): string {
  return basename(throughEnv({ command, args }) ?? command)
    .toLowerCase()
    .replace(/\.exe$/, '');
}

/**
 * Missing program of an interpreter; undefined when none is missing. For `#!/usr/bin/env python3` that may be `env` or `python3`.
 */
export function missingProgram(
  interpreter: Interpreter,
  environment: NodeJS.ProcessEnv,
  workingDirectory: string,
): string | undefined {
  for (const program of [interpreter.command, throughEnv(interpreter)]) {
    if (program !== undefined && !isExecutable(program, environment, workingDirectory)) return program;
  }
  return undefined;
}

/** `python3` of `/usr/bin/env python3` or `/usr/bin/env -S LANG=C python3 -u`. Undefined when it is not `env`, or `env` has
 *  other options. */
function throughEnv({ command, args }: Interpreter): string | undefined {
  if (basename(command) !== 'env') return undefined;
  const words = args
    .join(' ')
    .replace(/^(?:-S|--split-string[= ])\s*/, '')
    .split(/\s+/);
  const program = words.find((word) => word !== '' && !word.includes('='));
  return program?.startsWith('-') ? undefined : program;
}

function isExecutable(program: string, environment: NodeJS.ProcessEnv, workingDirectory: string): boolean {
  // Windows finds programs by more than PATH (extensions, system folders): the start itself reports it.
  if (process.platform === 'win32') return true;
  const candidates = program.includes('/')
    ? [isAbsolute(program) ? program : resolve(workingDirectory, program)]
    : (environment['PATH'] ?? '').split(delimiter).map((folder) => join(folder, program));
  for (const candidate of candidates) {
    // Most folders do not have it, and an error costs more than this check.
    if (!existsSync(candidate)) continue;
    try {
      accessSync(candidate, constants.X_OK);
      return true;
    } catch {
      // Not here: try the next folder of PATH.
    }
  }
  return false;
}
