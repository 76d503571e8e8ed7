/** File system operations of the blob store. A simulation replaces them to cut the power at any step. */
import { createReadStream } from 'node:fs';
import { mkdir, open, readdir, rename, rm, stat, utimes } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { syncFolder } from '@workbench-hub/shared/runtime/sync-folder';
import { diskSpace } from './disk-space.js';

/** An open file, like Node's `FileHandle`. */
export interface BlobFile {
  read(
    into: Buffer,
    offset: number,
    length: number,
    position: number,
  ): Promise<{ readonly bytesRead: number }>;
  write(bytes: Buffer, offset: number, length: number, position: number): Promise<unknown>;
  writev(pieces: readonly Uint8Array[]): Promise<{ readonly bytesWritten: number }>;
  truncate(sizeBytes: number): Promise<void>;
  utimes(accessedS: number, modifiedS: number): Promise<void>;
  stat(): Promise<{ readonly size: number }>;
  datasync(): Promise<void>;
  sync(): Promise<void>;
  close(): Promise<void>;
}

export interface BlobDisk {
  /** Creates a folder with private permissions, and its parents; an existing one stays as it is. */
  makeFolder(path: string): Promise<void>;
  list(folder: string): Promise<string[]>;
  /** Created files are readable by their owner only. */
  open(path: string, flags: 'r' | 'wx' | 'a+'): Promise<BlobFile>;
  stat(path: string): Promise<{ readonly size: number; readonly mtimeMs: number }>;
  utimes(path: string, accessedS: number, modifiedS: number): Promise<void>;
  rename(from: string, to: string): Promise<void>;
  /** Does nothing when the file does not exist. */
  remove(path: string): Promise<void>;
  /** Makes the names in a folder durable. */
  syncFolder(path: string): Promise<void>;
  /** Reads from `start` up to `end`, excluded; the file is opened soon afterwards. */
  read(path: string, start: number, end: number): Readable;
  freeBytes(folder: string): Promise<number>;
}

const READ_BYTES = 256 * 1024;

export const systemDisk: BlobDisk = {
  makeFolder: async (path) => void (await mkdir(path, { recursive: true, mode: 0o700 })),
  list: (folder) => readdir(folder),
  open: (path, flags) => open(path, flags, 0o600),
  stat: (path) => stat(path),
  utimes: (path, accessedS, modifiedS) => utimes(path, accessedS, modifiedS),
  rename: (from, to) => rename(from, to),
  remove: (path) => rm(path, { recursive: true, force: true }),
  syncFolder,
  read: (path, start, end) =>
    createReadStream(path, { highWaterMark: READ_BYTES, start, end: Math.max(end - 1, start) }),
  freeBytes: async (folder) => (await diskSpace(folder)).freeBytes,
};

/** Turns ENOENT into a value; other errors stay errors. */
export function absent<T>(value: T): (error: unknown) => T {
  return (error) => {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return value;
    throw error;
  };
}
