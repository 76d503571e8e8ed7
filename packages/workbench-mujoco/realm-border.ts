/**
 * The border between a thread and the realms of its jobs, on the thread's side. Scripts control every value that comes from a realm,
 * so a function checks that it is a primitive, or a typed array by its internal slots, before anything else of the thread meets it.
 * A script gets no error of the thread either, since errors lead to the built-in objects of their realm.
 */
import { types } from 'node:util';

const { apply, getOwnPropertyDescriptor, getPrototypeOf } = Reflect;
type Getter = (this: unknown) => unknown;
const ofTypedArrays = getPrototypeOf(Uint8Array.prototype) as object;
const [bufferOf, byteOffsetOf, byteLengthOf] = ['buffer', 'byteOffset', 'byteLength'].map(
  (name) => getOwnPropertyDescriptor(ofTypedArrays, name)?.get,
) as [Getter, Getter, Getter];

/** A value of a realm is none that the called function allows. */
class NotAllowed extends Error {
  override readonly name = 'NotAllowed';
}

/** Gives a text of a realm; throws for every other value. */
export function textFrom(value: unknown): string {
  if (typeof value !== 'string') throw new NotAllowed('not a text');
  return value;
}

/** Gives one of these texts; throws for every other value. */
export function choiceFrom<Choice extends string>(value: unknown, choices: readonly Choice[]): Choice {
  for (const choice of choices) if (value === choice) return choice;
  throw new NotAllowed('not one of the allowed texts');
}

/** Gives an integer from 0 on; throws for every other value. */
export function integerFrom(value: unknown): number {
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0) {
    throw new NotAllowed('not an integer');
  }
  return value;
}

/** Gives the bytes of a realm's typed array, as an array of the thread; throws for every other value. */
export function bytesFrom(value: unknown): Uint8Array {
  if (!types.isTypedArray(value)) throw new NotAllowed('not a typed array');
  return new Uint8Array(
    apply(bufferOf, value, []) as ArrayBuffer,
    apply(byteOffsetOf, value, []) as number,
    apply(byteLengthOf, value, []) as number,
  );
}

/** Gives the text that a realm's function returns; undefined when it returns anything else or throws. */
export function textOf(call: () => unknown): string | undefined {
  try {
    const value = call();
    return typeof value === 'string' ? value : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Makes a thread ready for realms: closes the two ways on which Node.js would throw an error of the thread into a script.
 *
 * Node.js makes the stack of every realm's errors by a function of the thread. With names that cannot be texts it throws a
 * `TypeError`, so {@link stackText} replaces it. When the stack of the script is full, V8 throws a `RangeError` of the thread there:
 * it leads to nothing any more. Scripts with all of Node.js must not run in such a thread.
 */
export function sealThread(): void {
  Object.defineProperty(Error, 'prepareStackTrace', { value: stackText });
  Reflect.deleteProperty(RangeError.prototype, 'constructor');
  Object.setPrototypeOf(RangeError.prototype, null);
  Object.freeze(RangeError.prototype);
}

const errorText = Error.prototype.toString;

/** Stack of an error of any realm, as V8 writes it. */
function stackText(error: unknown, sites: readonly unknown[]): string {
  try {
    let text = apply(errorText, error, []);
    for (let index = 0; index < sites.length; index++) text += `\n    at ${String(sites[index])}`;
    return text;
  } catch {
    return 'Error';
  }
}
