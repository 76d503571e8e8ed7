import { linkSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { RPC_ERROR, RpcError } from '@workbench-hub/shared/instance-protocol/messages';
import { type Interpreter, isNode, shebang } from './interpreter.js';
import { isEsModule } from './script-kind.js';

/** Names that begin so, at the top of the working directory, are never collected as output (instance protocol). */
const RESERVED_PREFIX = '.workbench-';

/** What a script did to its working directory: removed it, put something else there, or took away the right to write. */
const DIRECTORY_CLOSED: ReadonlySet<string | undefined> = new Set([
  'ENOENT',
  'ENOTDIR',
  'EACCES',
  'EPERM',
  'EROFS',
]);

export interface PlacedScript {
  path: string;
  /** What its `#!` line names; undefined: the instance's interpreter runs it. */
  ownInterpreter: Interpreter | undefined;
  /** Never throws; `log` is told when the file stays. */
  remove(log: (line: string) => void): void;
}

/** A script could not be put into the working directory; the message says why. */
export class ScriptNotPlaced extends Error {
  override readonly name = 'ScriptNotPlaced';
}

/**
 * Puts a script into the working directory, so that it finds modules beside itself (`require('./helper.js')`,
 * `import helper`), under a reserved name. For Node its extension tells what kind of module it is, whatever
 * package.json lies there. Throws {@link ScriptNotPlaced} when an earlier script, or the disk, does not let it.
 *
 * The files are small and nothing else is to be done meanwhile: threads that read and write them would cost more.
 */
export function placeScript(
  sourcePath: string,
  scriptNumber: number,
  workingDirectory: string,
  interpreter: Interpreter,
): PlacedScript {
  const content = readScript(sourcePath);
  const ownInterpreter = shebang(content);
  let extension = '';
  if (isNode(ownInterpreter ?? interpreter)) extension = isEsModule(content.toString()) ? '.mjs' : '.cjs';
  const name = `${RESERVED_PREFIX}script-${scriptNumber}${extension}`;
  const path = join(workingDirectory, name);
  try {
    place(sourcePath, content, path);
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

/** By another name where the file system has that, for the file is the job's own, otherwise as a copy. */
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

/** What a script came to stands, also when its file stays: such a name is no output, and the directory goes anyway. */
function removeScript(path: string, log: (line: string) => void): void {
  try {
    unlinkSync(path);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code !== 'ENOENT') log(`the file of a script stays in the working directory: ${message}`);
  }
}
