/** Comparison of a folder with the outputs that a manifest names. */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import type { Manifest, TaskOutputFile } from '@workbench-hub/client';

/** Paths of files below a folder, with `/`, each list sorted. */
export interface FolderCheck {
  readonly folder: string;
  /** Outputs that are there as signed. */
  readonly right: readonly string[];
  readonly missing: readonly string[];
  readonly changed: readonly string[];
  /** Files that are no outputs. */
  readonly additional: readonly string[];
  /** Files of the output storage: of these, the hub signs the size only. */
  readonly sizeOnly: readonly string[];
}

/** Whether the folder has the outputs and nothing else. */
export function isRight({ missing, changed, additional }: FolderCheck): boolean {
  return missing.length + changed.length + additional.length === 0;
}

/** Compares the files below a folder with a manifest. `manifestFile` is no output, if it is there, too. */
export async function checkFolder(
  folder: string,
  {
    task,
    outputs,
    storedFiles,
  }: Pick<Manifest, 'outputs' | 'storedFiles'> & { readonly task: { readonly id: string } },
  manifestFile: string,
): Promise<FolderCheck> {
  const files = await filesBelow(folder, manifestFile);
  const [right, missing, changed]: [string[], string[], string[]] = [[], [], []];
  for (const output of outputs) {
    const file = files.get(output.path);
    files.delete(output.path);
    if (file === undefined) missing.push(output.path);
    else if (await hasContent(file, output)) right.push(output.path);
    else changed.push(output.path);
  }
  const [additional, sizeOnly]: [string[], string[]] = [[], []];
  for (const [name, file] of files) {
    const stored = storedFiles.find((each) => each.name === name || each.name === `${task.id}-${name}`);
    const isStored = stored !== undefined && (await sizeOf(file)) === stored.size;
    (isStored ? sizeOnly : additional).push(name);
  }
  return {
    folder,
    right,
    missing,
    changed,
    additional: additional.toSorted(),
    sizeOnly: sizeOnly.toSorted(),
  };
}

/** Paths on disk of all that is no folder, by their paths below the folder. */
async function filesBelow(folder: string, except: string): Promise<Map<string, string>> {
  const files = new Map<string, string>();
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const file = path.join(entry.parentPath, entry.name);
    if (entry.isDirectory() || path.resolve(file) === path.resolve(except)) continue;
    files.set(path.relative(folder, file).replaceAll(path.sep, '/'), file);
  }
  return files;
}

async function hasContent(file: string, { size, digest }: TaskOutputFile): Promise<boolean> {
  if ((await sizeOf(file)) !== size) return false;
  const hash = createHash('sha256');
  for await (const piece of createReadStream(file)) hash.update(piece as Buffer);
  return hash.digest('hex') === digest;
}

/** Undefined for what is no file. */
async function sizeOf(file: string): Promise<number | undefined> {
  const found = await stat(file).catch(() => undefined);
  return found?.isFile() ? found.size : undefined;
}
