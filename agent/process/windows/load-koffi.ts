import { SINGLE_FILE, unpackModule } from '@workbench-hub/shared/runtime/single-file';
import type { ForeignFunctions } from './system-calls.js';

/** Loads koffi, whose native module lies in a package, or inside the single file: that is unpacked into `folder`. */
export async function loadKoffi(folder: string): Promise<ForeignFunctions> {
  if (SINGLE_FILE !== null) unpackModule('koffi.node', folder);
  return (await import('koffi')).default;
}
