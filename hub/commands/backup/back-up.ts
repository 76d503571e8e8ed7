/**
 * Makes one file of all that a hub keeps, while the hub runs. The tasks are those of one moment. Every content that they
 * name is there at that moment, and gets a second name (a hard link) before the hub could sweep it.
 */
import { randomUUID } from 'node:crypto';
import { link, mkdir, mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { buildInfo } from '@workbench-hub/shared/runtime/build-info';
import { StartRefused } from '@workbench-hub/shared/runtime/run-program';
import type { Clock } from '@workbench-hub/shared/runtime/runtime';
import { type ArchiveWriter, createArchive } from '../../archive/archive-writer.js';
import { auditFolderOf } from '../../audit/audit-folder.js';
import { accountsFileOf, type HubConfig, tasksFileOf } from '../../config.js';
import { BACKUP_LINKS } from '../../data-folder.js';
import { areEncryptedKnown, encryptedFilesIn, pathsOf } from '../../files/blob-files.js';
import { type NamedFile, openSnapshot } from '../../store/sqlite/snapshot.js';
import { existingStorageKey } from '../existing-storage-key.js';
import {
  ACCOUNTS_DATABASE,
  AUDIT_FOLDER,
  CONTENTS_FOLDER,
  isEntry,
  KEY_FILES,
  MANIFEST,
  manifestText,
  TASKS_DATABASE,
} from './layout.js';
import { Progress, sizeText } from './progress.js';

export interface BackupOptions {
  readonly config: HubConfig;
  readonly file: string;
  readonly overwrite: boolean;
  /** The audit log, too. */
  readonly audit: boolean;
  /** Go on although contents are missing. */
  readonly incomplete: boolean;
  readonly clock: Clock;
  /** Tells the operator how far it is. */
  readonly tell: (line: string) => void;
}

export interface MadeBackup {
  readonly contents: number;
  readonly contentBytes: number;
  readonly sizeBytes: number;
  readonly missing: readonly string[];
}

interface Pinned {
  readonly name: string;
  readonly path: string;
  readonly sizeBytes: number;
}

/** A content that is not there may have been swept with its task after the look at the tasks: another look tells. */
const LOOKS = 3;

/** Rejects with {@link StartRefused}, having left nothing behind, when it cannot be made. */
export async function backUp(options: BackupOptions): Promise<MadeBackup> {
  const { config, overwrite } = options;
  const file = resolve(options.file);
  if (!overwrite && (await isThere(file))) {
    throw new StartRefused(`${file} is there already: give another name, or --overwrite`);
  }
  if (!(await isThere(tasksFileOf(config)))) {
    throw new StartRefused(
      `there is no hub in ${resolve(config.dataDir)}: name its configuration with --config, or its folder as dataDir`,
    );
  }
  await removeOldPins(config.dataDir, options.clock);
  const temporary = join(dirname(file), `.${basename(file)}.${randomUUID()}`);
  const copies = `${temporary}.databases`;
  const pins = await mkdtemp(join(config.dataDir, BACKUP_LINKS));
  try {
    await mkdir(copies, { mode: 0o700 });
    const { pinned, missing } = await copyAndPin({ ...options, copies, pins });
    const archive = await createArchive(file, temporary, { overwrite });
    try {
      await write(archive, { ...options, copies, pinned, missing });
    } finally {
      await archive.abandon();
    }
    const contentBytes = sum(pinned);
    return { contents: pinned.length, contentBytes, sizeBytes: (await stat(file)).size, missing };
  } finally {
    await rm(copies, { recursive: true, force: true });
    await rm(pins, { recursive: true, force: true });
  }
}

interface Places {
  readonly copies: string;
  readonly pins: string;
}

/** Copies both databases and pins what the tasks in the copy name. */
async function copyAndPin(options: BackupOptions & Places): Promise<{ pinned: Pinned[]; missing: string[] }> {
  const { config, copies, clock, tell } = options;
  for (let look = 1; ; look++) {
    const snapshot = openSnapshot(tasksFileOf(config));
    try {
      const { pinned, missing } = await pin(snapshot.namedFiles(), options);
      if (missing.length > 0 && look < LOOKS) continue;
      if (missing.length > 0 && !options.incomplete) {
        throw new StartRefused(
          `${missing.length} contents that tasks name are missing, such as ${missing[0]}, so that the backup would be ` +
            'incomplete: "workbench-hub doctor" tells more, --incomplete backs up the rest',
        );
      }
      let progress: Progress | undefined;
      await snapshot.copyTo(join(copies, TASKS_DATABASE), (copied, left) => {
        progress ??= new Progress(copied + left, clock, (line) => tell(`databases: ${line}`));
        progress.reached(copied);
      });
      const accounts = openSnapshot(accountsFileOf(config));
      try {
        await accounts.copyTo(join(copies, ACCOUNTS_DATABASE), () => undefined);
      } finally {
        accounts.close();
      }
      return { pinned, missing };
    } finally {
      snapshot.close();
    }
  }
}

/** Links every named content, and all encrypted ones, since without their key nobody knows which of them are named. */
async function pin(
  named: readonly NamedFile[],
  { config, pins }: BackupOptions & Places,
): Promise<{ pinned: Pinned[]; missing: string[] }> {
  const folder = join(config.dataDir, CONTENTS_FOLDER);
  const pinned = new Map<string, Pinned>();
  const pinOne = async (name: string): Promise<boolean> => {
    if (pinned.has(name)) return true;
    const path = join(pins, name.replace('/', '-'));
    try {
      await link(join(folder, name), path);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'ENOENT') return false;
      // An earlier look has pinned it.
      if (code !== 'EEXIST') throw error;
    }
    pinned.set(name, { name: `${CONTENTS_FOLDER}/${name}`, path, sizeBytes: (await stat(path)).size });
    return true;
  };

  const encrypted = named.filter((content) => content.encrypted);
  if (encrypted.length > 0) for (const name of await encryptedFilesIn(folder)) await pinOne(name);
  const key = encrypted.length > 0 ? await existingStorageKey(config, config.dataDir) : null;
  const isTold = encrypted.length > 0 && (await areEncryptedKnown(folder, key));
  const missing: string[] = [];
  for (const content of named) {
    let isThere = content.encrypted && !isTold;
    for (const name of pathsOf(content, key)) isThere ||= await pinOne(name);
    if (!isThere) missing.push(pathsOf(content, key)[0] as string);
  }
  return { pinned: [...pinned.values()].sort((a, b) => (a.name < b.name ? -1 : 1)), missing };
}

