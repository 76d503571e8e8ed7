/** Directories that are held open: each operation applies to the directory that was opened, whatever a process puts in the
 *  place of its path. No operation follows a link. */
import type { BigIntStats, Dirent } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';

/** One component of a path; bytes, because a name on disk need not be text. */
export type Name = string | Buffer;

export interface Listing {
  /** Those of a large directory are read while they are used: a job may have made more than memory holds. They are to be iterated. */
  readonly entries: readonly Dirent<Buffer>[] | AsyncIterable<Dirent<Buffer>>;
  /** True for so few entries that synchronous calls cost less than threads. */
  readonly isSmall: boolean;
}

/** All methods but `close` throw, or reject with, the error of the system: ENOTDIR for a link where a directory is expected,
 *  ELOOP for a link where a file is, ESTALE when something else replaced this directory. */
export interface Directory {
  openDirectory(name: Name): Directory;
  /** Gives its owner all permissions; a directory of another user stays as it is. */
  unlock(): Promise<void>;
  /** Lists its entries, after `unlock`. */
  list(): Promise<Listing>;
  stat(name: Name): Promise<BigIntStats>;
  statNow(name: Name): BigIntStats;
  /** Opens the entry for reading without blocking: it may be a pipe. */
  openFile(name: Name): Promise<FileHandle>;
  /** Creates a file; rejects with EEXIST when the name is taken, also by a link. */
  createFile(name: Name, mode: number): Promise<FileHandle>;
  /** Creates a small file with this content; rejects as {@link createFile} does, and leaves nothing then. */
  writeFile(name: Name, mode: number, content: string | Buffer): Promise<void>;
  /** Creates a copy of a file, with `mode` or with the mode of the source. */
  copyFile(name: Name, source: string | FileHandle, mode?: number): Promise<void>;
  /** Sets the time at which a file was changed last. */
  setModified(name: Name, atMs: number): Promise<void>;
  makeDirectory(name: Name): Promise<void>;
  /** Moves an entry between directories of the same kind, and replaces an existing one. */
  rename(name: Name, to: Directory, newName: Name): Promise<void>;
  /** Moves an entry to a path in a folder of the agent; rejects with ENOTSUP where the moved entry cannot be verified. */
  moveOut(name: Name, path: string): Promise<void>;
  unlink(name: Name): Promise<void>;
  removeDirectory(name: Name): Promise<void>;
  close(): void;
}

/** Opens a directory of the agent by its path; follows links. */
export type OpenDirectory = (path: string) => Directory;

/** Maximum size of a directory with at most some hundred entries. */
export const SMALL_DIRECTORY_BYTES = 4096;

export const LISTED = { encoding: 'buffer', withFileTypes: true } as const;

/** Throws when `name` is not a single path component. */
export function checkName(name: Name): void {
  const text = typeof name === 'string' ? name : name.toString('latin1');
  const isOne = text !== '' && text !== '.' && text !== '..' && !text.includes('/') && !text.includes('\0');
  if (!isOne) throw new Error(`${JSON.stringify(text)} is not the name of one entry of a directory`);
}

/** Error in the form of a system error. */
export function systemError(code: string, what: string): Error {
  return Object.assign(new Error(`${code}: ${what}`), { code });
}

export function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException).code;
}
