/**
 * Files of the host for the simulator's file system (host-file-system.ts). The functions take and give numbers, texts and the
 * caller's own arrays, and never throw: so a realm can call them without getting hold of an object of another realm.
 */
import fs from 'node:fs';
import path from 'node:path';

/** Errors are negative numbers: `-errno` of Emscripten's C library. */
export interface HostFiles {
  /** Fills `into` with dev, ino, nlink, mode, uid, gid, rdev, size, blksize, blocks, and the times atime, mtime, ctime in
   *  milliseconds. */
  stat(path: string, into: Float64Array): number;
  chmod(path: string, mode: number): number;
  truncate(path: string, size: number): number;
  makeFolder(path: string, mode: number): number;
  makeFile(path: string, mode: number): number;
  rename(from: string, to: string): number;
  removeFile(path: string): number;
  removeFolder(path: string): number;
  /** Names, with `/` between them. */
  list(path: string): string | number;
  /** Gives a descriptor. */
  open(path: string, flags: string): number;
  close(descriptor: number): number;
  read(descriptor: number, buffer: Int8Array, offset: number, length: number, position: number): number;
  write(descriptor: number, buffer: Int8Array, offset: number, length: number, position: number): number;
  size(descriptor: number): number;
}

/** Folders that the simulator sees. */
export interface ShownFolders {
  /** Path in the simulator. */
  workingDirectory: string;
  isWindows: boolean;
}

/** Error numbers of Emscripten's C library (those of WASI). */
const ERRNO: Record<string, number> = {
  EACCES: 2,
  EEXIST: 20,
  EINVAL: 28,
  EIO: 29,
  EISDIR: 31,
  EMFILE: 33,
  ENOENT: 44,
  ENOSPC: 51,
  ENOTDIR: 54,
  ENOTEMPTY: 55,
  EPERM: 63,
  EROFS: 69,
};

/** Files of the host, which know the descriptors that are open. */
export class OpenHostFiles implements HostFiles {
  readonly #descriptors = new Set<number>();

  /** Closes what the simulator has left open. */
  closeAll(): void {
    for (const descriptor of this.#descriptors) this.close(descriptor);
  }

  readonly stat = (file: string, into: Float64Array): number =>
    numbered(() => {
      const { dev, ino, nlink, mode, uid, gid, rdev, size, blksize, blocks, atimeMs, mtimeMs, ctimeMs } =
        fs.statSync(file);
      const values = [
        dev,
        ino,
        nlink,
        mode,
        uid,
        gid,
        rdev,
        size,
        blksize,
        blocks,
        atimeMs,
        mtimeMs,
        ctimeMs,
      ];
      for (let index = 0; index < values.length; index++) into[index] = values[index] as number;
      return 0;
    });

  readonly chmod = (file: string, mode: number): number => done(() => fs.chmodSync(file, mode));
  readonly truncate = (file: string, size: number): number => done(() => fs.truncateSync(file, size));
  readonly makeFolder = (file: string, mode: number): number => done(() => fs.mkdirSync(file, mode));
  readonly makeFile = (file: string, mode: number): number =>
    done(() => fs.writeFileSync(file, '', { mode, flag: 'wx' }));
  readonly rename = (from: string, to: string): number => done(() => fs.renameSync(from, to));
  readonly removeFile = (file: string): number => done(() => fs.unlinkSync(file));
  readonly removeFolder = (file: string): number => done(() => fs.rmdirSync(file));
  readonly list = (file: string): string | number => numbered(() => fs.readdirSync(file).join('/'));

  readonly open = (file: string, flags: string): number =>
    numbered(() => {
      const descriptor = fs.openSync(file, flags);
      this.#descriptors.add(descriptor);
      return descriptor;
    });

  readonly close = (descriptor: number): number => {
    // Only its own: a script can give any number.
    if (!this.#descriptors.delete(descriptor)) return 0;
    return done(() => fs.closeSync(descriptor));
  };

  readonly read = (descriptor: number, ...to: [Int8Array, number, number, number]): number =>
    numbered(() => fs.readSync(this.#own(descriptor), ...to));

  readonly write = (descriptor: number, ...from: [Int8Array, number, number, number]): number =>
    numbered(() => fs.writeSync(this.#own(descriptor), ...from));

  readonly size = (descriptor: number): number => numbered(() => fs.fstatSync(this.#own(descriptor)).size);

  #own(descriptor: number): number {
    return this.#descriptors.has(descriptor) ? descriptor : -1;
  }
}

function numbered<T>(call: () => T): T | number {
  try {
    return call();
  } catch (error) {
    return -(ERRNO[(error as NodeJS.ErrnoException).code ?? ''] ?? (ERRNO['EIO'] as number));
  }
}

function done(call: () => void): number {
  return numbered(() => {
    call();
    return 0;
  });
}

/** Path of the host in the simulator: the same on POSIX systems, `/C:/models/a.xml` on Windows. */
export function simulatorPath(hostPath: string): string {
  const resolved = path.resolve(hostPath);
  return path.sep === '/' ? resolved : `/${resolved.replaceAll('\\', '/')}`;
}

export function shownFolders(workingDirectory: string): ShownFolders {
  return { workingDirectory: simulatorPath(workingDirectory), isWindows: path.sep === '\\' };
}
