import type { ForeignFunctions } from './foreign-functions.js';

/** Loads koffi, whose native module lies in a package, or inside the single file, which unpacks it (`unpackInto`). */
export async function loadKoffi(): Promise<ForeignFunctions> {
  return (await import('koffi')).default;
}
