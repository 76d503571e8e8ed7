/**
 * Code of a job's realm. A realm has built-in objects and a simulator of its own. What it gets from its thread are functions
 * that never throw and that take and give numbers, texts and the realm's own objects; they stay in this file. So scripts can
 * get hold of no object that another job will meet.
 *
 * The compiled text of this file is evaluated in each realm (realm-sources.ts): beside the file system it imports types only.
 */
import type { MainModule, MjData, MjModel } from '@mujoco/mujoco';
import { showHostFiles, type VirtualFileSystem } from './host-file-system.js';
import type { HostFiles, ShownFolders } from './host-files.js';
import type { SimulatorImports } from './kept-simulator.js';
import {
  type LaterRegistrations,
  type RealmRegistrations,
  type RegistrationCalls,
  registerWhenUsed,
} from './realm-registrations.js';
import type { WasmInstance } from './web-assembly.js';

export type AnyFunction = (...values: unknown[]) => unknown;
type Guard = <Values extends unknown[], Result>(
  call: (...values: Values) => Result,
) => (...values: Values) => Result;

/** Functions of the thread for a realm. */
export interface ThreadCalls {
  readonly files: HostFiles;
  /** Evaluates an expression in the realm. */
  readonly evaluate: (expression: string) => AnyFunction;
  /** Time in milliseconds, with an arbitrary origin. */
  readonly now: () => number;
  /** A random number from 0 to 255. */
  readonly randomByte: () => number;
  /** The simulator is loaded; or it is not, because of this. */
  readonly loaded: (failure?: unknown) => void;
  readonly write: (stream: 'stdout' | 'stderr', text: string) => void;
  /** The value as text, as `util.inspect` and `util.format` give it; undefined when its own methods fail. */
  readonly inspect: (value: unknown) => string | undefined;
  readonly format: (...values: unknown[]) => string | undefined;
  /** Text of a file of the working directory; undefined when it cannot be read. */
  readonly readFile: (name: string) => string | undefined;
  readonly writeFile: (name: string, content: string | Uint8Array) => boolean;
  /** The error of the latest of both that failed, as JSON. */
  readonly fileError: () => string;
  /** The script has returned; or it has thrown this. */
  readonly returned: () => void;
  readonly threw: (error: unknown) => void;
}

/** The compiled simulator, for a realm. */
export interface SimulatorLink {
  readonly exports: Readonly<Record<string, unknown>>;
  /** Lets the compiled simulator call these functions. */
  readonly attach: (imports: SimulatorImports) => void;
  /** What it registered when it was started; undefined while it is. */
  readonly registered?: {
    readonly general: (imports: SimulatorImports) => void;
    /** {@link LaterRegistrations} as JSON. */
    readonly later: string;
    /** Name of the enumeration with this type. */
    readonly enumOf: (type: number) => string | undefined;
  } & RegistrationCalls;
}

/** Settings of a job, which its realm gets as JSON. */
export interface RealmSettings {
  workingDirectory: string;
  variables: Record<string, string>;
  environment: Record<string, string>;
}

/** Functions of a realm for its thread. */
export interface RealmCalls {
  mujoco(): MainModule;
  /** Makes the simulator's object complete, for scripts that look at its names. */
  registerAll(): void;
  showFiles(folders: string): void;
  defineGlobals(settings: string, model: MjModel | undefined, data: MjData | undefined): void;
  run(script: () => Promise<void>): void;
  /** Code of the `process.exit` that threw this. */
  exitCodeOf(thrown: unknown): number | undefined;
}

/** The simulator's script, as a function of the globals that it gets instead of the realm's. */
export type SimulatorScript = (
  functionMaker: unknown,
  finalizationRegistry: undefined,
  webAssembly: unknown,
  window: object,
  console: object,
  crypto: object,
  performance: object,
) => (options: object) => Promise<MainModule>;

/** Thrown by `process.exit`. */
class RealmExit extends Error {
  override readonly name = 'ScriptExit';
  readonly exitCode: number;

  constructor(exitCode: number) {
    super(`the script exited with code ${exitCode}`);
    this.exitCode = exitCode;
  }
}

/** Begins to load the simulator of a new realm; {@link ThreadCalls.loaded} tells the end. */
export function openRealm(
  thread: ThreadCalls,
  simulatorScript: SimulatorScript,
  simulator: SimulatorLink,
): RealmCalls {
  const { apply } = Reflect;
  const assembly: unknown = Reflect.get(globalThis, 'WebAssembly');
  const files = guardedFiles(thread.files);
  const write = guarded(thread.write);
  let mujoco: MainModule | undefined;
  let registrations: RealmRegistrations | undefined;
  let imports: SimulatorImports = {};

  removeLateCalls();
  const loadMujoco = simulatorScript(
    functionMaker(guarded(thread.evaluate)),
    undefined,
    assembly,
    {},
    realmConsole(write, guarded(thread.format)),
    { getRandomValues: randomFill(guarded(thread.randomByte)) },
    { now: guarded(thread.now) },
  );
  loadMujoco({
    print: (line: string) => write('stdout', `${line}\n`),
    printErr: (line: string) => write('stderr', `${line}\n`),
    instantiateWasm({ env }: { env: SimulatorImports }, take: (instance: WasmInstance) => void) {
      imports = { ...env, _emval_take_value: takeValue(env, simulator, (name) => registrations?.make(name)) };
      simulator.attach(imports);
      const exports = exportsFor(simulator, env);
      take({ exports });
      return exports;
    },
  }).then(
    (loaded) => {
      mujoco = loaded;
      registrations = registerLater(loaded, imports, simulator);
      thread.loaded();
    },
    (error: unknown) => thread.loaded(error),
  );

  return {
    mujoco: () => mujoco as MainModule,
    registerAll: () => registrations?.makeAll(),
    showFiles: (folders) =>
      showHostFiles(mujoco?.FS as unknown as VirtualFileSystem, files, JSON.parse(folders) as ShownFolders),
    defineGlobals(settings, model, data) {
      const { variables, ...own } = scriptGlobals(thread, JSON.parse(settings) as RealmSettings);
      const globals: Record<string, unknown> = { mujoco, model, data, ...own, ...variables };
      for (const name of Object.keys(globals)) define(globalThis, name, globals[name]);
    },
    run: (script) =>
      void (async () => {
        try {
          await apply(script, {}, []);
          thread.returned();
        } catch (error) {
          thread.threw(error);
        }
      })(),
    exitCodeOf: (thrown) => (thrown instanceof RealmExit ? thrown.exitCode : undefined),
  };
}

