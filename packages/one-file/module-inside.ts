import { dirname } from 'node:path';
import { getAsset } from 'node:sea';
import { compileFunction, constants } from 'node:vm';

type ModuleFunction = (
  require: (id: string) => object,
  exports: object,
  module: { exports: object },
  filename: string,
  folder: string,
) => void;

/** Runs a CommonJS module that lies inside the file. */
export function runModuleInside(name: string): void {
  const scope = ['require', 'exports', 'module', '__filename', '__dirname'];
  const run = compileFunction(getAsset(name, 'utf8'), scope, {
    filename: name,
    importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  }) as ModuleFunction;
  const module = { exports: {} };
  run(requireBuiltin, module.exports, module, process.execPath, dirname(process.execPath));
}

/** Finds modules of Node.js only: in folders above the file anybody may have put packages. */
function requireBuiltin(id: string): object {
  const found: object | undefined = process.getBuiltinModule(id);
  if (found === undefined) throw new Error(`${id} is no module of Node.js, and no other is inside this file`);
  return found;
}
