/** Checks of dataDir: access, owners, permissions, free space, and what fills it. */
import { constants } from 'node:fs';
import { access, readdir, stat, statfs } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { openToOthers, openToOthersText } from '@workbench-hub/shared/runtime/private-files';
import type { HubConfig } from '../../config.js';
import { RESTORE_UNDER_WAY } from '../../data-folder.js';
import { storeMaintenance } from '../../store/open-store.js';
import { KEY_FILES } from '../backup/layout.js';
import { sizeText } from '../backup/progress.js';
import { type Finding, fault, ok, warning } from './finding.js';

const LITTLE_SPACE = 0.05;
const LITTLE_INODES = 0.05;
const MUCH_LOG_BYTES = 1024 ** 3;

/** Undefined when the folder does not exist. */
export async function checkDataFolder({ dataDir, health }: HubConfig): Promise<Finding[] | undefined> {
  const check = 'dataDir';
  const path = resolve(dataDir);
  const info = await stat(dataDir).catch(() => undefined);
  if (!info?.isDirectory()) return undefined;
  const findings: Finding[] = [];
  try {
    await access(dataDir, constants.R_OK | constants.W_OK | constants.X_OK);
    findings.push(ok(check, `this user can read and write ${path}`));
  } catch {
    findings.push(
      fault(
        check,
        `this user cannot read and write ${path}`,
        'run this as the user of the hub, or correct the permissions',
      ),
    );
    return findings;
  }
  findings.push(...(await ownersOf(dataDir)));
  findings.push(await permissionsOf(dataDir));
  findings.push(...(await spaceIn(dataDir, health.diskSpaceThreshold)));
  findings.push(...(await keysIn(dataDir)));
  findings.push(...(await leftOversIn(dataDir)));
  return findings;
}

/** Finds files of other users, such as a command left that was run as root. */
async function ownersOf(dataDir: string): Promise<Finding[]> {
  const { uid } = await stat(dataDir);
  const foreign: string[] = [];
  for (const name of await readdir(dataDir)) {
    const info = await stat(join(dataDir, name)).catch(() => undefined);
    if (info && info.uid !== uid) foreign.push(name);
  }
  if (foreign.length === 0) return [ok('owners', 'everything belongs to the owner of dataDir')];
  return [
    fault(
      'owners',
      `${foreign.join(', ')} in ${resolve(dataDir)} belong to another user than the folder`,
      `run "chown -R $(stat -c %u:%g ${resolve(dataDir)}) ${resolve(dataDir)}", if the folder belongs to the user of the hub`,
    ),
  ];
}

async function permissionsOf(dataDir: string): Promise<Finding> {
  const open = await openToOthers(dataDir);
  if (open.length === 0) return ok('permissions', 'no other user has access to dataDir');
  const { message, advice } = openToOthersText(resolve(dataDir), open);
  return warning('permissions', message, advice);
}

async function spaceIn(dataDir: string, thresholdBytes: number): Promise<Finding[]> {
  const { bsize, blocks, bavail, files, ffree } = await statfs(dataDir);
  const [free, size] = [bsize * bavail, bsize * blocks];
  const space = `${sizeText(free)} of ${sizeText(size)} free`;
  const advice = 'free space: shorten tasks.keepEndedFor and storage.….expireAfter, or use a larger disk';
  const findings: Finding[] = [];
  if (free < thresholdBytes) findings.push(fault('disk space', `only ${space}`, advice));
  else if (free < LITTLE_SPACE * size) findings.push(warning('disk space', `only ${space}`, advice));
  else findings.push(ok('disk space', space));
  // Some file systems have no fixed number of inodes.
  if (files > 0 && ffree < LITTLE_INODES * files) {
    const inodes = `only ${ffree} of ${files} inodes free`;
    findings.push(
      (ffree === 0 ? fault : warning)('inodes', inodes, 'remove files, or use a file system with more'),
    );
  } else
    findings.push(ok('inodes', files > 0 ? `${ffree} of ${files} free` : 'not limited by the file system'));
  return findings;
}

async function keysIn(dataDir: string): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const name of [...KEY_FILES, ...storeMaintenance(dataDir).databases]) {
    const path = join(resolve(dataDir), name);
    const info = await stat(path).catch(() => undefined);
    if (!info) continue;
    const mode = (info.mode & 0o777).toString(8);
    if ((info.mode & 0o077) === 0) findings.push(ok('keys', `only the owner can read ${name}`));
    else {
      findings.push(
        fault('keys', `${path} can be read by other users (mode ${mode})`, `run "chmod 600 ${path}"`),
      );
    }
  }
  return findings;
}

async function leftOversIn(dataDir: string): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const name of await readdir(dataDir)) {
    const path = join(resolve(dataDir), name);
    if (name === RESTORE_UNDER_WAY) {
      findings.push(
        fault('restore', 'a restore was interrupted, and the hub does not start', 'repeat it with --replace'),
      );
    } else if (/^replaced-/.test(name)) {
      const size = sizeText(await bytesIn(path));
      findings.push(
        warning(
          'restore',
          `${path} holds ${size} from before a restore`,
          'remove it when the restore is satisfactory',
        ),
      );
    } else if (/^backup-/.test(name)) {
      findings.push(
        warning(
          'backup',
          `${path} belongs to a backup that runs or was killed`,
          'remove it when no backup runs',
        ),
      );
    }
  }
  for (const [name, what] of [
    ['logs', 'log'],
    ['audit', 'audit log'],
    [join('files', 'incoming'), 'folder of incoming blobs'],
  ] as const) {
    const bytes = await bytesIn(join(dataDir, name));
    const message = `the ${what} takes ${sizeText(bytes)}`;
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
