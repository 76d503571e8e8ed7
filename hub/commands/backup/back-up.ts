/**
 * Backup of a hub's data into one file, while the hub runs. The tasks are those of one point in time. Every blob that they
 * refer to exists at that time, and gets a hard link before the hub could remove it.
 */
import { randomUUID } from 'node:crypto';
import { link, mkdir, mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { sizeInWords } from '@workbench-hub/shared/domain/size-in-words';
import { buildInfo } from '@workbench-hub/shared/runtime/build-info';
import { isThere } from '@workbench-hub/shared/runtime/is-there';
import { PRIVATE_FOLDER_MODE } from '@workbench-hub/shared/runtime/private-files';
import { StartRefused } from '@workbench-hub/shared/runtime/run-program';
import type { Clock } from '@workbench-hub/shared/runtime/runtime';
import { auditFolderOf } from '../../audit/audit-folder.js';
import type { HubConfig } from '../../config.js';
import { KEY_FILES } from '../../core/ports/key-files.js';
import type { ReferencedBlob, StoreFiles } from '../../core/ports/store-maintenance.js';
import { BACKUP_LINKS, backupFoldersIn } from '../../data-folder.js';
import { areEncryptedKnown, encryptedFilesIn, pathsOf } from '../../files/blob-files.js';
import { isElsewhere } from '../../files/inspect-place.js';
import { storeMaintenance } from '../../store/open-store.js';
import { type ArchiveWriter, createArchive } from '../../tar/tar-writer.js';
import { existingStorageKey } from '../existing-storage-key.js';
import { AUDIT_FOLDER, BLOBS_FOLDER, isAuditEntry, MANIFEST, manifestText } from './layout.js';
import { Progress } from './progress.js';

export interface BackupOptions {
  readonly config: HubConfig;
  readonly file: string;
  readonly overwrite: boolean;
  /** Include the audit log. */
  readonly audit: boolean;
  /** Continue when blobs are missing. */
  readonly incomplete: boolean;
  readonly clock: Clock;
  /** Shows a line of progress. */
  readonly tell: (line: string) => void;
}

export interface MadeBackup {
  readonly blobs: number;
  readonly blobBytes: number;
  readonly sizeBytes: number;
  readonly missing: readonly string[];
}

interface Pinned {
  readonly name: string;
  readonly path: string;
  readonly sizeBytes: number;
}

/** A missing blob may have been removed with its task after the snapshot; a newer snapshot tells. */
const MAX_SNAPSHOTS = 3;

/** Rejects with {@link StartRefused}, leaving nothing behind, when the backup cannot be made. */
export async function backUp(options: BackupOptions): Promise<MadeBackup> {
  const { config, overwrite } = options;
  const store = storeMaintenance(config);
  const files = store.files();
  const file = resolve(options.file);
  if (!overwrite && (await isThere(file))) {
    throw new StartRefused(`${file} is there already: choose another name, or use --overwrite`);
  }
  if (!(await store.hasTasks())) {
    throw new StartRefused(
      `there is no hub in ${resolve(config.dataDir)}: name its configuration with --config, or its folder as dataDir`,
    );
  }
  await removeOldPins(config.dataDir, options.clock);
  const temporary = join(dirname(file), `.${basename(file)}.${randomUUID()}`);
  const copies = `${temporary}.databases`;
  const pins = await mkdtemp(join(config.dataDir, BACKUP_LINKS));
  try {
    await makeBeside(file, copies);
    const { pinned, missing } = await copyAndPin(files, { ...options, copies, pins });
    const archive = await createArchive(file, temporary, { overwrite });
    try {
      const databases = store.databases.map((name) => ({ name, path: join(copies, name) }));
      await write(archive, { ...options, databases, pinned, missing });
    } finally {
      await archive.abandon();
    }
    return {
      blobs: pinned.length,
      blobBytes: sum(pinned),
      sizeBytes: (await stat(file)).size,
      missing,
    };
  } finally {
    await rm(copies, { recursive: true, force: true });
    await rm(pins, { recursive: true, force: true });
  }
}

/** Rejects with {@link StartRefused} when the folder of the backup cannot be written. */
async function makeBeside(file: string, copies: string): Promise<void> {
  try {
    await mkdir(copies, { mode: PRIVATE_FOLDER_MODE });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const why = code === 'ENOENT' ? 'there is no such folder' : `this user cannot write there (${code})`;
    throw new StartRefused(`${dirname(file)}: ${why}: choose another for the backup, or make it`, {
      cause: error,
    });
  }
}

interface Folders {
  readonly copies: string;
  readonly pins: string;
}

/** Copies the databases and pins the blobs that the copied tasks refer to. */
async function copyAndPin(
  files: StoreFiles,
  options: BackupOptions & Folders,
): Promise<{ pinned: Pinned[]; missing: string[] }> {
  const { config, copies, clock, tell } = options;
  const isAway = await isElsewhere(config.storage, join(config.dataDir, BLOBS_FOLDER));
  for (let snapshots = 1; ; snapshots++) {
    const snapshot = files.snapshot();
    try {
      const referenced = isAway ? [] : snapshot.referencedBlobs();
      const { pinned, missing } = await pin(referenced, options);
      if (missing.length > 0 && snapshots < MAX_SNAPSHOTS) continue;
      if (missing.length > 0 && !options.incomplete) {
        throw new StartRefused(
          `${missing.length} blobs that tasks refer to are missing, such as ${missing[0]}, so the backup would be ` +
            'incomplete: see "workbench-hub doctor", or back up the rest with --incomplete',
        );
      }
      let progress: Progress | undefined;
      await snapshot.copyTo(copies, (copied, left) => {
        progress ??= new Progress(copied + left, clock, (line) => tell(`databases: ${line}`));
        progress.reached(copied);
      });
      return { pinned, missing };
    } finally {
      snapshot.close();
    }
  }
}

/** Links every referenced blob, and all encrypted ones, since only the key tells which of them are referenced. */
async function pin(
  referenced: readonly ReferencedBlob[],
  { config, pins }: BackupOptions & Folders,
): Promise<{ pinned: Pinned[]; missing: string[] }> {
  const folder = join(config.dataDir, BLOBS_FOLDER);
  const pinned = new Map<string, Pinned>();
  const pinOne = async (name: string): Promise<boolean> => {
    if (pinned.has(name)) return true;
    const path = join(pins, name.replace('/', '-'));
    try {
      await link(join(folder, name), path);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'ENOENT') return false;
      // Pinned for an earlier snapshot.
      if (code !== 'EEXIST') throw error;
    }
    pinned.set(name, { name: `${BLOBS_FOLDER}/${name}`, path, sizeBytes: (await stat(path)).size });
    return true;
  };

  const encrypted = referenced.filter((blob) => blob.encrypted);
  if (encrypted.length > 0) for (const name of await encryptedFilesIn(folder)) await pinOne(name);
  const key = encrypted.length > 0 ? await existingStorageKey(config, config.dataDir) : null;
  const isKeyRight = encrypted.length > 0 && (await areEncryptedKnown(folder, key));
  const missing: string[] = [];
  for (const blob of referenced) {
    let isPinned = blob.encrypted && !isKeyRight;
    for (const name of pathsOf(blob, key)) isPinned ||= await pinOne(name);
    if (!isPinned) missing.push(pathsOf(blob, key)[0] as string);
  }
  return { pinned: [...pinned.values()].sort((a, b) => (a.name < b.name ? -1 : 1)), missing };
}

