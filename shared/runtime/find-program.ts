import { stat } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';

/** Whether a file of this name is in a folder of `path`, or in a node_modules/.bin from `localDirectory` upwards: the search
 *  path of programs without a folder. An unreadable folder counts as empty. */
export async function liesOnPath(name: string, path: string, localDirectory: string): Promise<boolean> {
  const folders = path.split(delimiter);
  for (let at = localDirectory; ; at = dirname(at)) {
    folders.push(join(at, 'node_modules', '.bin'));
    if (at === dirname(at)) break;
  }
  for (const folder of folders) {
    const found = await stat(join(folder, name)).catch(() => undefined);
    if (found?.isFile()) return true;
  }
  return false;
}
