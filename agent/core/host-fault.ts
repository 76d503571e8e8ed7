/** A fault of the agent's host, found in the agent's own folders. It is not a fault of the task: another host may run it. */
export class HostFault extends Error {
  override readonly name = 'HostFault';
}

/** Error codes of a disk that is full, broken or not writable, of a removed folder, of no memory, and of too many open files. */
const HOST_CODES: ReadonlySet<unknown> = new Set([
  'ENOSPC',
  'EDQUOT',
  'EIO',
  'EACCES',
  'EPERM',
  'EROFS',
  'EMFILE',
  'ENFILE',
  'ENOMEM',
  'ENOENT',
  'ESTALE',
]);

const FULL_CODES: ReadonlySet<unknown> = new Set(['ENOSPC', 'EDQUOT']);

/** Error codes of a host on which no version of a program could start: a disk that is full or broken, no memory, too many files or processes. */
const EXHAUSTED_CODES: ReadonlySet<unknown> = new Set([
  ...['ENOSPC', 'EDQUOT', 'EIO', 'EROFS'],
  ...['EMFILE', 'ENFILE', 'ENOMEM', 'EAGAIN'],
]);

/** True for the error of a start that would have failed for each program. */
export function isHostExhausted(error: unknown): boolean {
  return EXHAUSTED_CODES.has((error as { readonly code?: unknown } | null | undefined)?.code);
}

/** True for the error of a full disk or quota. */
export function hasNoRoom(error: unknown): boolean {
  return FULL_CODES.has((error as { readonly code?: unknown } | null | undefined)?.code);
}

/** Host fault that an error, or one of its causes, reveals; undefined for any other error. `what` says what could not be done. */
export function hostFaultOf(what: string, error: unknown): HostFault | undefined {
  for (let at = error; at instanceof Error; at = at.cause) {
    if (at instanceof HostFault) return at;
    if ('code' in at && HOST_CODES.has(at.code)) {
      const full = FULL_CODES.has(at.code) ? ', whose disk is full' : '';
      return new HostFault(`${what} on the agent's host${full}: ${at.message}`, { cause: error });
    }
  }
  return undefined;
}

/** Runs work in the agent's own folders: a host fault rejects with {@link HostFault}. */
export async function inOwnFolders<T>(what: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw hostFaultOf(what, error) ?? error;
  }
}
