/** Directories on any system, by path: each operation checks before and after it whether the path still leads, without a link,
 *  to the opened directory. An opened file is accepted only if it is the one in the directory. Changes are made right after a
 *  check: only a swap within these microseconds goes unnoticed. */
import {
  type BigIntStats,
  chmodSync,
  constants,
  lstatSync,
  lutimesSync,
  mkdirSync,
  renameSync,
  rmdirSync,
  statSync,
  unlinkSync,
} from 'node:fs';
import { chmod, type FileHandle, lstat, open, readdir } from 'node:fs/promises';
import { resolve, sep } from 'node:path';
import {
  checkName,
  codeOf,
  type Directory,
  LISTED,
  type Listing,
  type Name,
  SMALL_DIRECTORY_BYTES,
  systemError,
} from './directory.js';

const { O_CREAT, O_EXCL, O_RDONLY, O_WRONLY } = constants;
/** Windows has neither. */
const O_NOFOLLOW = constants.O_NOFOLLOW ?? 0;
const O_NONBLOCK = constants.O_NONBLOCK ?? 0;

/** Number of checks whether an opened file is the one in the directory: somebody who swaps directories has to hit the right
 *  moment each time. */
const LOOKS = 8;
const COPY_BYTES = 1024 * 1024;

export class PortableDirectory implements Directory {
  readonly #path: Buffer;
  readonly #parent: PortableDirectory | undefined;
  readonly #identity: Identity;

  private constructor(path: Buffer, parent: PortableDirectory | undefined, found: BigIntStats) {
    if (!found.isDirectory()) throw systemError('ENOTDIR', `not a directory: ${path.toString()}`);
    this.#path = path;
    this.#parent = parent;
    this.#identity = found;
  }

  static open(path: string): PortableDirectory {
    return new PortableDirectory(Buffer.from(resolve(path)), undefined, statSync(path, { bigint: true }));
  }

  openDirectory(name: Name): PortableDirectory {
    const path = this.#at(name);
    const directory = new PortableDirectory(path, this, lstatSync(path, { bigint: true }));
    directory.#verify();
    return directory;
  }

  async unlock(): Promise<void> {
    const { mode } = this.#verify();
    if ((mode & 0o700n) !== 0o700n) await this.#unlock(Number(mode));
  }

