// Packages that npm installs on other systems only, from its registry into a cache folder.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../../prepare.mjs';

/**
 * Fetches a package once; throws when the registry has another one.
 *
 * @param {{ name: string, version: string, integrity: string, parts?: readonly string[] }} wanted `integrity` is the digest of the
 *   tarball, `parts` are the files that are unpacked, all of them by default
 * @returns {string} the folder of the package
 */
export function fetchedPackage({ name, version, integrity, parts = ['.'] }) {
  const folder = join(cacheFolder(), `${name.replace('/', '-')}-${version}`);
  if (existsSync(folder)) return folder;
  const work = mkdtempSync(join(cacheFolder(), 'fetch-'));
  try {
    const spec = `${name}@${version}`;
    const tarball = join(work, packed(spec, work));
    const digest = `sha512-${createHash('sha512').update(readFileSync(tarball)).digest('base64')}`;
    if (digest !== integrity)
      throw new Error(`${spec} of this registry has the digest ${digest}, not ${integrity}: use another one`);
    execFileSync('tar', ['-xzf', tarball, '-C', work, ...parts.map((part) => join('package', part))]);
    // Another process may fetch the same package: the folder appears at once and whole.
    try {
      renameSync(join(work, 'package'), folder);
    } catch (error) {
      if (!existsSync(folder)) throw error;
    }
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
  return folder;
}

/** In node_modules: `npm ci` empties it, and npm has the tarballs in its own cache then. */
function cacheFolder() {
  const folder = join(root, 'node_modules/.cache/workbench-hub');
  mkdirSync(folder, { recursive: true });
  return folder;
}

/** The name of the tarball that npm puts into the folder. */
function packed(spec, folder) {
  const pack = ['pack', spec, '--json', '--pack-destination', folder];
  const options = { encoding: 'utf8', cwd: folder, stdio: ['ignore', 'pipe', 'inherit'] };
  try {
    const [{ filename }] = JSON.parse(execFileSync('npm', pack, options));
    return filename;
  } catch (error) {
    throw new Error(
      `npm could not fetch ${spec}, a part of a single file: give it a registry, or use --only npm, deb or clients (${error.message})`,
      { cause: error },
    );
  }
}
