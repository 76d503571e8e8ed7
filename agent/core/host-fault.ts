/** A fault of the agent's host, met in the agent's own folders: no fault of the task, which another host may well run. */
export class HostFault extends Error {
  override readonly name = 'HostFault';
}

/** What a system says of a disk that is full, broken or not to be written, of a folder that somebody took away, and of
 *  a process that may open no more files. */
const HOST_CODES: ReadonlySet<unknown> = new Set([
  'ENOSPC',
  'EDQUOT',
  'EIO',
  'EACCES',
  'EPERM',
  'EROFS',
  'EMFILE',
  'ENFILE',
  'ENOENT',
  'ESTALE',
]);

const FULL_CODES: ReadonlySet<unknown> = new Set(['ENOSPC', 'EDQUOT']);

/** Whether an error says that a disk or a quota is full. */
export function hasNoRoom(error: unknown): boolean {
  return FULL_CODES.has((error as { readonly code?: unknown } | null | undefined)?.code);
}

/** The fault of the host that an error, or what caused it, tells of; undefined for every other error. `what` says what
 *  could not be done. */
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

/** Does something in the agent's own folders: a fault of the host rejects with {@link HostFault}. */
export async function inOwnFolders<T>(what: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw hostFaultOf(what, error) ?? error;
  }
}
