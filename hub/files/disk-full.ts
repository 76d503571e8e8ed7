import { HubError } from '../core/errors.js';

/** A full disk as STORAGE_FULL, and any other error as it is. */
export function storageFull(error: unknown): unknown {
  const code = (error as NodeJS.ErrnoException | null)?.code;
  if (code !== 'ENOSPC' && code !== 'EDQUOT') return error;
  return new HubError('STORAGE_FULL', 'the disk of the hub is full; the file was not kept', { cause: error });
}
