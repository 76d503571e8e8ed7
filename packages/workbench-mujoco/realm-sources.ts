/** Texts that are evaluated in each realm, compiled once for all realms of a thread. */
import { readFileSync } from 'node:fs';
import vm from 'node:vm';
import type { openRealm, SimulatorScript } from './realm-main.js';

export interface RealmSources {
  /** Gives the function that opens a realm, in that realm. */
  openRealm(realm: vm.Context): typeof openRealm;
  simulatorScript(realm: vm.Context): SimulatorScript;
  /** Evaluates an expression of the simulator's script. */
  evaluate(expression: string, realm: vm.Context): (...values: unknown[]) => unknown;
}

/** Files of the realm, each after those that it imports. */
const OWN_FILES = ['host-file-system.js', 'realm-main.js'];
const GLOBALS_OF_SIMULATOR =
  'Function, FinalizationRegistry, WebAssembly, window, console, crypto, performance';

export function readRealmSources(): RealmSources {
  const own = OWN_FILES.map((file) => withoutModuleSyntax(textOf(new URL(file, import.meta.url)))).join('\n');
  const ownScript = scriptOf('', `${own}\nreturn openRealm;`, new URL('realm-main.js', import.meta.url));
  const simulatorUrl = new URL(import.meta.resolve('@mujoco/mujoco'));
  const simulator = scriptOf(
    GLOBALS_OF_SIMULATOR,
    textOf(simulatorUrl)
      .replaceAll('import.meta.url', JSON.stringify(simulatorUrl.href))
      .replace(/^export default (\w+);$/m, 'return $1;'),
    simulatorUrl,
  );
  const expressions = new Map<string, vm.Script>();
  return {
    openRealm: (realm) => (ownScript.runInContext(realm) as () => typeof openRealm)(),
    simulatorScript: (realm) => simulator.runInContext(realm) as SimulatorScript,
    evaluate(expression, realm) {
      let script = expressions.get(expression);
      if (!script) {
        script = new vm.Script(expression, { filename: simulatorUrl.href });
        expressions.set(expression, script);
      }
      return script.runInContext(realm) as (...values: unknown[]) => unknown;
    },
  };
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
