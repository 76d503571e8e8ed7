import { linkSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { RPC_ERROR, RpcError } from '@workbench-hub/shared/instance-protocol/messages';
import { type Interpreter, isNode, shebang } from './interpreter.js';
import { isEsModule } from './script-kind.js';
import type { HostSystem } from './systems/host-system.js';

/** Prefix of names at the top of the working directory that are never outputs (instance protocol). */
const RESERVED_PREFIX = '.workbench-';

/** Errors of a working directory that a script removed, replaced or made read-only. */
const DIRECTORY_CLOSED: ReadonlySet<string | undefined> = new Set([
  'ENOENT',
  'ENOTDIR',
  'EACCES',
  'EPERM',
  'EROFS',
]);

export interface PlacedScript {
  path: string;
  /** Interpreter of its `#!` line, else of the ending of its name; undefined: the instance's interpreter runs it. Null: it is a program. */
  ownInterpreter: Interpreter | null | undefined;
  /** Removes the script. Never throws; logs a file that stays. */
  remove(log: (line: string) => void): void;
}

export interface ScriptSurroundings {
  /** Interpreter of the instance. */
  readonly interpreter: Interpreter;
  readonly system: HostSystem;
  readonly environment: NodeJS.ProcessEnv;
}

/** A script could not be placed in the working directory; the message says why. */
export class ScriptNotPlaced extends Error {
  override readonly name = 'ScriptNotPlaced';
}

/**
 * Puts a script into the working directory, so that it finds modules beside itself (`require('./helper.js')`, `import helper`),
 * under a reserved name. It keeps an ending by which the system runs it; for Node its extension tells what kind of module it is,
 * whatever a package.json says. Throws {@link ScriptNotPlaced} when an earlier script, or the disk, prevents it.
 *
 * Synchronous, since the files are small and threads would cost more.
 */
export function placeScript(
  sourcePath: string,
  scriptNumber: number,
  workingDirectory: string,
  { interpreter, system, environment }: ScriptSurroundings,
): PlacedScript {
  const content = readScript(sourcePath);
  const kind = system.scriptKind(sourcePath);
  const line = shebang(content);
  const ownInterpreter = line ? system.interpreterOf(line, environment) : kind?.interpreter;
  const running = ownInterpreter === undefined ? interpreter : ownInterpreter;
  let extension = kind?.ending ?? '';
  if (running !== null && isNode(running)) extension = isEsModule(content.toString()) ? '.mjs' : '.cjs';
  const name = `${RESERVED_PREFIX}script-${scriptNumber}${extension}`;
  const path = join(workingDirectory, name);
  try {
    const changed = line ? content : (kind?.content(content) ?? content);
    if (changed.equals(content)) place(sourcePath, content, path);
    else writeFileSync(path, changed, { flag: 'wx', mode: 0o600 });
  } catch (error) {
    throw notPlaced(error as NodeJS.ErrnoException, name);
  }
  return { path, ownInterpreter, remove: (log) => removeScript(path, log) };
}

function readScript(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new ScriptNotPlaced(`it cannot be read (${code})`, { cause: error });
  }
}

/** A hard link where possible, since the file belongs to the job; otherwise a copy. */
function place(sourcePath: string, content: Buffer, path: string): void {
  try {
    linkSync(sourcePath, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') throw error;
    writeFileSync(path, content, { flag: 'wx', mode: 0o600 });
  }
}

function notPlaced(error: NodeJS.ErrnoException, name: string): Error {
  if (error.code === 'EEXIST')
    return new RpcError(RPC_ERROR.JOB_FAILED, `a file of the job has the reserved name ${name}`);
  const closed = DIRECTORY_CLOSED.has(error.code);
  const why = closed ? 'the working directory is gone or not writable' : error.message;
  return new ScriptNotPlaced(why, { cause: error });
}

/** The result of the script counts even if its file stays: the name is no output, and the directory is removed anyway. */
function removeScript(path: string, log: (line: string) => void): void {
  try {
    unlinkSync(path);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code !== 'ENOENT') log(`the file of a script stays in the working directory: ${message}`);
  }
}
