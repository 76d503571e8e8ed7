/**
 * The compiled simulator of a thread, which is kept for many jobs. It is in a realm of its own. Each job has its own copy of the
 * simulator's script; the functions that the compiled simulator calls are those of the current job. Before each job the memory and
 * the stack pointer are as they were after the start, and the compiled simulator has no other state.
 */
import vm from 'node:vm';
import type { AnyFunction, ImportCall, SimulatorImports } from './realm-calls.js';
import { IS_EXCEPTION, type RealmSources } from './realm-sources.js';
import { Registrations } from './registrations.js';
import type { OpenedSimulator } from './simulator-main.js';
import { type WasmModule, webAssembly } from './web-assembly.js';

/** Imported functions that change the state of the simulator's script, as far as the compiled simulator calls them while it starts. */
const CHANGES_SCRIPT = /^_em(?:bind|val)_|^emscripten_asm_const_/;

export class KeptSimulator {
  readonly #simulator: OpenedSimulator;
  /** Functions of the current job. */
  readonly #current: SimulatorImports;
  readonly #names: readonly string[];
  readonly #calls: ImportCall[] = [];
  #registrations: Registrations | undefined;
  /** Content of the memory up to its last byte other than zero. */
  #content: Uint8Array | undefined;
  #memoryBytes = 0;
  #stackPointer = 0;

  constructor(simulator: WasmModule, sources: RealmSources) {
    const realm = newRealm();
    this.#names = [...new Set(webAssembly.Module.imports(simulator).map(({ name }) => name))];
    const { current, calls, imports } = vm.runInContext(forwarders(this.#names), realm) as {
      current: SimulatorImports;
      calls: SimulatorImports;
      imports: SimulatorImports;
    };
    this.#current = current;
    this.#simulator = sources.openSimulator(realm)(simulator, imports);
    const { exports } = this.#simulator;
    calls['stackPointer'] = exports['emscripten_stack_get_current'] as AnyFunction;
    calls['restoreStack'] = exports['_emscripten_stack_restore'] as AnyFunction;
    calls['setThrew'] = exports['setThrew'] as AnyFunction;
    calls['functionAt'] = (exports['__indirect_function_table'] as { get: AnyFunction }).get;
  }

  get exports(): Readonly<Record<string, unknown>> {
    return this.#simulator.exports;
  }

  /** Registrations at the start; undefined until {@link started}. */
  get registrations(): Registrations | undefined {
    return this.#registrations;
  }

  /** Lets the compiled simulator call the functions of a realm. Until it is started, it records the calls. */
  attach(imports: SimulatorImports): void {
    const isStarting = this.#registrations === undefined;
    let depth = 0;
    this.#current[IS_EXCEPTION] = imports[IS_EXCEPTION] as AnyFunction;
    for (const name of this.#names) {
      const call = imports[name] as AnyFunction;
      this.#current[name] =
        isStarting && CHANGES_SCRIPT.test(name)
          ? (...values) => {
              if (depth++ === 0) this.#calls.push([name, ...(values as number[])]);
              try {
                return call(...values);
              } finally {
                depth--;
              }
            }
          : call;
    }
  }

  /** Remembers the state after the start. */
  started(): void {
    const { buffer } = this.#simulator.memory;
    const memory = new Uint8Array(buffer);
    this.#memoryBytes = memory.length;
    this.#content = memory.slice(0, memory.findLastIndex((byte) => byte !== 0) + 1);
    this.#stackPointer = (this.exports['emscripten_stack_get_current'] as () => number)();
    this.#registrations = new Registrations(this.#calls, this.#content.buffer as ArrayBuffer);
  }

  /** Brings back the state after the start. False when that is not possible, since the memory has grown. */
  restore(): boolean {
    const memory = new Uint8Array(this.#simulator.memory.buffer);
    if (!this.#content || memory.length !== this.#memoryBytes) return false;
    memory.set(this.#content);
    // Twice as fast as a copy of zeros.
    memory.fill(0, this.#content.length);
    (this.exports['_emscripten_stack_restore'] as (pointer: number) => void)(this.#stackPointer);
    (this.exports['_emscripten_tempret_set'] as (value: number) => void)(0);
    return true;
  }
}

/** A realm with an ordinary global object: one that is made from an object of the thread would lead to it. */
export function newRealm(): vm.Context {
  return vm.createContext(vm.constants.DONT_CONTEXTIFY, { codeGeneration: { strings: false, wasm: false } });
}

/**
 * Text of functions that call those of the current job. Those that call the compiled simulator and catch its exceptions
 * (`invoke_...`) are made here: parsing a model calls them thousands of times, and in each new realm they would be slow at first.
 */
function forwarders(names: readonly string[]): string {
  const forwarder = (name: string) => {
    const signature = /^invoke_(\w+)$/.exec(name)?.[1];
    if (signature === undefined)
      return `${name}: (...values) => { const call = current.${name}; return call(...values); }`;
    const values = [...signature.slice(1)].map((_, index) => `v${index}`).join();
    return `${name}: (index${values === '' ? '' : `, ${values}`}) => {
      const stackPointer = calls.stackPointer();
      try {
        return calls.functionAt(index)(${values});
      } catch (error) {
        calls.restoreStack(stackPointer);
        const isException = current.${IS_EXCEPTION};
        if (!isException(error)) throw error;
        calls.setThrew(1, 0);
      }
    }`;
  };
  return `(() => {'use strict';
    const current = { ${[...names, IS_EXCEPTION].map((name) => `${name}: undefined`).join()} };
    const calls = { stackPointer: undefined, restoreStack: undefined, setThrew: undefined, functionAt: undefined };
    return { current, calls, imports: { ${names.map(forwarder).join()} } };
  })()`;
}
