/** What is used of WebAssembly: its types come with TypeScript's DOM library only, and there is no DOM here. */

/** A compiled module; threads can be given one without compiling it again. */
export interface WasmModule {
  readonly [Symbol.toStringTag]: 'WebAssembly.Module';
}

export interface WasmInstance {
  readonly exports: Record<string, unknown>;
}

export type WasmImports = Record<string, Record<string, unknown>>;

export const webAssembly = Reflect.get(globalThis, 'WebAssembly') as {
  compile(bytes: Uint8Array): Promise<WasmModule>;
  Instance: new (module: WasmModule, imports: WasmImports) => WasmInstance;
};
