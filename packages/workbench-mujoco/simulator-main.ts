/**
 * Code of the realm in which the compiled simulator is kept. It calls the simulator's script of whichever job runs. Scripts of
 * jobs can get hold of objects of this realm (the buffer of the memory, a compiled function): so all of them are frozen, and the
 * realm compiles no texts.
 *
 * The compiled text of this file is evaluated in the realm (realm-sources.ts): it imports types only.
 */
import type { AnyFunction } from './realm-calls.js';
import type { WasmModule, webAssembly } from './web-assembly.js';

export interface OpenedSimulator {
  /** Exports for the simulator's script. */
  readonly exports: Readonly<Record<string, unknown>>;
  readonly memory: { readonly buffer: ArrayBuffer };
}

/** Instantiates the simulator with functions that call those of the current job. */
export function openSimulator(simulator: WasmModule, imports: Record<string, AnyFunction>): OpenedSimulator {
  const assembly = Reflect.get(globalThis, 'WebAssembly') as typeof webAssembly;
  const { exports } = new assembly.Instance(simulator, { env: imports, wasi_snapshot_preview1: imports });
  const memory = exports['memory'] as OpenedSimulator['memory'];
  const table = exports['__indirect_function_table'] as { get(index: number): AnyFunction };
  const functions: AnyFunction[] = [];
  const frozenTable = Object.freeze({
    get(index: number): AnyFunction | undefined {
      let known = functions[index];
      if (!known) {
        known = Object.freeze(table.get(index));
        functions[index] = known;
      }
      return known;
    },
  });
  const opened = {
    exports: Object.freeze({ ...exports, __indirect_function_table: frozenTable }),
    memory,
  };
  for (const exported of Object.values(exports)) Object.freeze(exported);
  Object.freeze(memory.buffer);
  freezeAll([globalThis, memory.buffer, exports, table, ...hiddenObjects()]);
  return opened;
}

/** Objects that lead to built-in ones which have no global name. */
function hiddenObjects(): object[] {
  const generator = function* (): Generator<undefined> {
    yield undefined;
  };
  const asyncGenerator = async function* (): AsyncGenerator<undefined> {
    yield undefined;
  };
  const iterated = [[], '', new Map(), new Set()].map((iterable) => iterable[Symbol.iterator]());
  return [async () => undefined, generator, asyncGenerator, ...iterated, 'a'.matchAll(/a/g)];
}

/** Freezes what these objects lead to, except the global object, which nothing leads to. */
function freezeAll(objects: object[]): void {
  const seen = new Set<unknown>();
  const queue: unknown[] = objects;
  while (queue.length > 0) {
    const value = queue.pop();
    if ((typeof value !== 'object' && typeof value !== 'function') || value === null || seen.has(value))
      continue;
    seen.add(value);
    if (value !== globalThis) Object.freeze(value);
    queue.push(Object.getPrototypeOf(value));
    for (const key of Reflect.ownKeys(value)) {
      const { value: held, get, set } = Object.getOwnPropertyDescriptor(value, key) ?? {};
      queue.push(held, get, set);
    }
  }
}
