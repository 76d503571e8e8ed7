/**
 * Restore of a backup into dataDir. Everything is unpacked beside the present data and checked first; then the parts are
 * swapped by renaming, and the former ones moved into a folder of their own. No hub can start in between.
 */
import { mkdir, mkdtemp, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { PRIVATE_FOLDER_MODE } from '@workbench-hub/shared/runtime/private-files';
import { StartRefused } from '@workbench-hub/shared/runtime/run-program';
import type { Clock } from '@workbench-hub/shared/runtime/runtime';
import { syncFolder } from '@workbench-hub/shared/runtime/sync-folder';
import type { HubConfig } from '../../config.js';
import type { StoreMaintenance } from '../../core/ports/store-maintenance.js';
import { commandFoldersIn, RESTORE_UNDER_WAY } from '../../data-folder.js';
import { areEncryptedKnown, pathsOf } from '../../files/blob-files.js';
import { plainDigestOfPath } from '../../files/blob-names.js';
import { isElsewhere } from '../../files/inspect-place.js';
import { storeMaintenance } from '../../store/open-store.js';
import { unpackArchive } from '../../tar/tar-reader.js';
import { existingStorageKey } from '../existing-storage-key.js';
import {
  AUDIT_FOLDER,
  BLOBS_FOLDER,
  isEntry,
  MANIFEST,
  type Manifest,
  parseManifest,
  restoredParts,
} from './layout.js';
import { Progress } from './progress.js';

export interface RestoreOptions {
  readonly config: HubConfig;
  readonly file: string;
  /** Replace the data of a hub in dataDir. */
  readonly replace: boolean;
  readonly clock: Clock;
  readonly tell: (line: string) => void;
}

export interface Restored {
  readonly manifest: Manifest;
  readonly tasks: Readonly<Record<string, number>>;
  /** Folder of the former data; null when there was none. */
  readonly former: string | null;
}

/** Name prefix of the folder into which a restore unpacks. */
const FRESH = '.restore-parts-';

/** Rejects with {@link StartRefused}, having changed nothing, when the backup cannot be restored. */
export async function restore(options: RestoreOptions): Promise<Restored> {
  const { config, file, replace, clock } = options;
  const { dataDir } = config;
  const store = storeMaintenance(config);
  const files = store.files();
  const { size } = await stat(file).catch((error: NodeJS.ErrnoException) => {
    throw new StartRefused(`${file} cannot be read (${error.code})`);
  });
  await mkdir(dataDir, { recursive: true, mode: PRIVATE_FOLDER_MODE });
  const lock = files.lock();
  try {
    const present = await presentParts(dataDir, store);
    if (present.length > 0 && !replace) {
      throw new StartRefused(
        `there is data of a hub in ${resolve(dataDir)} (${present.join(', ')}): --replace moves it into a folder of its own ` +
          'and restores the backup in its place',
      );
    }
    for (const left of await restoreFoldersIn(dataDir, store)) await rm(left, { recursive: true });
    const fresh = await mkdtemp(join(dataDir, FRESH));
    try {
      const unpacked = storeMaintenance({ ...config, dataDir: fresh });
      const manifest = await unpackChecked(fresh, unpacked, size, options);
      const tasks = await unpacked.tasksByStatus();
      const former = await swap(dataDir, fresh, store, clock.nowMs());
      return { manifest, tasks, former };
    } finally {
      await rm(fresh, { recursive: true, force: true });
    }
  } finally {
    lock.release();
  }
}

/** Unpacks and checks the whole backup. */
async function unpackChecked(
  fresh: string,
  store: StoreMaintenance,
  sizeBytes: number,
  { config, file, clock, tell }: RestoreOptions,
): Promise<Manifest> {
  const refuse = (why: string) => new StartRefused(`${file} cannot be restored: ${why}; nothing was changed`);
  const progress = new Progress(sizeBytes, clock, tell);
  let manifest: Manifest | undefined;
  const digests = await unpackArchive(file, fresh, {
    firstName: MANIFEST,
    isKnown: (name) => isEntry(name, store.databases),
    onFirst: (text) => {
      manifest = parseManifest(text);
      if (!manifest) throw refuse('it is no backup, or one of a newer hub');
    },
    onProgress: (readBytes) => progress.reached(readBytes),
  });
  if (!manifest) throw refuse('it is no backup of a hub');
  for (const name of store.databases) if (!digests.has(name)) throw refuse(`it holds no ${name}`);
  const databaseFault = await faultOfDatabases(store, manifest);
  if (databaseFault !== undefined) throw refuse(databaseFault);
  for (const [name, digest] of digests) {
    const promised = plainDigestOfPath(name.slice(BLOBS_FOLDER.length + 1));
    if (promised !== undefined && promised !== digest) throw refuse(`${name} in it is damaged`);
  }
  const lacking = await missingBlob(fresh, store, config, new Set([...digests.keys(), ...manifest.missing]));
  if (lacking !== undefined) throw refuse(`the blob ${lacking}, to which a task refers, is not in it`);
  // Left by the inspection of the databases.
  for (const name of await readdir(fresh)) if (/-(wal|shm)$/.test(name)) await rm(join(fresh, name));
  return manifest;
}

async function faultOfDatabases(
  store: StoreMaintenance,
  { hubVersion }: Manifest,
): Promise<string | undefined> {
  for (const report of await store.inspect({ quick: false })) {
    const name = basename(report.location);
    if ('unreadable' in report) return report.unreadable;
    const { faults, schemaVersion, knownVersion } = report;
    if (faults.length > 0) return `${name} in it is damaged: ${faults.join('; ')}`;
    if (schemaVersion > knownVersion) {
      return (
        `${name} in it has schema version ${schemaVersion}, this hub knows up to ${knownVersion}: install a newer hub ` +
        `(the backup was made by ${hubVersion})`
      );
    }
  }
  return undefined;
}

/** Path of a referenced blob that is missing; undefined when none is. Encrypted blobs cannot be checked without their key. */
async function missingBlob(
  fresh: string,
  store: StoreMaintenance,
  config: HubConfig,
  present: ReadonlySet<string>,
): Promise<string | undefined> {
  if (await isElsewhere(config.storage, join(config.dataDir, BLOBS_FOLDER))) return undefined;
  const referenced = await store.referencedBlobs();
  const hasEncrypted = referenced.some(({ encrypted }) => encrypted);
  const key = hasEncrypted ? await existingStorageKey(config, fresh) : null;
  const isKeyRight = hasEncrypted && (await areEncryptedKnown(join(fresh, BLOBS_FOLDER), key));
  for (const blob of referenced) {
    if (blob.encrypted && !isKeyRight) continue;
    const paths = pathsOf(blob, key);
    if (!paths.some((path) => present.has(`${BLOBS_FOLDER}/${path}`) || present.has(path))) return paths[0];
  }
  return undefined;
}

/** Parts of a hub's data that are in dataDir. */
async function presentParts(dataDir: string, { databases }: StoreMaintenance): Promise<string[]> {
  const names = new Set(await readdir(dataDir));
  return [...restoredParts(databases), RESTORE_UNDER_WAY].filter((name) => names.has(name));
}

/** Replaces the present data; resolves with the folder of the former data, or null. The audit log stays unless the backup
 *  has one. */
async function swap(
  dataDir: string,
  fresh: string,
  store: StoreMaintenance,
  nowMs: number,
): Promise<string | null> {
  const underWay = join(dataDir, RESTORE_UNDER_WAY);
  for (const folder of await foldersIn(fresh)) await syncFolder(folder);
  await writeFile(underWay, '', { mode: 0o600, flush: true });
  await syncFolder(dataDir);
  const parts = await readdir(fresh);
  const { companionsOf } = store.files();
  const leaving = new Set(
    [...restoredParts(store.databases), ...parts].flatMap((name) => [name, ...companionsOf(name)]),
  );
  const present = (await readdir(dataDir)).filter((name) => leaving.has(name));
  const former = present.length === 0 ? null : join(dataDir, `replaced-${stampOf(nowMs)}`);
  if (former !== null) {
    await mkdir(former, { mode: 0o700 });
    for (const name of present) await rename(join(dataDir, name), join(former, name));
    await syncFolder(former);
  }
  for (const name of parts) await rename(join(fresh, name), join(dataDir, name));
  await syncFolder(dataDir);
  await rm(underWay);
  await syncFolder(dataDir);
  return former;
}

/** Paths of the folders of restores that run or were interrupted. */
export function restoreFoldersIn(
  dataDir: string,
  { databases }: Pick<StoreMaintenance, 'databases'>,
): Promise<string[]> {
  const parts = [...restoredParts(databases), AUDIT_FOLDER];
  const isPart = (name: string) =>
    parts.includes(name) || databases.some((database) => name.startsWith(`${database}-`));
  return commandFoldersIn(dataDir, { prefix: FRESH, formerPrefix: 'restore-', isPart });
}

async function foldersIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const folders = entries.filter((entry) => entry.isDirectory());
  return [...folders.map(({ parentPath, name }) => join(parentPath, name)), folder];
}

/** `2026-11-21T06-53-00Z` */
function stampOf(timeMs: number): string {
  return new Date(timeMs)
    .toISOString()
    .replace(/\.\d+Z$/, 'Z')
    .replaceAll(':', '-');
}
