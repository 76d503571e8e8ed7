/** The single executable file, in which the agent and other programs of the product lie with their Node.js (packages/one-file). */
import { createHash, randomUUID } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { getAsset, isSea } from 'node:sea';
import { PRIVATE_FILE_MODE, PRIVATE_FOLDER_MODE } from './private-files.js';

/** Path of the single file that runs; null for a program that Node.js started from its modules. */
export const SINGLE_FILE: string | null = isSea() ? process.execPath : null;

/** Programs inside the single file, by name, and the command of it that runs each. */
const COMMANDS: ReadonlyMap<string, string> = new Map([['workbench-runner', 'runner']]);

/** Command line that starts an instance program: one that lies inside the single file is a command of that. */
export function startedCommand(
  command: readonly string[],
  singleFile: string | null = SINGLE_FILE,
): readonly string[] {
  const [program = '', ...parameters] = command;
  const inside = COMMANDS.get(program);
  return singleFile === null || inside === undefined ? command : [singleFile, inside, ...parameters];
}

/** Paths of unpacked modules, by name. */
const unpacked = new Map<string, string>();

/** Unpacks a native module of the single file into `folder`, unless it lies there already: the system loads modules from files only. */
export function unpackModule(name: string, folder: string): void {
  unpacked.set(name, placeFile(Buffer.from(getAsset(name)), name, join(folder, 'native')));
}

/** Path of a module that {@link unpackModule} has unpacked; the bundle of the single file asks for it. */
export function unpackedModule(name: string): string {
  const path = unpacked.get(name);
  if (path === undefined) throw new Error(`${name} was not unpacked`);
  return path;
}

/** Places a file under a name with its digest, and returns its path. One that is there and whole stays: a program may have loaded it. */
export function placeFile(content: Buffer, name: string, folder: string): string {
  const digest = createHash('sha256').update(content).digest('hex');
  const path = join(folder, `${digest.slice(0, 16)}-${name}`);
  if (isFile(path, content)) return path;
  mkdirSync(folder, { recursive: true, mode: PRIVATE_FOLDER_MODE });
  const fresh = `${path}.${randomUUID()}`;
  try {
    writeFileSync(fresh, content, { mode: PRIVATE_FILE_MODE, flag: 'wx' });
    renameSync(fresh, path);
  } catch (error) {
    rmSync(fresh, { force: true });
    // Another process has placed it.
    if (!isFile(path, content)) throw error;
  }
  return path;
}

function isFile(path: string, content: Buffer): boolean {
  try {
    return readFileSync(path).equals(content);
  } catch {
    return false;
  }
}
