/** Files of blobs in a folder: `<first two digits>/<name>`. A file has its name only when it is complete and durable: it is
 *  renamed when it is synced, and its folder is synced then. The time of its last change tells its age. */
import { dirname, join } from 'node:path';
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import { SYNC_EVERY_BYTES, writeStream } from '@workbench-hub/shared/runtime/write-stream';
import { absent, type BlobDisk } from './blob-disk.js';
import { folderOfName, isFormerEncryptedName, KeyedNames } from './blob-names.js';
import { type BlobPlace, type FoundFile, type InTurn, type OpenFile, REMAINS_AGE_MS } from './blob-place.js';
import { openDiskFile } from './disk-file.js';
import { storageFull } from './disk-full.js';
import { isEncryptedWith } from './encrypted.js';
import { touchFile } from './touch-file.js';

export interface FolderPlaceOptions {
  readonly folder: string;
  readonly disk: BlobDisk;
  readonly runtime: Pick<Runtime, 'clock' | 'newId'>;
  /** Folder on the same file system into which files are copied before they get their names, for a place on another file system
   *  than the files that it is given. Null to rename these. */
  readonly copiesIn: string | null;
}

export class FolderPlace implements BlobPlace {
  readonly #options: FolderPlaceOptions;

  constructor(options: FolderPlaceOptions) {
    this.#options = options;
  }

  /** Creates the folders, renames encrypted files with former names, and makes the names of all files durable. */
  static async open(options: FolderPlaceOptions, key: Buffer): Promise<FolderPlace> {
    const { folder, disk, copiesIn } = options;
    await disk.makeFolder(folder);
    if (copiesIn !== null) await disk.makeFolder(copiesIn);
    const place = new FolderPlace(options);
    await place.#renameFormer(key);
    // A killed process may leave the name of a whole file unsynced.
    for (const prefix of await place.#prefixes()) await disk.syncFolder(join(folder, prefix));
    await disk.syncFolder(folder);
    await disk.syncFolder(dirname(folder));
    return place;
  }

  async put(name: string, path: string, inTurn: InTurn): Promise<void> {
    const { disk, copiesIn } = this.#options;
    if (copiesIn === null) return inTurn(() => this.#giveName(path, name));
    const copy = await this.#copied(path, copiesIn);
    await inTurn(() => this.#giveName(copy, name));
    await disk.remove(path);
  }

  async renew(name: string): Promise<boolean> {
    const { disk, runtime } = this.#options;
    const nowS = runtime.clock.nowMs() / 1000;
    return disk.utimes(this.pathOf(name), nowS, nowS).then(() => true, absent(false));
  }

  async find(name: string): Promise<FoundFile | undefined> {
    const { disk } = this.#options;
    const path = this.pathOf(name);
    const info = await disk.stat(path).catch(absent(undefined));
    if (!info || !(await this.renew(name))) return undefined;
    return { sizeBytes: info.size, read: (start, end) => disk.read(path, start, end) };
  }

  open(name: string): Promise<OpenFile | undefined> {
    return openDiskFile(this.#options.disk, this.pathOf(name));
  }

  async remove(names: readonly string[]): Promise<void> {
    const { disk } = this.#options;
    const folders = new Set<string>();
    for (const name of names) {
      const path = this.pathOf(name);
      if ((await disk.stat(path).catch(absent(undefined))) === undefined) continue;
      await disk.remove(path);
      folders.add(dirname(path));
    }
    for (const folder of folders) await disk.syncFolder(folder);
  }

  async *names(): AsyncGenerator<readonly string[]> {
    const { folder, disk } = this.#options;
    for (const prefix of await this.#prefixes()) yield await disk.list(join(folder, prefix));
  }

  /** A modification time in the future, from a clock that was ahead, counts as now. */
  async isOld(name: string, beforeMs: number): Promise<boolean> {
    const { disk, runtime } = this.#options;
    const info = await disk.stat(this.pathOf(name)).catch(absent(undefined));
    if (!info) return false;
    if (info.mtimeMs > runtime.clock.nowMs()) await this.renew(name);
    return info.mtimeMs < beforeMs;
  }

  async removeRemains(): Promise<number> {
    const { disk, runtime, copiesIn } = this.#options;
    if (copiesIn === null) return 0;
    let removed = 0;
    for (const name of await disk.list(copiesIn)) {
      const path = join(copiesIn, name);
      const info = await disk.stat(path).catch(absent(undefined));
      if (!info || info.mtimeMs >= runtime.clock.nowMs() - REMAINS_AGE_MS) continue;
      await disk.remove(path);
      removed++;
    }
    return removed;
  }

  pathOf(name: string): string {
    return join(this.#options.folder, folderOfName(name), name);
  }

  /** Folders of files. */
  async #prefixes(): Promise<string[]> {
    const { folder, disk } = this.#options;
    return (await disk.list(folder)).filter((name) => /^[0-9a-f]{2}$/.test(name));
  }

  /** Durably names a complete and synced file. */
  async #giveName(path: string, name: string): Promise<void> {
    const { folder, disk } = this.#options;
    const parent = join(folder, folderOfName(name));
    await disk.makeFolder(parent);
    await disk.rename(path, this.pathOf(name));
    await disk.syncFolder(parent);
    await disk.syncFolder(folder);
  }

  async #copied(path: string, folder: string): Promise<string> {
    const { disk, runtime } = this.#options;
    const copy = join(folder, runtime.newId());
    try {
      const { size } = await disk.stat(path);
      const file = await disk.open(copy, 'wx');
      try {
        const content = disk.read(path, 0, size) as AsyncIterable<Buffer>;
        if (size > 0)
          await writeStream(file, content, { onChunk: () => undefined, syncEveryBytes: SYNC_EVERY_BYTES });
        await touchFile(file, runtime.clock);
        await file.sync();
      } finally {
        await file.close();
      }
      return copy;
    } catch (error) {
      await disk.remove(copy);
      throw storageFull(error);
    }
  }

  async #renameFormer(key: Buffer): Promise<void> {
    const { folder, disk } = this.#options;
    const names = new KeyedNames(key);
    for (const prefix of await this.#prefixes()) {
      const former = (await disk.list(join(folder, prefix))).filter(isFormerEncryptedName);
      for (const name of former) {
        // A file that this key cannot read keeps the name by which it is found and reported.
        if (!(await isEncryptedWith(key, () => this.open(name)))) continue;
        await this.#giveName(this.pathOf(name), names.nameOf(name.slice(0, 64)));
      }
      if (former.length > 0) await disk.syncFolder(join(folder, prefix));
    }
  }
}
