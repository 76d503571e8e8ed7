/** Which files of a working directory are a job's output. */
import { RESERVED_PREFIX, relativePathFault } from '@workbench-hub/shared/domain/relative-path';

/** What tells one state of a file from another, without reading it. */
export interface FileState {
  readonly sizeBytes: bigint;
  readonly modifiedNs: bigint;
  readonly changedNs: bigint;
  readonly inode: bigint;
}

/** True when a file is new or another than it was when the job began. */
export function isOutput(before: FileState | undefined, now: FileState): boolean {
  return (
    before === undefined ||
    before.sizeBytes !== now.sizeBytes ||
    before.modifiedNs !== now.modifiedNs ||
    before.changedNs !== now.changedNs ||
    before.inode !== now.inode
  );
}

/** True for a name at the top of the working directory that belongs to the instance program. */
export function isReserved(path: string): boolean {
  return path.startsWith(RESERVED_PREFIX);
}

/** The path that these bytes spell, or why it can be no output. */
export function outputPath(bytes: Uint8Array): { readonly path: string } | { readonly fault: string } {
  let path: string;
  try {
    path = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return { fault: 'its name is not valid UTF-8' };
  }
  const fault = relativePathFault(path);
  return fault === undefined ? { path } : { fault: `its name ${fault}` };
}

/** Sorts by path, by UTF-16 units: the same on every host. */
export function byPath(a: { readonly path: string }, b: { readonly path: string }): number {
  return a.path < b.path ? -1 : a.path > b.path ? 1 : 0;
}
