/**
 * Code of a job's realm. A realm has built-in objects and a simulator of its own. What it gets from its thread are functions
 * that take and give numbers and texts, check what they get (realm-border.ts), and stay in these files. So scripts can get hold
 * of no object that another job will meet and could have changed.
 *
 * The compiled text of this file is evaluated in each realm (realm-sources.ts): beside other such files it imports types only.
 */
import type { MainModule } from '@mujoco/mujoco';
import { showHostFiles, type VirtualFileSystem } from './host-file-system.js';
import type { ShownFolders } from './host-files.js';
import type {
  AnyFunction,
  RealmCalls,
  RealmSettings,
  SimulatorImports,
  SimulatorLink,
  SimulatorScript,
  ThreadCalls,
  ThrownDescription,
} from './realm-calls.js';
import type { ValueTexts } from './realm-globals.js';
import { define, RealmExit, realmConsole, scriptGlobals, valueTexts } from './realm-globals.js';
import { guarded, guardedFiles } from './realm-guard.js';
import { RealmRegistrations } from './realm-registrations.js';
import type { WasmInstance } from './web-assembly.js';

/** Begins to load the simulator of a new realm; {@link ThreadCalls.loaded} tells the end. */
export function openRealm(
  thread: ThreadCalls,
  simulatorScript: SimulatorScript,
  simulator: SimulatorLink,
): RealmCalls {
  const { apply } = Reflect;
  const show = valueTexts(guarded(thread.show));
  const [returned, threw] = [guarded(thread.returned), guarded(thread.threw)];
  const attach = guarded(simulator.attach);
  const assembly: unknown = Reflect.get(globalThis, 'WebAssembly');
  const files = guardedFiles(thread.files);
  const write = guarded(thread.write);
  let mujoco: MainModule | undefined;
  const registrations = registrationsOf(simulator);
  let imports: SimulatorImports = {};

  removeLateCalls();
  writeOwnStacks();
  const loadMujoco = simulatorScript(
    functionMaker(guarded(thread.evaluate)),
    undefined,
    assembly,
    {},
    realmConsole(write, show),
    { getRandomValues: randomFill(guarded(thread.randomByte)) },
    { now: guarded(thread.now) },
    (registered) => registrations?.ofTypes(registered) ?? registered,
  );
  loadMujoco({
    print: (line: string) => write('stdout', `${line}\n`),
    printErr: (line: string) => write('stderr', `${line}\n`),
    instantiateWasm({ env }: { env: SimulatorImports }, take: (instance: WasmInstance) => void) {
      // The simulator's object has this function, so a script could call it.
      if (mujoco) throw new Error('the simulator is loaded already');
      imports = env;
      attach(env);
      const exports = exportsFor(simulator, env);
      take({ exports });
      return exports;
    },
  }).then(
    (loaded) => {
      mujoco = loaded;
      registrations?.begin(loaded as unknown as Record<string, unknown>, imports);
      thread.loaded();
    },
    (error: unknown) => thread.loaded(String(error)),
  );

  return {
    mujoco: () => mujoco as MainModule,
    registerAll: () => registrations?.makeAll(),
    showFiles: (folders) =>
      showHostFiles(mujoco?.FS as unknown as VirtualFileSystem, files, JSON.parse(folders) as ShownFolders),
    defineGlobals(settings, model, data) {
      const { variables, ...own } = scriptGlobals(thread, show, JSON.parse(settings) as RealmSettings);
      const globals: Record<string, unknown> = { mujoco, model, data, ...own, ...variables };
      for (const name of Object.keys(globals)) define(globalThis, name, globals[name]);
    },
    run: (script) =>
      void (async () => {
        try {
          await apply(script, {}, []);
          returned();
        } catch (error) {
          threw(describeThrown(error, show));
        }
      })(),
    describeThrown: (thrown) => describeThrown(thrown, show),
  };
}

function describeThrown(thrown: unknown, { inspected }: ValueTexts): string {
  let described: ThrownDescription;
  if (thrown instanceof RealmExit) described = { exitCode: Number(thrown.exitCode) };
  else if (thrown instanceof Error) {
    const { name, message, stack } = thrown;
    described = { error: { name: `${name}`, message: `${message}`, stack: `${stack ?? thrown}` } };
  } else described = { shown: inspected(thrown) };
  return JSON.stringify(described);
}

/** Exports that repeat what the compiled simulator registered, instead of starting it again. */
function exportsFor({ exports, registered }: SimulatorLink, imports: SimulatorImports) {
  if (!registered) return exports;
  return { ...exports, __wasm_call_ctors: () => registered.general(imports) };
}

function registrationsOf({ registered }: SimulatorLink): RealmRegistrations | undefined {
  if (!registered) return undefined;
  return new RealmRegistrations({
    laterCalls: guarded(registered.laterCalls),
    laterKeys: guarded(registered.laterKeys),
  });
}

/** Removes everything by which a script could have something called after its job has ended. */
function removeLateCalls(): void {
  for (const name of ['WebAssembly', 'FinalizationRegistry']) Reflect.deleteProperty(globalThis, name);
  Reflect.deleteProperty(Atomics, 'waitAsync');
}

/**
 * Keeps what a script sets for the stacks of errors from Node.js, which asks each realm for `Error.prepareStackTrace` and calls it in the
 * thread. If it met a revoked proxy there, in place of either, it would throw an error of the thread into the script.
 */
function writeOwnStacks(): void {
  let ofScript: unknown;
  const prepare = (...values: unknown[]) => (ofScript as AnyFunction)(...values);
  Reflect.defineProperty(Error, 'prepareStackTrace', {
    get: () => (typeof ofScript === 'function' ? prepare : undefined),
    set: (value: unknown) => {
      ofScript = value;
    },
    configurable: false,
  });
  Reflect.defineProperty(globalThis, 'Error', { writable: false, configurable: false });
}

/**
 * `Function` for the simulator's script. It makes thousands of functions of a few hundred texts, each of which makes the
 * function proper: so one of each text is enough, and its text is compiled once for all realms.
 */
function functionMaker(evaluate: (expression: string) => AnyFunction) {
  const made = new Map<string, AnyFunction>();
  return function make(...texts: string[]): AnyFunction {
    const body = texts.pop();
    const expression = `(function (${texts.join()}) {${body}\n})`;
    let result = made.get(expression);
    if (!result) {
      result = evaluate(expression);
      made.set(expression, result);
    }
    return result;
  };
}

function randomFill(randomByte: () => number) {
  return (view: Uint8Array): Uint8Array => {
    for (let index = 0; index < view.length; index++) view[index] = randomByte();
    return view;
  };
}
