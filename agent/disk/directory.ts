/** Directories that are held open, so that each step goes to the directory that was opened and to no other, whatever a
 *  process puts in the place of its path meanwhile. No step follows a link. */
import type { BigIntStats, Dirent } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';

/** One component of a path; bytes, because a name on disk need not be text. */
export type Name = string | Buffer;

export interface Listing {
  readonly entries: readonly Dirent<Buffer>[];
  /** Whether there are so few that a step for each may be done at once, without a thread. */
  readonly isSmall: boolean;
}

/** All steps but `close` throw, or reject with, what the system says. ENOTDIR is said of a link where a directory is asked
 *  for, ELOOP of one where a file is, ESTALE when something else stands where this directory was opened. */
export interface Directory {
  openDirectory(name: Name): Directory;
  /** Gives its owner all rights; a directory of another user stays as it is. */
  unlock(): Promise<void>;
  /** Lists what is in it, after `unlock`. */
  list(): Promise<Listing>;
  stat(name: Name): Promise<BigIntStats>;
  statNow(name: Name): BigIntStats;
  /** Opens whatever has this name for reading, and waits for nobody: it may be a pipe. */
  openFile(name: Name): Promise<FileHandle>;
  /** Makes a new file; rejects with EEXIST when the name is taken, by a link as well. */
  createFile(name: Name, mode: number): Promise<FileHandle>;
  /** Makes a new file with the content of another: with the rights `mode`, or with those of the other. */
  copyFile(name: Name, source: string | FileHandle, mode?: number): Promise<void>;
  makeDirectory(name: Name): Promise<void>;
  /** Moves an entry within directories of the same kind, over what is there. */
  rename(name: Name, to: Directory, newName: Name): Promise<void>;
  /** Moves an entry to a path in a folder of the agent; rejects with ENOTSUP where it cannot be known what is moved. */
  moveOut(name: Name, path: string): Promise<void>;
  unlink(name: Name): Promise<void>;
  removeDirectory(name: Name): Promise<void>;
  close(): void;
}

/** Opens a directory of the agent by its path, links followed. */
export type OpenDirectory = (path: string) => Directory;

/** A directory of this size has some hundred entries at most. */
export const SMALL_DIRECTORY_BYTES = 4096;

export const LISTED = { encoding: 'buffer', withFileTypes: true } as const;

/** Throws when `name` is more than one component, or leads elsewhere. */
export function checkName(name: Name): void {
  const text = typeof name === 'string' ? name : name.toString('latin1');
  const isOne = text !== '' && text !== '.' && text !== '..' && !text.includes('/') && !text.includes('\0');
  if (!isOne) throw new Error(`${JSON.stringify(text)} is not the name of one entry of a directory`);
}

/** An error as the system says it. */
export function systemError(code: string, what: string): Error {
  return Object.assign(new Error(`${code}: ${what}`), { code });
}

export function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException).code;
}
