/** Checks of the hub's dataDir: access, owners, permissions, free space, keys, and what fills it. */
import { readdir, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { type Finding, fault, faultWithRemedy, ok, warning } from '@workbench-hub/shared/checks/finding';
import { checkDataFolder } from '@workbench-hub/shared/checks/folder-checks';
import { sizeInWords } from '@workbench-hub/shared/domain/size-in-words';
import { StartRefused } from '@workbench-hub/shared/runtime/run-program';
import type { HubConfig } from '../../config.js';
import { KEY_FILES } from '../../core/ports/key-files.js';
import { backupFoldersIn, RESTORE_UNDER_WAY } from '../../data-folder.js';
import { MANIFEST_KEYS_FILE, manifestKeys } from '../../security/manifest-keys.js';
import { UPDATE_KEYS_FILE, updateKeys } from '../../security/update-keys.js';
import { storeMaintenance } from '../../store/open-store.js';
import { restoreFoldersIn } from '../backup/restore.js';

const MUCH_LOG_BYTES = 1024 ** 3;

/** Undefined when the folder does not exist. */
export async function checkHubFolder(config: HubConfig): Promise<Finding[] | undefined> {
  const { dataDir, health } = config;
  const checked = await checkDataFolder({
    dataDir,
    program: 'hub',
    fullBelowBytes: health.diskSpaceThreshold,
    spaceAdvice: 'free space: shorten tasks.keepEndedFor and storage.….expireAfter, or use a larger disk',
  });
  if (!checked?.isUsable) return checked?.findings;
  return [...checked.findings, ...(await keysIn(config)), ...(await leftOversIn(config))];
}

async function keysIn(config: HubConfig): Promise<Finding[]> {
  const { dataDir } = config;
  const findings: Finding[] = [];
  for (const name of [...KEY_FILES, ...storeMaintenance(config).databases]) {
    const path = join(resolve(dataDir), name);
    const info = await stat(path).catch(() => undefined);
    if (!info) continue;
    const mode = (info.mode & 0o777).toString(8);
    if ((info.mode & 0o077) === 0) {
      findings.push(ok('keys', `only the owner can read ${name}`));
      if (name === MANIFEST_KEYS_FILE) findings.push(...(await unusableKeys(manifestKeys(resolve(dataDir)))));
      if (name === UPDATE_KEYS_FILE) findings.push(...(await unusableKeys(updateKeys(resolve(dataDir)))));
    } else {
      findings.push(
        fault('keys', `${path} can be read by other users (mode ${mode})`, `run "chmod 600 ${path}"`),
      );
    }
  }
  return findings;
}

async function unusableKeys(keys: Promise<unknown>): Promise<Finding[]> {
  try {
    await keys;
    return [];
  } catch (error) {
    if (!(error instanceof StartRefused)) throw error;
    return [faultWithRemedy('keys', error.message)];
  }
}

async function leftOversIn(config: HubConfig): Promise<Finding[]> {
  const { dataDir } = config;
  const findings: Finding[] = [];
  for (const name of await readdir(dataDir)) {
    const path = join(resolve(dataDir), name);
    if (name === RESTORE_UNDER_WAY) {
      findings.push(
        fault('restore', 'a restore was interrupted, and the hub does not start', 'repeat it with --replace'),
      );
    } else if (/^replaced-/.test(name)) {
      const size = sizeInWords(await bytesIn(path));
      findings.push(
        warning(
          'restore',
          `${path} holds ${size} from before a restore`,
          'remove it when the restore is satisfactory',
        ),
      );
    }
  }
  for (const path of await backupFoldersIn(resolve(dataDir))) {
    const message = `${path} belongs to a backup that runs or was killed`;
    findings.push(warning('backup', message, 'remove it when no backup runs'));
  }
  for (const path of await restoreFoldersIn(resolve(dataDir), storeMaintenance(config))) {
    const message = `${path} belongs to a restore that runs or was interrupted`;
    findings.push(warning('restore', message, 'remove it when no restore runs'));
  }
  for (const [name, what] of [
    ['logs', 'log'],
    ['audit', 'audit log'],
    [join('files', 'incoming'), 'folder of incoming blobs'],
  ] as const) {
    const bytes = await bytesIn(join(dataDir, name));
    const message = `the ${what} takes ${sizeInWords(bytes)}`;
    // The audit log is bounded by its own settings.
    if (name === 'logs' && bytes > MUCH_LOG_BYTES) {
      findings.push(warning('folders', message, 'rotate it: set log.rotate, or use logrotate with SIGHUP'));
    } else findings.push(ok('folders', message));
  }
  return findings;
}

async function bytesIn(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  let bytes = 0;
  for (const entry of entries) {
    if (!entry.isFile()) continue;
    bytes += (await stat(join(entry.parentPath, entry.name)).catch(() => ({ size: 0 }))).size;
  }
  return bytes;
}
