/**
 * The compiled simulator of a thread, which is kept for many jobs. It is in a realm of its own. Each job has its own copy of the
 * simulator's script; the functions that the compiled simulator calls are those of the current job. Before each job the memory and
 * the stack pointer are as they were after the start, and the compiled simulator has no other state.
 */
import vm from 'node:vm';
import type { AnyFunction, ImportCall, SimulatorImports } from './realm-calls.js';
import type { RealmSources } from './realm-sources.js';
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
  #memory: Uint8Array | undefined;
  #stackPointer = 0;

  constructor(simulator: WasmModule, sources: RealmSources) {
    const realm = newRealm();
    this.#names = [...new Set(webAssembly.Module.imports(simulator).map(({ name }) => name))];
    const { current, imports } = vm.runInContext(forwarders(this.#names), realm) as {
      current: SimulatorImports;
      imports: SimulatorImports;
    };
    this.#current = current;
    this.#simulator = sources.openSimulator(realm)(simulator, imports);
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
    this.#memory = new Uint8Array(buffer).slice();
    this.#stackPointer = (this.exports['emscripten_stack_get_current'] as () => number)();
    this.#registrations = new Registrations(this.#calls, this.#memory.buffer as ArrayBuffer);
  }

  /** Brings back the state after the start. False when that is not possible, since the memory has grown. */
  restore(): boolean {
    const memory = new Uint8Array(this.#simulator.memory.buffer);
    if (!this.#memory || memory.length !== this.#memory.length) return false;
    memory.set(this.#memory);
    (this.exports['_emscripten_stack_restore'] as (pointer: number) => void)(this.#stackPointer);
    (this.exports['_emscripten_tempret_set'] as (value: number) => void)(0);
    return true;
  }
}

/** A realm with an ordinary global object: one that is made from an object of the thread would lead to it. */
export function newRealm(): vm.Context {
  return vm.createContext(vm.constants.DONT_CONTEXTIFY, { codeGeneration: { strings: false, wasm: false } });
}

/** Text of functions that call those of the current job. The names of the most frequent ones tell the number of values. */
function forwarders(names: readonly string[]): string {
  const forwarder = (name: string) => {
    const signature = /^invoke_(\w+)$/.exec(name)?.[1];
    const values =
      signature === undefined ? '...values' : [...signature].map((_, index) => `v${index}`).join();
    return `${name}: (${values}) => { const call = current.${name}; return call(${values}); }`;
  };
  return `(() => {'use strict';
    const current = { ${names.map((name) => `${name}: undefined`).join()} };
    return { current, imports: { ${names.map(forwarder).join()} } };
  })()`;
}
