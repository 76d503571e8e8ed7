/** Types of WebAssembly, which TypeScript has in its DOM library only. */

/** A compiled module; threads share it without compiling it again. */
export interface WasmModule {
  readonly [Symbol.toStringTag]: 'WebAssembly.Module';
}

export interface WasmInstance {
  readonly exports: Record<string, unknown>;
}

export type WasmImports = Record<string, Record<string, unknown>>;

export const webAssembly = Reflect.get(globalThis, 'WebAssembly') as {
  compile(bytes: Uint8Array): Promise<WasmModule>;
  Module: { imports(module: WasmModule): { module: string; name: string; kind: string }[] };
  Instance: new (module: WasmModule, imports: WasmImports) => WasmInstance;
};
