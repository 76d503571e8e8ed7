/** Parts of the single executable file that Node.js and the system read from files alone: they are unpacked before their first use. */
import { createHash, randomUUID } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { getAsset } from 'node:sea';
import { PRIVATE_FILE_MODE, PRIVATE_FOLDER_MODE } from './private-files.js';

/** List of an instance program's files in the single file, which `npm run package` writes as the asset `NAME.json`. */
interface PackedProgram {
  /** Name of the folder, another one for each content. */
  readonly folder: string;
  /** Paths of the files, which are the assets `NAME/PATH`. */
  readonly files: readonly string[];
}

const MODULES = 'native';
const PROGRAMS = 'programs';

let target: string | undefined;

/** Sets the folder into which parts are unpacked: one that only this user may write. */
export function unpackInto(folder: string): void {
  target = folder;
}

/** Unpacks a native module, unless it lies there already, and returns its path; the bundle of the single file asks for it. */
export function unpackedModule(name: string): string {
  const folder = join(targetFor(name), MODULES);
  const content = assetOf(name);
  const digest = createHash('sha256').update(content).digest('hex');
  return placeFile(content, join(folder, `${digest.slice(0, 16)}-${name}`));
}

/** Unpacks an instance program, except what lies there already, and returns its folder. */
export function unpackedProgram(name: string): string {
  const packed = packedProgram(name);
  const folder = join(targetFor(name), PROGRAMS, packed.folder);
  for (const file of packed.files) placeFile(assetOf(`${name}/${file}`), join(folder, file));
  return folder;
}

/** Removes what other versions of the single file have unpacked of these programs. No other process of this folder may run. */
export function removeEarlierPrograms(folder: string, names: readonly string[]): void {
  const current = new Set(names.map((name) => packedProgram(name).folder));
  const programs = join(folder, PROGRAMS);
  for (const earlier of foldersIn(programs).filter((name) => !current.has(name)))
    rmSync(join(programs, earlier), { recursive: true, force: true });
}

/** Places a file and returns its path. One that is there and whole stays: a program may have loaded it. */
export function placeFile(content: Buffer, path: string): string {
  if (isFile(path, content)) return path;
  mkdirSync(dirname(path), { recursive: true, mode: PRIVATE_FOLDER_MODE });
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

function targetFor(name: string): string {
  if (target === undefined) throw new Error(`there is no folder into which ${name} could be unpacked`);
  return target;
}

function packedProgram(name: string): PackedProgram {
  return JSON.parse(assetOf(`${name}.json`).toString()) as PackedProgram;
}

function assetOf(name: string): Buffer {
  return Buffer.from(getAsset(name));
}

function foldersIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

function isFile(path: string, content: Buffer): boolean {
  try {
    return readFileSync(path).equals(content);
  } catch {
    return false;
  }
}
