import type { ForeignFunctions } from './system-calls.js';

/** Loads koffi, whose native module lies in a package, or inside the single file, which unpacks it. */
export async function loadKoffi(): Promise<ForeignFunctions> {
  return (await import('koffi')).default;
}
