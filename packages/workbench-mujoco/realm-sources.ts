/** Texts that are evaluated in each realm, compiled once for all realms of a thread. */
import { readFileSync } from 'node:fs';
import vm from 'node:vm';
import type { AnyFunction, SimulatorScript } from './realm-calls.js';
import type { openRealm } from './realm-main.js';
import type { openSimulator } from './simulator-main.js';

export interface RealmSources {
  /** Gives the function that opens a realm, in that realm. */
  openRealm(realm: vm.Context): typeof openRealm;
  /** Gives the function that opens the compiled simulator, in its realm. */
  openSimulator(realm: vm.Context): typeof openSimulator;
  simulatorScript(realm: vm.Context): SimulatorScript;
  /** Evaluates an expression of the simulator's script. */
  evaluate(expression: string, realm: vm.Context): AnyFunction;
  /** The same for a realm that asks for it, whose scripts may have changed the expression: it imports nothing, and is not kept. */
  evaluateForRealm(expression: string, realm: vm.Context): AnyFunction;
}

/** Files of a job's realm, each after those that it imports. */
const FILES_OF_JOB = [
  'host-file-system.js',
  'realm-guard.js',
  'realm-description.js',
  'realm-globals.js',
  'realm-registrations.js',
  'realm-main.js',
];
const FILES_OF_SIMULATOR = ['simulator-main.js'];
/** Lines that define, for each name that the simulator's build lacks, a global that says so when it is read. */
const HINTS = /^(?:missingLibrarySymbols|unexportedSymbols)\.forEach\(\w+\);?$/gm;
/** Name by which the simulator's script tells whether an error is an exception of the compiled simulator. */
export const IS_EXCEPTION = 'isException';
/** Line before which the functions that the compiled simulator calls are complete. */
const IMPORTS_COMPLETE = /^(?=var wasmExports = await createWasm\(\);$)/m;
/** Tables of types in the simulator's script. */
const TYPE_TABLES = /\bvar (registeredTypes|registeredPointers) = \{\s*\};/g;
const GLOBALS_OF_SIMULATOR =
  'Function, FinalizationRegistry, WebAssembly, window, console, crypto, performance, ofTypes';

export function readRealmSources(): RealmSources {
  const job = ownScript(FILES_OF_JOB, 'openRealm');
  const kept = ownScript(FILES_OF_SIMULATOR, 'openSimulator');
  const simulatorUrl = new URL(import.meta.resolve('@mujoco/mujoco'));
  const simulator = scriptOf(
    GLOBALS_OF_SIMULATOR,
    textOf(simulatorUrl)
      .replaceAll('import.meta.url', JSON.stringify(simulatorUrl.href))
      .replace(/^export default (\w+);$/m, 'return $1;')
      .replace(HINTS, '')
      .replace(TYPE_TABLES, 'var $1 = ofTypes({});')
      .replace(IMPORTS_COMPLETE, `wasmImports.${IS_EXCEPTION} = (error) => error instanceof EmscriptenEH;\n`),
    simulatorUrl,
  );
  const expressions = new Map<string, vm.Script>();
  const compiled = (expression: string) => new vm.Script(expression, { filename: simulatorUrl.href });
  return {
    openRealm: (realm) => (job.runInContext(realm) as () => typeof openRealm)(),
    openSimulator: (realm) => (kept.runInContext(realm) as () => typeof openSimulator)(),
    simulatorScript: (realm) => simulator.runInContext(realm) as SimulatorScript,
    evaluate(expression, realm) {
      const script = expressions.get(expression) ?? compiled(expression);
      expressions.set(expression, script);
      return script.runInContext(realm) as AnyFunction;
    },
    evaluateForRealm(expression, realm) {
      if (expression.includes('import')) throw new Error('not a text of the simulator');
      return (expressions.get(expression) ?? compiled(expression)).runInContext(realm) as AnyFunction;
    },
  };
}

/** A script whose value is a function that gives the one of this name. */
function ownScript(files: readonly string[], name: string): vm.Script {
  const texts = files.map((file) => withoutModuleSyntax(textOf(new URL(file, import.meta.url))));
  return scriptOf('', `${texts.join('\n')}\nreturn ${name};`, new URL(files.at(-1) ?? '', import.meta.url));
}

function textOf(url: URL): string {
  return readFileSync(url, 'utf8');
}

function withoutModuleSyntax(source: string): string {
  return source
    .replaceAll(/^import .*;$/gm, '')
    .replaceAll(/^export \{.*\};$/gm, '')
    .replaceAll(/^export /gm, '');
}

/** A script whose value is a function with this body. */
function scriptOf(parameters: string, body: string, { href }: URL): vm.Script {
  const head = `(function (${parameters}) {'use strict';`;
  return new vm.Script(`${head}${body}\n})`, { filename: href, columnOffset: -head.length });
}
