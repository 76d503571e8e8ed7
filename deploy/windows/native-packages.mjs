// The packages of npm with native modules of Windows that the unit tests load there.
import { cpSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fetchedPackage } from '../package/one-file/fetched-package.mjs';

const NATIVE = [
  '@koromix/koffi-win32-x64',
  '@rolldown/binding-win32-x64-msvc',
  'lightningcss-win32-x64-msvc',
];

/**
 * Places them in a folder of the form of node_modules, in the versions of the lock file.
 *
 * @param {string} root folder of the clone
 * @param {string} modules the folder
 */
export function placeNativePackages(root, modules) {
  const locked = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')).packages;
  for (const name of NATIVE) {
    const { version, integrity } = locked[`node_modules/${name}`];
    const folder = join(modules, name);
    mkdirSync(dirname(folder), { recursive: true });
    cpSync(fetchedPackage({ name, version, integrity }), folder, { recursive: true });
  }
}
