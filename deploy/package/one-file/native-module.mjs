// The native module of koffi in the single file for Windows: an asset, which the agent unpacks before it loads koffi.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fetchedPackage } from './fetched-package.mjs';

/** Name of the asset. */
export const NATIVE_MODULE = 'koffi.node';

const PACKAGE = '@koromix/koffi-win32-x64';
const FILE = 'win32_x64/koffi.node';

/** Plugin of esbuild that loads the unpacked module in place of the package. Packages for other systems are never loaded. As a module of
 *  ECMAScript, koffi hides its packages from bundlers. */
export function nativeModule(root) {
  return {
    name: 'native-module',
    setup(build) {
      build.onResolve({ filter: /^koffi$/ }, () => ({ path: join(root, 'node_modules/koffi/index.cjs') }));
      build.onResolve({ filter: /^@koromix\/koffi-/ }, ({ path }) =>
        path === PACKAGE ? { path, namespace: 'native' } : { path, external: true },
      );
      build.onLoad({ filter: /.*/, namespace: 'native' }, () => ({
        contents: `const { unpackedModule } = require('./shared/dist/runtime/unpacked-parts.js');
const native = { exports: {} };
process.dlopen(native, unpackedModule('${NATIVE_MODULE}'));
module.exports = native.exports;`,
        resolveDir: root,
        loader: 'js',
      }));
    },
  };
}

/**
 * Fetches the module, in the version of the lock file.
 *
 * @param {string} root folder of the clone
 * @returns {{ file: string, from: string, entry: object }} path of the module, and its package as the bundle's list has them
 */
export function nativePackage(root) {
  const from = `node_modules/${PACKAGE}`;
  const entry = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')).packages[from];
  const { version, integrity } = entry;
  const folder = fetchedPackage({ name: PACKAGE, version, integrity });
  return { file: join(folder, FILE), from, entry };
}
