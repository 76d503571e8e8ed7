import { readFile, rm, writeFile } from 'node:fs/promises';
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
  /** Never rejects; `log` is told when the file stays. */
  remove(log: (line: string) => void): Promise<void>;
}

/** A script could not be put into the working directory; the message says why. */
export class ScriptNotPlaced extends Error {
  override readonly name = 'ScriptNotPlaced';
}

/**
 * Puts a script into the working directory, so that it finds modules beside itself (`require('./helper.js')`,
 * `import helper`), under a reserved name. For Node its extension tells what kind of module it is, whatever
 * package.json lies there. Rejects with {@link ScriptNotPlaced} when an earlier script, or the disk, does not let it.
 */
export async function placeScript(
  sourcePath: string,
  scriptNumber: number,
  workingDirectory: string,
  interpreter: Interpreter,
): Promise<PlacedScript> {
  const content = await readFile(sourcePath).catch((error: NodeJS.ErrnoException) => {
    throw new ScriptNotPlaced(`it cannot be read (${error.code})`, { cause: error });
  });
  const ownInterpreter = shebang(content);
  let extension = '';
  if (isNode(ownInterpreter ?? interpreter)) extension = isEsModule(content.toString()) ? '.mjs' : '.cjs';
  const name = `${RESERVED_PREFIX}script-${scriptNumber}${extension}`;
  const path = join(workingDirectory, name);
  await writeFile(path, content, { flag: 'wx', mode: 0o600 }).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'EEXIST')
      throw new RpcError(RPC_ERROR.JOB_FAILED, `a file of the job has the reserved name ${name}`);
    const closed = DIRECTORY_CLOSED.has(error.code);
    const why = closed ? 'the working directory is gone or not writable' : error.message;
    throw new ScriptNotPlaced(why, { cause: error });
  });
  return { path, ownInterpreter, remove: (log) => removeScript(path, log) };
}

/** What a script came to stands, also when its file stays: such a name is no output, and the directory goes anyway. */
async function removeScript(path: string, log: (line: string) => void): Promise<void> {
  try {
    await rm(path, { force: true });
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    log(`the file of a script stays in the working directory: ${why}`);
  }
}
