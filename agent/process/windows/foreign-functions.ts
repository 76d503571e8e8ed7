/** Calls of Windows by koffi: the part of it that is used, and values as the functions of Windows take them. */
import type { LibraryHandle } from 'koffi';

export interface ForeignFunctions {
  load(library: string): LibraryHandle;
  /** Declares the type of a callback. */
  proto(definition: string): unknown;
  /** Makes a function callable from any thread of this process; it runs in the event loop, for which the thread waits. */
  register(callback: (...values: never[]) => unknown, type: string): bigint;
  address(value: Buffer): bigint;
  decode(value: bigint, type: string, length: number): unknown;
}

/** A handle of Windows; null: none. */
export type Handle = object;

/** A call that failed, with the number of the error. */
export class WindowsError extends Error {
  override readonly name = 'WindowsError';
  readonly number: number;

  constructor(call: string, number: number) {
    super(`${call}: error ${number} of Windows`);
    this.number = number;
  }
}

/** A text as Windows takes it. */
export function wideText(text: string): Buffer {
  return Buffer.from(`${text}\0`, 'utf16le');
}

/** A structure with pointers of 64 bits. Its texts live as long as it does. */
export class Structure {
  readonly bytes: Buffer;
  readonly #koffi: Pick<ForeignFunctions, 'address'>;
  readonly #kept: Buffer[] = [];

  constructor(koffi: Pick<ForeignFunctions, 'address'>, size: number) {
    this.#koffi = koffi;
    this.bytes = Buffer.alloc(size);
  }

  number(at: number, value: number): this {
    this.bytes.writeUInt32LE(value, at);
    return this;
  }

  address(at: number, value: bigint): this {
    this.bytes.writeBigUInt64LE(value, at);
    return this;
  }

  pointer(at: number, to: Buffer): this {
    this.#kept.push(to);
    return this.address(at, this.#koffi.address(to));
  }
}
