import { readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { inspect } from 'node:util';
import vm from 'node:vm';
import { ScriptExit } from './script-globals.js';

/** Failure of a script: for the task's result (after "script 1 of 2"), and in full for its log. */
export interface ScriptFailure {
  reason: string;
  details: string;
}

const OWN_FRAMES = new URL('.', import.meta.url).href;
const JAVASCRIPT_ONLY =
  'workbench-mujoco runs JavaScript only; Python scripts run on an instance of workbench-runner with ' +
  '"--interpreter python3" on a host with the Python package mujoco';
/** Lines that are valid in Python and not in JavaScript. */
const PYTHON =
  /^(?:import [\w.]+(?: as \w+)?|from [\w.]+ import [\w*, ]+|\s*(?:def|class|if|for|while|with) .*:|# .*)\s*$/m;

const NEVER_SETTLED = Symbol('the script awaits what nothing settles');

/**
 * Runs one script to its end: until it has returned and nothing that it began (timers, promises, streams) is left to
 * happen. Gives how it failed, or undefined. It is a thread's only work meanwhile.
 */
export async function runScript(
  sourcePath: string,
  scriptNumber: number,
  workingDirectory: string,
): Promise<ScriptFailure | undefined> {
  const source = await readFile(sourcePath, 'utf8');
  const interpreter = /^#!.*/.exec(source)?.[0];
  if (interpreter !== undefined && !/\bnode(js)?\b/.test(interpreter)) {
    const reason = `begins with ${interpreter.trim()}, but ${JAVASCRIPT_ONLY}`;
    return { reason, details: '' };
  }
  let isOver = false;
  const failure = await new Promise<unknown>((resolve) => {
    process.once('uncaughtException', resolve);
    evaluate(source, scriptNumber, workingDirectory).then(() => {
      isOver = true;
    }, resolve);
    whenIdle(() => resolve(isOver ? undefined : NEVER_SETTLED));
  });
  process.removeAllListeners('uncaughtException');
  if (failure === undefined || (failure instanceof ScriptExit && failure.exitCode === 0)) return undefined;
  const described = describe(failure, scriptNumber);
  if (!(failure instanceof SyntaxError) || !PYTHON.test(source)) return described;
  return { ...described, reason: `looks like Python, but ${JAVASCRIPT_ONLY}` };
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
async function evaluate(source: string, scriptNumber: number, workingDirectory: string): Promise<void> {
  const file = path.join(workingDirectory, scriptName(scriptNumber));
  const script = asFunction(source, `${file}.cjs`);
  if (!(script instanceof SyntaxError)) {
    const module = { exports: {} };
    const require = createRequire(`${file}.cjs`);
    await script.call(module.exports, module.exports, require, module, `${file}.cjs`, workingDirectory);
    return;
  }
  await writeFile(`${file}.mjs`, source, { flag: 'wx', mode: 0o600 });
  try {
    await import(pathToFileURL(`${file}.mjs`).href);
  } catch (error) {
    // The function's error has the line, the module's does not.
    throw error instanceof SyntaxError && !/\b(?:import|export)\b/.test(source) ? script : error;
  } finally {
    await rm(`${file}.mjs`, { force: true });
  }
}

type ScriptFunction = (...values: unknown[]) => Promise<void>;

function asFunction(source: string, filename: string): ScriptFunction | SyntaxError {
  const head = '(async function (exports, require, module, __filename, __dirname) {';
  try {
    const script = new vm.Script(`${head}${source.replace(/^#!/, '//')}\n})`, {
      filename,
      columnOffset: -head.length,
      importModuleDynamically: vm.constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
    });
    return script.runInThisContext() as ScriptFunction;
  } catch (error) {
    if (error instanceof SyntaxError) return error;
    throw error;
  }
}

function describe(thrown: unknown, scriptNumber: number): ScriptFailure {
  if (thrown === NEVER_SETTLED) return { reason: 'awaits a promise that nothing settles', details: '' };
  if (thrown instanceof ScriptExit) return { reason: `exited with code ${thrown.exitCode}`, details: '' };
  if (!(thrown instanceof Error)) return { reason: `threw ${inspect(thrown)}`, details: '' };
  const stack = (thrown.stack ?? String(thrown))
    .split('\n')
    .filter((line) => !line.includes(OWN_FRAMES))
    .join('\n');
  const line = stack.split(`${scriptName(scriptNumber)}.`)[1]?.match(/^[cm]js:(\d+)/)?.[1];
  const where = line === undefined ? '' : ` (line ${line})`;
  return { reason: `threw ${thrown.name}: ${thrown.message.trim()}${where}`, details: `${stack}\n` };
}

function scriptName(scriptNumber: number): string {
  return `.workbench-script-${scriptNumber}`;
}
