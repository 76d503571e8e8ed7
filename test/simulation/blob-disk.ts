/** The disk with the blobs of the simulated hub. Written data survives the end of the process; synced data, and at random
 *  more, survives a power failure. */
import { dirname } from 'node:path';
import { Readable } from 'node:stream';
import type { BlobDisk, BlobFile } from '@workbench-hub/hub/files/blob-disk';
import { piecesOf } from './agent-disk.js';
import type { Process } from './process.js';
import type { World } from './world.js';

interface Inode {
  isFolder: boolean;
  written: Buffer;
  synced: Buffer;
  mtimeMs: number;
}

/** Longest time of a step that waits for the disk. */
const SLOW_MS = 4;

export class SimulatedBlobDisk {
  /** Whether every write fails. */
  isFull: () => boolean = () => false;
  readonly #world: World;
  /** Inodes by path, as a process sees them. */
  #names = new Map<string, Inode>();
  /** Inodes by path that certainly survive a power failure. */
  #syncedNames = new Map<string, Inode>();

  constructor(world: World) {
    this.#world = world;
    for (const names of [this.#names, this.#syncedNames]) names.set('/', { ...emptyAt(0), isFolder: true });
  }

  /** The names of all files, without their folders. */
  files(): string[] {
    return [...this.#names]
      .filter(([, { isFolder }]) => !isFolder)
      .map(([path]) => path.slice(dirname(path).length + 1));
  }

  losePower(): void {
    const survivors = new Map<string, Inode>();
    for (const path of [...new Set([...this.#syncedNames.keys(), ...this.#names.keys()])].sort()) {
      const [now, synced] = [this.#names.get(path), this.#syncedNames.get(path)];
      const inode = now === synced || this.#world.happens(0.5) ? now : synced;
      const isInFolder = path === '/' || survivors.has(dirname(path));
      if (inode && isInFolder) survivors.set(path, inode);
    }
    for (const inode of new Set(survivors.values())) {
      if (inode.written !== inode.synced && this.#world.happens(0.5)) {
        // The length is on the disk, and the data is not.
        const lost = Buffer.alloc(Math.max(inode.written.length - inode.synced.length, 0));
        inode.written = Buffer.concat([inode.synced, lost]);
      }
      inode.synced = inode.written;
    }
    this.#names = survivors;
    this.#syncedNames = new Map(survivors);
  }

  /** The disk as this process uses it: nothing happens after its end. */
  of(process: Process): BlobDisk {
    const slowly = () => process.wait(this.#world.between(0, SLOW_MS));
    const at = async (path: string): Promise<Inode> => {
      await alive(process);
      const inode = this.#names.get(path);
      if (!inode) throw missing(path);
      return inode;
    };
    const nowMs = () => process.runtime.clock.nowMs();
    return {
      makeFolder: async (path) => {
        await alive(process);
        for (let folder = path; folder !== '/'; folder = dirname(folder)) {
          if (!this.#names.has(folder)) this.#names.set(folder, { ...emptyAt(nowMs()), isFolder: true });
        }
      },
      list: async (folder) => {
        await at(folder);
        return [...this.#names.keys()]
          .filter((path) => path !== '/' && dirname(path) === folder)
          .map((path) => path.slice(folder.length + 1));
      },
      open: async (path, flags) => {
        await alive(process);
        if (flags !== 'r' && !this.#names.has(path)) this.#names.set(path, emptyAt(nowMs()));
        return this.#fileOf(await at(path), process);
      },
      stat: async (path) => {
        const { written, mtimeMs } = await at(path);
        return { size: written.length, mtimeMs };
      },
      utimes: async (path, _, modifiedS) => {
        (await at(path)).mtimeMs = modifiedS * 1000;
      },
      rename: async (from, to) => {
        await slowly();
        const inode = await at(from);
        this.#names.delete(from);
        this.#names.set(to, inode);
      },
      remove: async (path) => {
        await slowly();
        this.#names.delete(path);
      },
      syncFolder: async (folder) => {
        await at(folder);
        await slowly();
        for (const path of new Set([...this.#names.keys(), ...this.#syncedNames.keys()])) {
          if (path === '/' || dirname(path) !== folder) continue;
          const inode = this.#names.get(path);
          if (inode) this.#syncedNames.set(path, inode);
          else this.#syncedNames.delete(path);
        }
      },
      read: (path, start, end) => {
        const pieces = async function* () {
          const { written } = await at(path);
          yield* piecesOf(written.subarray(start, end));
        };
        return Readable.from(pieces());
      },
      freeBytes: async () => 1e9,
    };
  }

  #fileOf(inode: Inode, process: Process): BlobFile {
    const write = async (bytes: Buffer, position: number): Promise<void> => {
      await alive(process);
      if (this.isFull())
        throw Object.assign(new Error('ENOSPC: simulated'), { code: 'ENOSPC', syscall: 'write' });
      const end = inode.written.subarray(position + bytes.length);
      inode.written = Buffer.concat([inode.written.subarray(0, position), bytes, end]);
    };
    const sync = async () => {
      const { written } = inode;
      await process.wait(this.#world.between(0, SLOW_MS));
      inode.synced = written;
    };
    return {
      read: async (into, offset, length, position) => {
        await alive(process);
        return { bytesRead: inode.written.copy(into, offset, position, position + length) };
      },
      write: (bytes, offset, length, position) => write(bytes.subarray(offset, offset + length), position),
      writev: async (pieces) => {
        const bytes = Buffer.concat(pieces);
        await write(bytes, inode.written.length);
        return { bytesWritten: bytes.length };
      },
      truncate: async (sizeBytes) => {
        await alive(process);
        inode.written = inode.written.subarray(0, sizeBytes);
      },
      utimes: async (_, modifiedS) => {
        await alive(process);
        inode.mtimeMs = modifiedS * 1000;
      },
      stat: async () => ({ size: inode.written.length }),
      datasync: sync,
      sync,
      close: () => Promise.resolve(),
    };
  }
}

function emptyAt(mtimeMs: number): Inode {
  return { isFolder: false, written: Buffer.alloc(0), synced: Buffer.alloc(0), mtimeMs };
}

/** Never resolves for a process that has ended. */
async function alive(process: Process): Promise<void> {
  if (!process.alive) await new Promise(() => undefined);
}

function missing(path: string): Error {
  return Object.assign(new Error(`ENOENT: ${path}`), { code: 'ENOENT' });
}
