import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { RPC_ERROR, RpcError } from '@workbench-hub/shared/instance-protocol/messages';
import { type Interpreter, isNode, shebang } from './interpreter.js';
import { isEsModule } from './script-kind.js';

/** Names that begin so, at the top of the working directory, are never collected as output (instance protocol). */
const RESERVED_PREFIX = '.workbench-';

export interface PlacedScript {
  path: string;
  /** What its `#!` line names; undefined: the instance's interpreter runs it. */
  ownInterpreter: Interpreter | undefined;
  remove(): Promise<void>;
}

/**
 * Puts a script into the working directory, so that it finds modules beside itself (`require('./helper.js')`,
 * `import helper`), under a reserved name. For Node its extension tells what kind of module it is, whatever
 * package.json lies there.
 */
export async function placeScript(
  sourcePath: string,
  scriptNumber: number,
  workingDirectory: string,
  interpreter: Interpreter,
): Promise<PlacedScript> {
  const content = await readFile(sourcePath);
  const ownInterpreter = shebang(content);
  let extension = '';
  if (isNode(ownInterpreter ?? interpreter)) extension = isEsModule(content.toString()) ? '.mjs' : '.cjs';
  const name = `${RESERVED_PREFIX}script-${scriptNumber}${extension}`;
  const path = join(workingDirectory, name);
  await writeFile(path, content, { flag: 'wx', mode: 0o600 }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
    throw new RpcError(RPC_ERROR.JOB_FAILED, `a file of the job has the reserved name ${name}`);
  });
  return { path, ownInterpreter, remove: () => rm(path, { force: true }) };
}