async function write(
  archive: ArchiveWriter,
  {
    config,
    databases,
    pinned,
    missing,
    audit,
    clock,
    tell,
  }: BackupOptions & {
    readonly databases: readonly NamedPath[];
    readonly pinned: readonly Pinned[];
    readonly missing: readonly string[];
  },
): Promise<void> {
  const others = await existing([
    ...KEY_FILES.map((name) => ({ name, path: join(config.dataDir, name) })),
    ...(audit ? await auditFiles(config) : []),
  ]);
  const blobBytes = sum(pinned);
  const databaseBytes = sum(await existing(databases));
  const progress = new Progress(blobBytes + databaseBytes + sum(others), clock, tell);
  await archive.addText(
    MANIFEST,
    manifestText({
      hubVersion: buildInfo.version,
      createdAt: new Date(clock.nowMs()).toISOString(),
      contents: pinned.length,
      contentBytes: blobBytes,
      missing: [...missing],
    }),
  );
  for (const { name, path } of [...databases, ...others, ...pinned]) {
    await archive.addFile(name, path, (bytes) => progress.add(bytes));
  }
  await archive.finish();
  if (blobBytes > 0) tell(`${sizeInWords(blobBytes)} in ${pinned.length} blobs`);
}

/** A file and its name in the backup. */
interface NamedPath {
  readonly name: string;
  readonly path: string;
}

async function auditFiles(config: HubConfig): Promise<NamedPath[]> {
  const folder = auditFolderOf(config.dataDir);
  const names = await readdir(folder).catch(() => []);
  return names
    .map((name) => ({ name: `${AUDIT_FOLDER}/${name}`, path: join(folder, name) }))
    .filter(({ name }) => isAuditEntry(name))
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

/** Removes the links of a killed backup, which keep removed blobs on the disk. */
async function removeOldPins(dataDir: string, clock: Clock): Promise<void> {
  for (const path of await backupFoldersIn(dataDir)) {
    if ((await stat(path)).mtimeMs < clock.nowMs() - OLD_BACKUP_LINKS_MS) await rm(path, { recursive: true });
  }
}

function sum(files: readonly { sizeBytes: number }[]): number {
  return files.reduce((bytes, { sizeBytes }) => bytes + sizeBytes, 0);
}
