import { accessSync, constants } from 'node:fs';
import { parse } from 'node:path';

/** Folder in which a child process starts: that of this process if its user may enter it, otherwise the root. A program may be started
 *  from any folder, such as the home of an administrator. */
export function startFolder(): string {
  try {
    const folder = process.cwd();
    accessSync(folder, constants.X_OK);
    return folder;
  } catch {
    return parse(process.execPath).root;
  }
}
