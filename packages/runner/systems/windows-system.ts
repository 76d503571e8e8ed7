/** Scripts on Windows: programs by the endings of their names, batch files by cmd, and output in several encodings. */
import { execFile } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { basename, extname, normalize, resolve } from 'node:path';
import { promisify } from 'node:util';
import { namesOfProgram, pathOf, withVariables } from '@workbench-hub/shared/instance-protocol/program-names';
import type { Interpreter } from '../interpreter.js';
import type { HostSystem, ScriptKind, StartedCommand } from './host-system.js';
import { WindowsOutput } from './windows-output.js';

const POWERSHELL: Interpreter = {
  command: 'powershell',
  args: ['-NoProfile', '-NonInteractive', '-ExecutionPolicy', 'Bypass', '-File'],
};
const BATCH = /\.(?:bat|cmd)$/i;
const BYTE_ORDER_MARK = Buffer.from('\u{feff}');

/** Consoles of western Europe. */
const DEFAULT_CODE_PAGE = 850;
const CODE_PAGE_LIMIT_MS = 5000;

export async function openWindows(): Promise<HostSystem> {
  const codePage = await consoleCodePage();
  return {
    scriptKind: scriptKindOf,
    interpreterOf: windowsInterpreter,
    start: startOnWindows,
    withVariables: withVariablesOnWindows,
    outputDecoder: () => new WindowsOutput(codePage),
  };
}

/** Names differ in more than the case of their letters. */
export function withVariablesOnWindows(
  environment: NodeJS.ProcessEnv,
  added: NodeJS.ProcessEnv,
): NodeJS.ProcessEnv {
  return withVariables(environment, added, 'win32');
}

/** The code page of a new console. */
async function consoleCodePage(): Promise<number> {
  try {
    const { stdout } = await promisify(execFile)('chcp.com', {
      windowsHide: true,
      timeout: CODE_PAGE_LIMIT_MS,
    });
    return Number(/(\d+)\D*$/.exec(stdout)?.[1] ?? DEFAULT_CODE_PAGE);
  } catch {
    return DEFAULT_CODE_PAGE;
  }
}

/** Kind of a script by the ending of its name. */
export function scriptKindOf(path: string): ScriptKind | undefined {
  const ending = extname(path).toLowerCase();
  if (BATCH.test(ending)) return { ending, interpreter: null, content: batchContent };
  if (ending === '.ps1') return { ending, interpreter: POWERSHELL, content: powershellContent };
  return undefined;
}

/** cmd loses labels in files with the ends of lines of Linux, and takes a mark of the byte order for a part of the first command. */
function batchContent(script: Buffer): Buffer {
  const content = script.subarray(0, 3).equals(BYTE_ORDER_MARK) ? script.subarray(3) : script;
  // As bytes: the encoding is that of the author.
  return Buffer.from(content.toString('latin1').replace(/\r?\n/g, '\r\n'), 'latin1');
}

/** Windows PowerShell takes a text without a mark of the byte order for one of the code page. */
function powershellContent(script: Buffer): Buffer {
  const isPlain = script.every((byte) => byte < 128);
  if (isPlain || script.subarray(0, 3).equals(BYTE_ORDER_MARK)) return script;
  return script.equals(Buffer.from(script.toString('utf8')))
    ? Buffer.concat([BYTE_ORDER_MARK, script])
    : script;
}

/** A `#!` line names a path of Linux: its program is looked up in PATH. Python's own name on Windows is `python`. */
export function windowsInterpreter(
  { command, args }: Interpreter,
  environment: NodeJS.ProcessEnv,
): Interpreter {
  if (!command.startsWith('/')) return { command, args };
  const words =
    basename(command) === 'env'
      ? args
          .join(' ')
          .replace(/^-S\s*/, '')
          .split(/\s+/)
      : [basename(command), ...args];
  const [program = '', ...parameters] = words;
  const isMissing = (name: string) => findOnWindows(name, environment, '.') === undefined;
  const name = program === 'python3' && isMissing('python3') && !isMissing('python') ? 'python' : program;
  return { command: name, args: parameters };
}

/** Starts batch files by cmd, also programs that are batch files. Others are left to the system, which looks into more places. */
export function startOnWindows(
  { command, args }: StartedCommand,
  environment: NodeJS.ProcessEnv,
  workingDirectory: string,
): ReturnType<HostSystem['start']> {
  const file = findOnWindows(command, environment, workingDirectory);
  if (file === undefined) return { command, args };
  if (!BATCH.test(file)) return { command: file, args };
  if (/^[\\/]{2}(?![?.])/.test(workingDirectory))
    return {
      fault: `cmd cannot run in ${workingDirectory}, a folder of a network share: set dataDir of the agent to a folder with a drive letter`,
    };
  const line = [escaped(normalize(file)), ...args.map((argument) => escaped(quoted(argument)))].join(' ');
  return {
    command: environment['ComSpec'] ?? environment['COMSPEC'] ?? 'cmd',
    args: ['/d', '/s', '/c', `"${line}"`],
    windowsVerbatimArguments: true,
  };
}

/** Path of a program; undefined when it is not found. */
function findOnWindows(
  program: string,
  environment: NodeJS.ProcessEnv,
  workingDirectory: string,
): string | undefined {
  const places = /[\\/]/.test(program)
    ? [workingDirectory]
    : pathOf(environment)
        .split(';')
        .filter((folder) => folder !== '');
  return places
    .flatMap((folder) => namesOfProgram(program, environment['PATHEXT']).map((name) => resolve(folder, name)))
    .find(isProgram);
}

function isProgram(path: string): boolean {
  if (!existsSync(path)) return false;
  try {
    return !statSync(path).isDirectory();
  } catch {
    // Windows starts files that it does not show, such as the names of programs of its store.
    return true;
  }
}

/** An argument as the C library of a program reads it. */
function quoted(argument: string): string {
  return `"${argument.replace(/(\\*)"/g, '$1$1\\"').replace(/(\\*)$/, '$1$1')}"`;
}

/** Text in a command line of cmd, which would act on these characters. */
function escaped(text: string): string {
  return text.replace(/[()\][%!^"`<>&|;, *?]/g, '^$&');
}
