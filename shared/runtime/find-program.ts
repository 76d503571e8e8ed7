import { existsSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { basename, delimiter, dirname, join } from 'node:path';
import { namesOfProgram } from './program-names.js';

/**
 * Folders with the programs that come with the product, of which a file in `directory` is a part: that beside its modules, and those of
 * each node_modules in which it is installed. Other folders above it may belong to anybody.
 */
export function productFolders(directory: string): string[] {
  const folders: string[] = [];
  let hasModules = false;
  for (let at = directory; ; at = dirname(at)) {
    if (basename(at) === 'node_modules') folders.push(join(at, '.bin'));
    const modules = join(at, 'node_modules');
    if (!hasModules && existsSync(join(modules, '@workbench-hub'))) {
      hasModules = true;
      folders.push(join(modules, '.bin'));
    }
    if (at === dirname(at)) return [...new Set(folders)];
  }
}

/** Search path of the programs that a part of the product in `directory` starts: its own folders, those of `path`, and last the one
 *  with this Node, for programs that are Node scripts. */
export function searchPath(path: string | undefined, directory: string): string {
  return [...productFolders(directory), ...(path ? [path] : []), dirname(process.execPath)].join(delimiter);
}

/** Whether a program of this name is in a folder of a search path. An unreadable folder counts as empty. */
export async function liesOnPath(name: string, path: string): Promise<boolean> {
  for (const folder of path.split(delimiter))
    for (const file of namesOfProgram(name, process.env['PATHEXT'])) {
      const found = await stat(join(folder, file)).catch(() => undefined);
      if (found?.isFile()) return true;
    }
  return false;
}
