/** Directories on Linux: a path that begins with /proc/self/fd/<fd> leads to the opened directory (proc(5)), so that no
 *  operation can be redirected. Descriptors are opened with O_PATH, which requires no read permission. */
import {
  type BigIntStats,
  chmodSync,
  closeSync,
  constants,
  type Dirent,
  fchmodSync,
  fstatSync,
  lstatSync,
  open as openFile,
  openSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs';
import {
  copyFile,
  type FileHandle,
  lstat,
  lutimes,
  mkdir,
  open,
  opendir,
  rename,
  rmdir,
  unlink,
} from 'node:fs/promises';
import { promisify } from 'node:util';
import {
  checkName,
  type Directory,
  LISTED,
  type Listing,
  type Name,
  SMALL_DIRECTORY_BYTES,
} from './directory.js';

const {
  O_CREAT,
  O_DIRECTORY,
  O_EXCL,
  O_NOFOLLOW,
  O_NONBLOCK,
  O_RDONLY,
  O_WRONLY,
  COPYFILE_EXCL,
  COPYFILE_FICLONE,
} = constants;

/** Opens a file in a thread, without the object that would be closed in one. */
const openNumber = promisify(openFile) as (path: Name, flags: number, mode: number) => Promise<number>;

/** Size up to which a file is read at once: threads would cost more. */
const SMALL_FILE_BYTES = 64 * 1024;

/** Missing in Node's constants; the same on all architectures that Node supports (asm-generic/fcntl.h). */
const O_PATH = 0o10000000;

/** Number of entries of a large directory that are read at a time. */
const ENTRIES_AT_A_TIME = 1024;

export class LinuxDirectory implements Directory {
  readonly #file: number;
  readonly #path: string;
  #isOpen = true;

  private constructor(path: Name, flags: number) {
    this.#file = openSync(path, O_PATH | O_DIRECTORY | flags);
    this.#path = `/proc/self/fd/${this.#file}`;
  }

  static open(path: string): LinuxDirectory {
    return new LinuxDirectory(path, 0);
  }

  openDirectory(name: Name): LinuxDirectory {
    return new LinuxDirectory(this.#at(name), O_NOFOLLOW);
  }

  async unlock(): Promise<void> {
    this.#unlock(fstatSync(this.#file).mode);
  }

  async list(): Promise<Listing> {
    const { mode, size } = fstatSync(this.#file);
    this.#unlock(mode);
    const isSmall = size <= SMALL_DIRECTORY_BYTES;
    // Most folders are nearly empty: a thread would cost more.
    return { entries: isSmall ? readdirSync(this.#path, LISTED) : await readInPieces(this.#path), isSmall };
  }

  stat(name: Name): Promise<BigIntStats> {
    return lstat(this.#at(name), { bigint: true });
  }

  statNow(name: Name): BigIntStats {
    return lstatSync(this.#at(name), { bigint: true });
  }

  openFile(name: Name): Promise<FileHandle> {
    return open(this.#at(name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  }

  createFile(name: Name, mode: number): Promise<FileHandle> {
    return open(this.#at(name), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode);
  }

  async writeFile(name: Name, mode: number, content: string | Buffer): Promise<void> {
    const file = await openNumber(this.#at(name), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode);
    try {
      // Only creating the file may block; its content is copied into the page cache.
      writeFileSync(file, content);
      // The process may have a stricter mask.
      if ((fstatSync(file).mode & 0o777) !== mode) fchmodSync(file, mode);
    } catch (error) {
      await this.unlink(name).catch(() => undefined);
      throw error;
    } finally {
      closeSync(file);
    }
  }

  async copyFile(name: Name, source: string | FileHandle, mode?: number): Promise<void> {
    const small = typeof source === 'string' && mode !== undefined ? readSmall(source) : undefined;
    if (small && mode !== undefined) return this.writeFile(name, mode, small);
    const from = typeof source === 'string' ? source : `/proc/self/fd/${source.fd}`;
    // Copy on write where the file system supports it; never a link, since scripts may write into their files.
    if (mode === undefined) return copyFile(from, this.#at(name), COPYFILE_EXCL | COPYFILE_FICLONE);
    const file = await this.createFile(name, 0o600);
    try {
      await copyFile(from, `/proc/self/fd/${file.fd}`, COPYFILE_FICLONE);
      await file.chmod(mode);
    } catch (error) {
      await this.unlink(name).catch(() => undefined);
      throw error;
    } finally {
      await file.close();
    }
  }

  setModified(name: Name, atMs: number): Promise<void> {
    return lutimes(this.#at(name), atMs / 1000, atMs / 1000);
  }

  async makeDirectory(name: Name): Promise<void> {
    await mkdir(this.#at(name));
  }

  rename(name: Name, to: LinuxDirectory, newName: Name): Promise<void> {
    return rename(this.#at(name), to.#at(newName));
  }

  moveOut(name: Name, path: string): Promise<void> {
    return rename(this.#at(name), path);
  }

  unlink(name: Name): Promise<void> {
    return unlink(this.#at(name));
  }

  removeDirectory(name: Name): Promise<void> {
    return rmdir(this.#at(name));
  }

  close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    closeSync(this.#file);
  }

  #at(name: Name): Name {
    // The number may belong to another file by now.
    if (!this.#isOpen) throw new Error('this directory is closed');
    checkName(name);
    return typeof name === 'string'
      ? `${this.#path}/${name}`
      : Buffer.concat([Buffer.from(`${this.#path}/`), name]);
  }

  #unlock(mode: number): void {
    if ((mode & 0o700) === 0o700) return;
    try {
      chmodSync(this.#path, (mode & 0o7777) | 0o700);
    } catch {
      // It belongs to another user: reading it shows whether it is readable.
    }
  }
}

/** Content of a small file of the agent; undefined for a larger one. */
function readSmall(path: string): Buffer | undefined {
  const file = openSync(path, O_RDONLY);
  try {
    return fstatSync(file).size <= SMALL_FILE_BYTES ? readFileSync(file) : undefined;
  } finally {
    closeSync(file);
  }
}

/** Entries of a directory, which is open until they are read or their iteration ends. */
async function readInPieces(path: string): Promise<AsyncIterable<Dirent<Buffer>>> {
  // Node's types know names as text only.
  const encoding = LISTED.encoding as unknown as BufferEncoding;
  const entries: unknown = await opendir(path, { encoding, bufferSize: ENTRIES_AT_A_TIME });
  return entries as AsyncIterable<Dirent<Buffer>>;
}