  async list(): Promise<Listing> {
    await this.unlock();
    const { size } = this.#verify();
    const entries = await readdir(this.#path, LISTED);
    this.#verify();
    return { entries, isSmall: size <= SMALL_DIRECTORY_BYTES };
  }

  async stat(name: Name): Promise<BigIntStats> {
    const found = await lstat(this.#at(name), { bigint: true });
    this.#verify();
    return found;
  }

  statNow(name: Name): BigIntStats {
    const found = lstatSync(this.#at(name), { bigint: true });
    this.#verify();
    return found;
  }

  openFile(name: Name): Promise<FileHandle> {
    return this.#open(name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  }

  createFile(name: Name, mode: number): Promise<FileHandle> {
    return this.#open(name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode);
  }

  async writeFile(name: Name, mode: number, content: string | Buffer): Promise<void> {
    const file = await this.createFile(name, mode);
    try {
      await file.writeFile(content);
    } catch (error) {
      await this.unlink(name).catch(() => undefined);
      throw error;
    } finally {
      await file.close();
    }
  }

  async copyFile(name: Name, source: string | FileHandle, mode?: number): Promise<void> {
    const from = typeof source === 'string' ? await open(source) : source;
    try {
      const into = await this.createFile(name, 0o600);
      try {
        await copyContent(from, into);
        await into.chmod(mode ?? (await from.stat()).mode & 0o777);
      } catch (error) {
        await this.unlink(name).catch(() => undefined);
        throw error;
      } finally {
        await into.close();
      }
    } finally {
      if (from !== source) await from.close();
    }
  }

  setModified(name: Name, atMs: number): Promise<void> {
    return this.#change(() => lutimesSync(this.#at(name), atMs / 1000, atMs / 1000));
  }

  makeDirectory(name: Name): Promise<void> {
    return this.#change(() => mkdirSync(this.#at(name)));
  }

  rename(name: Name, to: PortableDirectory, newName: Name): Promise<void> {
    to.#verify();
    return this.#change(() => renameSync(this.#at(name), to.#at(newName)));
  }

  async moveOut(name: Name): Promise<void> {
    throw systemError('ENOTSUP', `${this.#at(name).toString()} might be replaced before it is moved`);
  }

  unlink(name: Name): Promise<void> {
    const path = this.#at(name);
    return this.#change(() => {
      try {
        unlinkSync(path);
      } catch (error) {
        if (codeOf(error) !== 'EPERM' || !lstatSync(path).isFile()) throw error;
        // Windows removes no read-only file.
        chmodSync(path, 0o600);
        unlinkSync(path);
      }
    });
  }

  removeDirectory(name: Name): Promise<void> {
    return this.#change(() => rmdirSync(this.#at(name)));
  }

  close(): void {
    // Nothing is open.
  }

  #at(name: Name): Buffer {
    checkName(name);
    return Buffer.concat([this.#path, Buffer.from(sep), Buffer.from(name)]);
  }

  async #change(step: () => void): Promise<void> {
    this.#verify();
    step();
    this.#verify();
  }

  async #open(name: Name, flags: number, mode?: number): Promise<FileHandle> {
    this.#verify();
    const path = this.#at(name);
    const file = await open(path, flags, mode);
    try {
      const opened = await file.stat({ bigint: true });
      for (let look = 1; look <= LOOKS; look++) {
        this.#verify();
        const found = lstatSync(path, { bigint: true });
        if (!isSame(found, opened))
          throw systemError('ESTALE', `there is another file at ${path.toString()} now`);
      }
      this.#verify();
      return file;
    } catch (error) {
      await file.close();
      throw error;
    }
  }

  async #unlock(mode: number): Promise<void> {
    try {
      // By its descriptor where it can be opened; an unreadable folder has only its path.
      const file = await this.#openSelf();
      if (!file) return await chmod(this.#path, (mode & 0o7777) | 0o700);
      try {
        if (isSame(await file.stat({ bigint: true }), this.#identity))
          await file.chmod((mode & 0o7777) | 0o700);
      } finally {
        await file.close();
      }
    } catch {
      // It belongs to another user: reading it shows whether it is readable.
    }
  }

  async #openSelf(): Promise<FileHandle | undefined> {
    try {
      return await open(this.#path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    } catch {
      this.#verify();
      return undefined;
    }
  }

  /** Throws unless this directory, and each one above it, is still the one that was opened. */
  #verify(): BigIntStats {
    if (this.#parent) this.#parent.#verify();
    // The top one is a folder of the agent, to which a link may lead.
    const look = this.#parent ? lstatSync : statSync;
    const found = look(this.#path, { bigint: true });
    if (found.isDirectory() && isSame(found, this.#identity)) return found;
    throw systemError('ESTALE', `there is another directory at ${this.#path.toString()} now`);
  }
}

type Identity = Pick<BigIntStats, 'dev' | 'ino'>;

function isSame(a: Identity, b: Identity): boolean {
  return a.dev === b.dev && a.ino === b.ino;
}

async function copyContent(from: FileHandle, into: FileHandle): Promise<void> {
  const buffer = Buffer.allocUnsafe(COPY_BYTES);
  for (let position = 0; ; ) {
    const { bytesRead } = await from.read(buffer, 0, COPY_BYTES, position);
    if (bytesRead === 0) return;
    position += bytesRead;
    for (let done = 0; done < bytesRead; )
      done += (await into.write(buffer, done, bytesRead - done)).bytesWritten;
  }
}
