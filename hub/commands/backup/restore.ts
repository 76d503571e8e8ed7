/**
 * Puts a backup into dataDir. Everything is unpacked beside what is there and checked first; then the parts change places
 * by renaming, the former ones going into a folder of their own. A hub does not start in between.
 */
import { mkdir, mkdtemp, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { PRIVATE_FOLDER_MODE } from '@workbench-hub/shared/runtime/private-files';
import { StartRefused } from '@workbench-hub/shared/runtime/run-program';
import type { Clock } from '@workbench-hub/shared/runtime/runtime';
import { unpackArchive } from '../../archive/archive-reader.js';
import { type HubConfig, tasksFileOf } from '../../config.js';
import { RESTORE_UNDER_WAY } from '../../data-folder.js';
import { areEncryptedKnown, pathsOf } from '../../files/blob-files.js';
import { clearDigestOfPath } from '../../files/blob-names.js';
import { syncFolder } from '../../files/sync-folder.js';
import { watermarkFileOf } from '../../store/sqlite/commit-watermark.js';
import { lockDatabase } from '../../store/sqlite/database.js';
import { inspectDatabase, namedFilesOf, tasksByStatus } from '../../store/sqlite/snapshot.js';
import { existingStorageKey } from '../existing-storage-key.js';
import {
  ACCOUNTS_DATABASE,
  CONTENTS_FOLDER,
  isEntry,
  MANIFEST,
  type Manifest,
  parseManifest,
  RESTORED,
  TASKS_DATABASE,
} from './layout.js';
import { Progress } from './progress.js';

export interface RestoreOptions {
  readonly config: HubConfig;
  readonly file: string;
  /** Also where data of a hub is already. */
  readonly replace: boolean;
  readonly clock: Clock;
  readonly tell: (line: string) => void;
}

export interface Restored {
  readonly manifest: Manifest;
  readonly tasks: Readonly<Record<string, number>>;
  /** Where the former data is; null when there was none. */
  readonly former: string | null;
}

const FRESH = 'restore-';

/** Rejects with {@link StartRefused}, having changed nothing, when it cannot be restored. */
export async function restore(options: RestoreOptions): Promise<Restored> {
  const { config, file, replace, clock } = options;
  const { dataDir } = config;
  const { size } = await stat(file).catch((error: NodeJS.ErrnoException) => {
    throw new StartRefused(`${file} cannot be read (${error.code})`);
  });
  await mkdir(dataDir, { recursive: true, mode: PRIVATE_FOLDER_MODE });
  const lock = lockDatabase(tasksFileOf(config));
  try {
    const there = await thereOf(dataDir);
    if (there.length > 0 && !replace) {
      throw new StartRefused(
        `there is data of a hub in ${resolve(dataDir)} (${there.join(', ')}): --replace puts it into a folder of its own and ` +
          'the backup in its place',
      );
    }
    await removeLeftOvers(dataDir);
    const fresh = await mkdtemp(join(dataDir, FRESH));
    try {
      const manifest = await unpackChecked(fresh, size, options);
      const tasks = tasksByStatus(join(fresh, TASKS_DATABASE));
      const former = await changePlaces(dataDir, fresh, clock.nowMs());
      return { manifest, tasks, former };
    } finally {
      await rm(fresh, { recursive: true, force: true });
    }
  } finally {
    lock.release();
  }
}

/** Unpacks and checks all of it; gives its manifest. */
async function unpackChecked(
  fresh: string,
  sizeBytes: number,
  { config, file, clock, tell }: RestoreOptions,
): Promise<Manifest> {
  const refuse = (why: string) => new StartRefused(`${file} cannot be restored: ${why}; nothing was changed`);
  const progress = new Progress(sizeBytes, clock, tell);
  let manifest: Manifest | undefined;
  const digests = await unpackArchive(file, fresh, {
    firstName: MANIFEST,
    isKnown: isEntry,
    onFirst: (text) => {
      manifest = parseManifest(text);
      if (!manifest) throw refuse('it is no backup, or one of a newer hub');
    },
    onProgress: (readBytes) => progress.reached(readBytes),
  });
  if (!manifest) throw refuse('it is no backup of a hub');
  for (const [name, kind] of [
    [TASKS_DATABASE, 'TASKS'],
    [ACCOUNTS_DATABASE, 'ACCOUNTS'],
  ] as const) {
    if (!digests.has(name)) throw refuse(`it holds no ${name}`);
    const { faults, schemaVersion, knownVersion } = inspectDatabase(join(fresh, name), kind, {
      quick: false,
    });
    if (faults.length > 0) throw refuse(`${name} in it is damaged: ${faults.join('; ')}`);
    if (schemaVersion > knownVersion) {
      throw refuse(
        `${name} in it has schema version ${schemaVersion}, this hub knows up to ${knownVersion}: install a newer hub ` +
          `(the backup was made by ${manifest.hubVersion})`,
      );
    }
  }
  for (const [name, digest] of digests) {
    const promised = clearDigestOfPath(name.slice(CONTENTS_FOLDER.length + 1));
    if (promised !== undefined && promised !== digest) throw refuse(`${name} in it is damaged`);
  }
  const lacking = await lackingContent(fresh, config, new Set([...digests.keys(), ...manifest.missing]));
  if (lacking !== undefined) throw refuse(`the content ${lacking}, which a task names, is not in it`);
  // What the look at the databases has left beside them.
  for (const name of await readdir(fresh)) if (/-(wal|shm)$/.test(name)) await rm(join(fresh, name));
  return manifest;
}

/** A content that the tasks name and that is not there; undefined when there is none, as far as can be told: without the key of
 *  encrypted contents, nobody knows which files they are. */
async function lackingContent(
  fresh: string,
  config: HubConfig,
  there: ReadonlySet<string>,
): Promise<string | undefined> {
  const named = namedFilesOf(join(fresh, TASKS_DATABASE));
  const hasEncrypted = named.some(({ encrypted }) => encrypted);
  const key = hasEncrypted ? await existingStorageKey(config, fresh) : null;
  const isTold = hasEncrypted && (await areEncryptedKnown(join(fresh, CONTENTS_FOLDER), key));
  for (const content of named) {
    if (content.encrypted && !isTold) continue;
    const paths = pathsOf(content, key);
    if (!paths.some((path) => there.has(`${CONTENTS_FOLDER}/${path}`) || there.has(path))) return paths[0];
  }
  return undefined;
}

/** Data of a hub that is in dataDir. */
async function thereOf(dataDir: string): Promise<string[]> {
  const names = new Set(await readdir(dataDir));
  return [...RESTORED, RESTORE_UNDER_WAY].filter((name) => names.has(name));
}

/** Gives the folder of what was there, or null. The audit log stays where it is unless the backup has one. */
async function changePlaces(dataDir: string, fresh: string, nowMs: number): Promise<string | null> {
  const underWay = join(dataDir, RESTORE_UNDER_WAY);
  for (const folder of await foldersIn(fresh)) await syncFolder(folder);
  await writeFile(underWay, '', { mode: 0o600, flush: true });
  await syncFolder(dataDir);
  const parts = await readdir(fresh);
  const leaving = new Set(
    [...RESTORED, ...parts].flatMap((name) => [name, `${name}-wal`, `${name}-shm`, watermarkFileOf(name)]),
  );
  const there = (await readdir(dataDir)).filter((name) => leaving.has(name));
  const former = there.length === 0 ? null : join(dataDir, `replaced-${stampOf(nowMs)}`);
  if (former !== null) {
    await mkdir(former, { mode: 0o700 });
    for (const name of there) await rename(join(dataDir, name), join(former, name));
    await syncFolder(former);
  }
  for (const name of parts) await rename(join(fresh, name), join(dataDir, name));
  await syncFolder(dataDir);
  await rm(underWay);
  await syncFolder(dataDir);
  return former;
}

/** Of a restore that was cut off. */
async function removeLeftOvers(dataDir: string): Promise<void> {
  for (const entry of await readdir(dataDir, { withFileTypes: true })) {
    if (entry.isDirectory() && entry.name.startsWith(FRESH)) {
      await rm(join(dataDir, entry.name), { recursive: true });
    }
  }
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
