/** Files of blobs in a folder: `<first two digits>/<name>`. A file has its name only when it is complete and durable: it is
 *  renamed when it is synced, and its folder is synced then. The time of its last change tells its age. */
import { basename, dirname, join } from 'node:path';
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import { SYNC_EVERY_BYTES, writeStream } from '@workbench-hub/shared/runtime/write-stream';
import type { UnusedFile } from '../core/ports/blob-catalogue.js';
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

/** Folder of files whose removal is under way, as `<name>~<time>~<id>`. Who looks for one of them takes it back. */
const LEAVING = 'leaving';

/** Age of what a removal that was interrupted has left. */
const LEFT_AGE_MS = 60_000;

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
    const before = basename(path) === name ? await disk.stat(path) : undefined;
    const copy = await this.#copied(path, copiesIn);
    await inTurn(() => this.#giveName(copy, name));
    // A file that has changed is the new one: its path leads into this folder by another mount.
    if (before && (await disk.stat(path)).mtimeMs !== before.mtimeMs) return;
    await disk.remove(path);
  }

  async renew(name: string): Promise<boolean> {
    return (await this.#renewed(name)) || ((await this.#takeBack(name)) && this.#renewed(name));
  }

  async find(name: string): Promise<FoundFile | undefined> {
    const { disk } = this.#options;
    const path = this.pathOf(name);
    if (!(await this.renew(name))) return undefined;
    const info = await disk.stat(path).catch(absent(undefined));
    if (!info) return undefined;
    return { sizeBytes: info.size, read: (start, end) => disk.read(path, start, end) };
  }

  async open(name: string): Promise<OpenFile | undefined> {
    const open = () => openDiskFile(this.#options.disk, this.pathOf(name));
    return (await open()) ?? ((await this.#takeBack(name)) ? open() : undefined);
  }

  async remove(files: readonly (string | UnusedFile)[]): Promise<void> {
    const { disk } = this.#options;
    const folders = new Set<string>();
    for (const file of files) {
      const path = this.pathOf(typeof file === 'string' ? file : file.name);
      if ((await disk.stat(path).catch(absent(undefined))) === undefined) continue;
      if (typeof file === 'string') await disk.remove(path);
      else await this.#removeUnused(file);
      folders.add(dirname(path));
    }
    for (const folder of folders) await disk.syncFolder(folder);
  }

  /** A file whose removal a killed hub has begun is there, too. */
  async usedAtMs(name: string): Promise<number | undefined> {
    const { disk } = this.#options;
    const atMs = async () => (await disk.stat(this.pathOf(name)).catch(absent(undefined)))?.mtimeMs;
    return (await atMs()) ?? ((await this.#takeBack(name)) ? atMs() : undefined);
  }

  forgetUses(): void {
    // Each use is noted.
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
    await this.#takeBackLeft();
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

  async #renewed(name: string): Promise<boolean> {
    const { disk, runtime } = this.#options;
    const info = await disk.stat(this.pathOf(name)).catch(absent(undefined));
    if (!info) return false;
    const nowMs = runtime.clock.nowMs();
    const isClose = info.mtimeMs >= nowMs && info.mtimeMs < nowMs + 1000;
    const atS = (isClose ? info.mtimeMs + 1 : nowMs) / 1000;
    return disk.utimes(this.pathOf(name), atS, atS).then(() => true, absent(false));
  }

  /** The file has no name while its time is looked at, so that nobody uses it unnoticed in between. */
  async #removeUnused({ name, usedAtMs }: UnusedFile): Promise<void> {
    const { disk, runtime } = this.#options;
    await disk.makeFolder(this.#leaving);
    const leaving = join(this.#leaving, `${name}~${runtime.clock.nowMs()}~${runtime.newId()}`);
    const isSetAside = await disk.rename(this.pathOf(name), leaving).then(() => true, absent(false));
    if (!isSetAside) return;
    const info = await disk.stat(leaving).catch(absent(undefined));
    // Without one, somebody has taken it back.
    if (!info) return;
    if (info.mtimeMs === usedAtMs) await disk.remove(leaving);
    else await this.#giveBack(leaving, name);
  }

  /** Takes a file back whose removal is under way; true if it, or another one, has the name now. */
  async #takeBack(name: string): Promise<boolean> {
    const { disk } = this.#options;
    const entries = (await this.#listLeaving()).filter((entry) => entry.startsWith(`${name}~`));
    for (const entry of entries) await this.#giveBack(join(this.#leaving, entry), name);
    if (entries.length > 0) await disk.syncFolder(dirname(this.pathOf(name)));
    return (await disk.stat(this.pathOf(name)).catch(absent(undefined))) !== undefined;
  }

  /** Takes back what removals that were interrupted have left. */
  async #takeBackLeft(): Promise<void> {
    const { runtime } = this.#options;
    for (const entry of await this.#listLeaving()) {
      const [name = '', setAsideAtMs] = entry.split('~');
      if (Number(setAsideAtMs) >= runtime.clock.nowMs() - LEFT_AGE_MS) continue;
      await this.#giveBack(join(this.#leaving, entry), name);
    }
  }

  /** Its time is a new one: another file may have had the name meanwhile. */
  async #giveBack(path: string, name: string): Promise<void> {
    await this.#options.disk.rename(path, this.pathOf(name)).catch(absent(undefined));
    await this.#renewed(name);
  }

  #listLeaving(): Promise<string[]> {
    return this.#options.disk.list(this.#leaving).catch(absent<string[]>([]));
  }

  get #leaving(): string {
    return join(this.#options.folder, LEAVING);
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