async function write(
  archive: ArchiveWriter,
  {
    config,
    copies,
    pinned,
    missing,
    audit,
    clock,
    tell,
  }: BackupOptions & { copies: string; pinned: readonly Pinned[]; missing: readonly string[] },
): Promise<void> {
  const databases = [TASKS_DATABASE, ACCOUNTS_DATABASE].map((name) => ({ name, path: join(copies, name) }));
  const others = await existing([
    ...KEY_FILES.map((name) => ({ name, path: join(config.dataDir, name) })),
    ...(audit ? await auditFiles(config) : []),
  ]);
  const contentBytes = sum(pinned);
  const databaseBytes = sum(await existing(databases));
  const progress = new Progress(contentBytes + databaseBytes + sum(others), clock, tell);
  await archive.addText(
    MANIFEST,
    manifestText({
      hubVersion: buildInfo.version,
      createdAt: new Date(clock.nowMs()).toISOString(),
      contents: pinned.length,
      contentBytes,
      missing: [...missing],
    }),
  );
  for (const { name, path } of [...databases, ...others, ...pinned]) {
    await archive.addFile(name, path, (bytes) => progress.add(bytes));
  }
  await archive.finish();
  if (contentBytes > 0) tell(`${sizeText(contentBytes)} in ${pinned.length} contents`);
}

async function auditFiles(config: HubConfig): Promise<{ name: string; path: string }[]> {
  const folder = auditFolderOf(config.dataDir);
  const names = await readdir(folder).catch(() => []);
  return names
    .map((name) => ({ name: `${AUDIT_FOLDER}/${name}`, path: join(folder, name) }))
    .filter(({ name }) => isEntry(name))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

async function existing<File extends { path: string }>(
  files: readonly File[],
): Promise<(File & { sizeBytes: number })[]> {
  const found: (File & { sizeBytes: number })[] = [];
  for (const file of files) {
    const info = await stat(file.path).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined;
      throw error;
    });
    if (info) found.push({ ...file, sizeBytes: info.size });
  }
  return found;
}

const OLD_BACKUP_LINKS_MS = 7 * 86_400_000;

/** A backup that was killed leaves links behind, which keep what is swept on the disk. */
async function removeOldPins(dataDir: string, clock: Clock): Promise<void> {
  for (const name of await readdir(dataDir)) {
    if (!name.startsWith(BACKUP_LINKS)) continue;
    const path = join(dataDir, name);
    if ((await stat(path)).mtimeMs < clock.nowMs() - OLD_BACKUP_LINKS_MS) await rm(path, { recursive: true });
  }
}

async function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

function sum(files: readonly { sizeBytes: number }[]): number {
  return files.reduce((bytes, { sizeBytes }) => bytes + sizeBytes, 0);
}