/** Exports that repeat what the compiled simulator registered, instead of starting it again. */
function exportsFor({ exports, registered }: SimulatorLink, imports: SimulatorImports) {
  if (!registered) return exports;
  return { ...exports, __wasm_call_ctors: () => registered.general(imports) };
}

function registerLater(
  mujoco: MainModule,
  imports: SimulatorImports,
  { registered }: SimulatorLink,
): RealmRegistrations | undefined {
  if (!registered) return undefined;
  const later = JSON.parse(registered.later) as LaterRegistrations;
  const names = mujoco as unknown as Record<string, unknown>;
  return registerWhenUsed(names, imports, later, {
    laterCalls: guarded(registered.laterCalls),
    laterKeys: guarded(registered.laterKeys),
  });
}

/** Completes the enumeration of a value that the compiled simulator gives, before it is looked up there. */
function takeValue(
  imports: SimulatorImports,
  { registered }: SimulatorLink,
  complete: (name: string) => void,
): AnyFunction {
  const take = imports['_emval_take_value'] as AnyFunction;
  const enumOf = registered && guarded(registered.enumOf);
  return (type, ...values) => {
    const name = enumOf?.(type as number);
    if (name !== undefined) complete(name);
    return take(type, ...values);
  };
}

/** Hides an error of the thread, which a call can throw only when the stack of the script is full. */
const guarded: Guard =
  (call) =>
  (...values) => {
    try {
      return call(...values);
    } catch {
      // It is of the thread, so the script gets another.
    }
    throw new RangeError('Maximum call stack size exceeded');
  };

function guardedFiles(files: HostFiles): HostFiles {
  const { stat, chmod, truncate, makeFolder, makeFile, rename, removeFile, removeFolder } = files;
  const { list, open, close, read, write, size } = files;
  return {
    stat: guarded(stat),
    chmod: guarded(chmod),
    truncate: guarded(truncate),
    makeFolder: guarded(makeFolder),
    makeFile: guarded(makeFile),
    rename: guarded(rename),
    removeFile: guarded(removeFile),
    removeFolder: guarded(removeFolder),
    list: guarded(list),
    open: guarded(open),
    close: guarded(close),
    read: guarded(read),
    write: guarded(write),
    size: guarded(size),
  };
}

/** Removes everything by which a script could have something called after its job has ended. */
function removeLateCalls(): void {
  for (const name of ['WebAssembly', 'FinalizationRegistry']) Reflect.deleteProperty(globalThis, name);
  Reflect.deleteProperty(Atomics, 'waitAsync');
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

function realmConsole(write: ThreadCalls['write'], format: ThreadCalls['format']) {
  const writer =
    (stream: 'stdout' | 'stderr') =>
    (...values: unknown[]) =>
      write(stream, `${shown(format(...values))}\n`);
  const [toOutput, toErrors] = [writer('stdout'), writer('stderr')];
  return { log: toOutput, info: toOutput, debug: toOutput, warn: toErrors, error: toErrors };
}

function shown(text: string | undefined): string {
  if (text === undefined) throw new TypeError('a value cannot be shown as text');
  return text;
}

function scriptGlobals(thread: ThreadCalls, { workingDirectory, variables, environment }: RealmSettings) {
  const write = guarded(thread.write);
  const inspect = guarded(thread.inspect);
  const [readText, writeText, fileError] = [thread.readFile, thread.writeFile, thread.fileError].map((call) =>
    guarded(call as AnyFunction),
  ) as [ThreadCalls['readFile'], ThreadCalls['writeFile'], ThreadCalls['fileError']];
  const text = (values: unknown[]) =>
    values.map((value) => (typeof value === 'string' ? value : shown(inspect(value)))).join(' ');
  return {
    variables,
    workingDirectory,
    console: realmConsole(write, guarded(thread.format)),
    process: {
      env: new Proxy(environment, { set: (target, name, value) => Reflect.set(target, name, `${value}`) }),
      exit(code: unknown = 0): never {
        throw new RealmExit(Number(code));
      },
    },
    print: (...values: unknown[]) => write('stdout', text(values)),
    println: (...values: unknown[]) => write('stdout', `${text(values)}\n`),
    readFile(name: string): string {
      const content = readText(name);
      if (content === undefined) throw ownError(fileError());
      return content;
    },
    writeFile(name: string, content: string | Uint8Array): void {
      if (!writeText(name, content)) throw ownError(fileError());
    },
  };
}

/** Error of the realm with the properties of one of the thread. */
function ownError(json: string): Error {
  const { name, message, ...details } = JSON.parse(json) as { name: string; message: string };
  const error = name === 'TypeError' ? new TypeError(message) : new Error(message);
  return Object.assign(error, details);
}

/** Also replaces read-only globals, except undefined, NaN and Infinity. */
function define(target: object, name: string, value: unknown): void {
  Reflect.defineProperty(target, name, { value, writable: true, enumerable: true, configurable: true });
}
