import { getAsset } from 'node:sea';
import { compileFunction, constants } from 'node:vm';

/** Runs a CommonJS module that lies inside the file. */
export function runModuleInside(name: string): void {
  const run = compileFunction(getAsset(name, 'utf8'), ['require', 'exports', 'module'], {
    filename: name,
    importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  }) as (require: (id: string) => object, exports: object, module: { exports: object }) => void;
  const module = { exports: {} };
  run(requireBuiltin, module.exports, module);
}

/** Finds modules of Node.js only: in folders above the file anybody may have put packages. */
function requireBuiltin(id: string): object {
  const found: object | undefined = process.getBuiltinModule(id);
  if (found === undefined) throw new Error(`${id} is no module of Node.js, and no other is inside this file`);
  return found;
}
