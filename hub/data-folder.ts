/** The data folder as a whole: its preparation at a start, and the marks that restore and backup leave in it. */
import { mkdir, readdir, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import {
  openToOthers,
  openToOthersText,
  PRIVATE_FOLDER_MODE,
} from '@workbench-hub/shared/runtime/private-files';
import { StartRefused } from '@workbench-hub/shared/runtime/run-program';
import type { Clock } from '@workbench-hub/shared/runtime/runtime';

/** File that exists while a restore changes dataDir. */
export const RESTORE_UNDER_WAY = 'restore-under-way';

/** Creates the folder if need be. Rejects with {@link StartRefused} after an interrupted restore. */
export async function prepareDataFolder(dataDir: string, log: Logger): Promise<void> {
  await mkdir(dataDir, { recursive: true, mode: PRIVATE_FOLDER_MODE });
  const open = await openToOthers(dataDir);
  if (open.length > 0) {
    const { message, advice } = openToOthersText(dataDir, open);
    log.warn(`${message}: ${advice}`);
  }
  await refuseHalfRestored(dataDir);
}

async function refuseHalfRestored(dataDir: string): Promise<void> {
  const isHalf = await stat(join(dataDir, RESTORE_UNDER_WAY)).then(
    () => true,
    () => false,
  );
  if (!isHalf) return;
  throw new StartRefused(
    `a restore was interrupted in ${resolve(dataDir)}: repeat it with "workbench-hub restore FILE --replace"`,
  );
}

/** Name prefix of the folder in which a backup links the blobs that it includes. */
export const BACKUP_LINKS = '.backup-links-';

/** Link of a blob in such a folder. */
const LINK = /^([0-9a-f]{2})-\1[0-9a-f]{62}(?:\.enc|\.sealed)?$/;

/** Folders that a command makes in dataDir by `mkdtemp`, and leaves there when it is killed. */
export interface CommandFolders {
  readonly prefix: string;
  /** Prefix of earlier versions, which files of the operator may have, too. */
  readonly formerPrefix: string;
  /** Whether the command puts an entry of this name into its folder. */
  readonly isPart: (name: string) => boolean;
}

/** Paths of these folders. Nothing else counts: dataDir may have files of the operator. */
export async function commandFoldersIn(
  dataDir: string,
  { prefix, formerPrefix, isPart }: CommandFolders,
): Promise<string[]> {
  const isMadeWith = (name: string, begin: string) =>
    name.startsWith(begin) && /^[0-9A-Za-z]{6}$/.test(name.slice(begin.length));
  const found: string[] = [];
  for (const entry of await readdir(dataDir, { withFileTypes: true })) {
    if (!entry.isDirectory()) continue;
    const path = join(dataDir, entry.name);
    if (isMadeWith(entry.name, prefix)) found.push(path);
    else if (isMadeWith(entry.name, formerPrefix)) {
      const parts = await readdir(path).catch(() => []);
      if (parts.length > 0 && parts.every(isPart)) found.push(path);
    }
  }
  return found;
}

/** Paths of the folders of backups that run or were killed. */
export function backupFoldersIn(dataDir: string): Promise<string[]> {
  const isPart = (name: string) => LINK.test(name);
  return commandFoldersIn(dataDir, { prefix: BACKUP_LINKS, formerPrefix: 'backup-', isPart });
}

/** After this time without a new link, a backup has linked everything or was killed. */
const LINKING_MS = 60_000;

/** True while a backup may still link blobs that were referred to when it began. */
export async function isBackupLinking(dataDir: string, clock: Clock): Promise<boolean> {
  for (const folder of await backupFoldersIn(dataDir)) {
    const linkedAtMs = await stat(folder).then(
      ({ mtimeMs }) => mtimeMs,
      () => 0,
    );
    if (Math.abs(clock.nowMs() - linkedAtMs) < LINKING_MS) return true;
  }
  return false;
}
