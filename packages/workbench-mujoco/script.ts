/** Scripts in the thread's own realm, with all of Node.js. */
import { rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import vm from 'node:vm';
import { failureOf, NEVER_SETTLED, type Script, type ScriptFailure, scriptPath } from './script-failure.js';

/**
 * Runs one script to its end: until it has returned and nothing that it began (timers, promises, streams) is left to
 * happen. Gives how it failed, or undefined. It is a thread's only work meanwhile.
 */
export async function runScript(
  script: Script,
  workingDirectory: string,
): Promise<ScriptFailure | undefined> {
  let isOver = false;
  const thrown = await new Promise<unknown>((resolve) => {
    process.once('uncaughtException', resolve);
    evaluate(script, workingDirectory).then(() => {
      isOver = true;
    }, resolve);
    whenIdle(() => resolve(isOver ? undefined : NEVER_SETTLED));
  });
  process.removeAllListeners('uncaughtException');
  return thrown === undefined ? undefined : failureOf(thrown, script);
}

/** Calls `then` when the thread has nothing left to do (`beforeExit`). It is called from the next turn, since the thread ends
 *  unless there is new work. */
function whenIdle(then: () => void): void {
  process.once('beforeExit', () => setImmediate(then));
}

/**
 * A script is the body of an async function with `require`, so it may be CommonJS and use `await` at its top; one that
 * cannot be that (`import`, `export`, `import.meta`) is an ES module. It is imported from the working directory, so
 * that it finds modules beside it, from a file whose name is reserved (see the instance protocol).
 */
async function evaluate(script: Script, workingDirectory: string): Promise<void> {
  const { source } = script;
  const file = scriptPath(workingDirectory, script);
  const compiled = asFunction(source, `${file}.cjs`);
  if (!(compiled instanceof SyntaxError)) {
    const module = { exports: {} };
    const require = createRequire(`${file}.cjs`);
    const run = compiled.runInThisContext() as ScriptFunction;
    await run.call(module.exports, module.exports, require, module, `${file}.cjs`, workingDirectory);
    return;
  }
  await writeFile(`${file}.mjs`, source, { flag: 'wx', mode: 0o600 });
  try {
    await import(pathToFileURL(`${file}.mjs`).href);
  } catch (error) {
    // The function's error has the line, the module's does not.
    throw error instanceof SyntaxError && !/\b(?:import|export)\b/.test(source) ? compiled : error;
  } finally {
    await rm(`${file}.mjs`, { force: true });
  }
}

export type ScriptFunction = (...values: unknown[]) => Promise<void>;

/** Compiles a script to one whose value is a function with the script as its body. */
export function asFunction(
  source: string,
  filename: string,
  imports: { importModuleDynamically?: typeof vm.constants.USE_MAIN_CONTEXT_DEFAULT_LOADER } = {
    importModuleDynamically: vm.constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  },
): vm.Script | SyntaxError {
  const head = '(async function (exports, require, module, __filename, __dirname) {';
  try {
    return new vm.Script(`${head}${source.replace(/^#!/, '//')}\n})`, {
      filename,
      columnOffset: -head.length,
      ...imports,
    });
  } catch (error) {
    if (error instanceof SyntaxError) return error;
    throw error;
  }
}
