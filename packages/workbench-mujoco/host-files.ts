/**
 * Files of the host for the simulator's file system (host-file-system.ts). The functions take and give numbers, texts and the
 * bytes of the caller's own arrays, refuse everything else, and never throw: so a realm can call them without getting hold of an
 * object of another realm.
 */
import fs from 'node:fs';
import path from 'node:path';
import { bytesFrom, choiceFrom, integerFrom, textFrom } from './realm-border.js';

/** Errors are negative numbers: `-errno` of Emscripten's C library. */
export interface HostFiles {
  /** Numbers with `/` between them: dev, ino, nlink, mode, uid, gid, rdev, size, blksize, blocks, and the times atime, mtime, ctime
   *  in milliseconds. */
  stat(path: string): string | number;
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
  read(descriptor: number, bytes: Uint8Array, offset: number, length: number, position: number): number;
  write(descriptor: number, bytes: Uint8Array, offset: number, length: number, position: number): number;
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

/** Ways to open a file. */
const ACCESS = ['r', 'r+'] as const;

/** Files of the host, which know the descriptors that are open. */
export class OpenHostFiles implements HostFiles {
  readonly #descriptors = new Set<number>();

  /** Closes what the simulator has left open. */
  closeAll(): void {
    for (const descriptor of this.#descriptors) this.close(descriptor);
  }

  readonly stat = (file: string): string | number =>
    numbered(() => {
      const { dev, ino, nlink, mode, uid, gid, rdev, size, blksize, blocks, atimeMs, mtimeMs, ctimeMs } =
        fs.statSync(textFrom(file));
      const times = [atimeMs, mtimeMs, ctimeMs];
      return [dev, ino, nlink, mode | searchable(mode), uid, gid, rdev, size, blksize, blocks, ...times].join(
        '/',
      );
    });

  readonly chmod = (file: string, mode: number): number =>
    done(() => fs.chmodSync(textFrom(file), integerFrom(mode)));
  readonly truncate = (file: string, size: number): number =>
    done(() => fs.truncateSync(textFrom(file), integerFrom(size)));
  readonly makeFolder = (file: string, mode: number): number =>
    done(() => fs.mkdirSync(textFrom(file), integerFrom(mode)));
  readonly makeFile = (file: string, mode: number): number =>
    done(() => fs.writeFileSync(textFrom(file), '', { mode: integerFrom(mode), flag: 'wx' }));
  readonly rename = (from: string, to: string): number =>
    done(() => fs.renameSync(textFrom(from), textFrom(to)));
  readonly removeFile = (file: string): number => done(() => fs.unlinkSync(textFrom(file)));
  readonly removeFolder = (file: string): number => done(() => fs.rmdirSync(textFrom(file)));
  readonly list = (file: string): string | number => numbered(() => fs.readdirSync(textFrom(file)).join('/'));

  readonly open = (file: string, flags: string): number =>
    numbered(() => {
      const descriptor = fs.openSync(textFrom(file), choiceFrom(flags, ACCESS));
      this.#descriptors.add(descriptor);
      return descriptor;
    });

  readonly close = (descriptor: number): number => {
    // Only its own: a script can give any number.
    if (!this.#descriptors.delete(descriptor)) return 0;
    return done(() => fs.closeSync(descriptor));
  };

  readonly read = (descriptor: number, ...to: [Uint8Array, number, number, number]): number =>
    numbered(() => fs.readSync(this.#own(descriptor), ...bytesAndNumbers(to)));

  readonly write = (descriptor: number, ...from: [Uint8Array, number, number, number]): number =>
    numbered(() => fs.writeSync(this.#own(descriptor), ...bytesAndNumbers(from)));

  readonly size = (descriptor: number): number => numbered(() => fs.fstatSync(this.#own(descriptor)).size);

  #own(descriptor: number): number {
    return this.#descriptors.has(descriptor) ? descriptor : -1;
  }
}

/** Permissions that Windows never tells: whoever may read a file there may execute it, and look into it when it is a folder. */
function searchable(mode: number): number {
  return process.platform === 'win32' ? (mode & 0o444) >> 2 : 0;
}

function bytesAndNumbers([bytes, offset, length, position]: [Uint8Array, number, number, number]) {
  const numbers = [integerFrom(offset), integerFrom(length), integerFrom(position)] as const;
  return [bytesFrom(bytes), ...numbers] as const;
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
