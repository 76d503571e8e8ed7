/** Checks of the folders and files that a program writes. */
import { constants, type Stats } from 'node:fs';
import { access, readdir, stat, statfs } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { sizeInWords } from '../domain/size-in-words.js';
import { openToOthers, openToOthersText } from '../runtime/private-files.js';
import { type Finding, fault, ok, warning } from './finding.js';

const LITTLE_SPACE = 0.05;
const LITTLE_INODES = 0.05;

export interface DataFolder {
  readonly dataDir: string;
  /** Owner of the folder. */
  readonly program: 'hub' | 'agent';
  /** Free bytes below which the disk is full. */
  readonly fullBelowBytes: number;
  /** Remedies for lack of space. */
  readonly spaceAdvice: string;
}

/** Undefined when the folder does not exist. `isUsable` is false when this user can neither read nor write it. */
export async function checkDataFolder({
  dataDir,
  program,
  fullBelowBytes,
  spaceAdvice,
}: DataFolder): Promise<{ readonly findings: Finding[]; readonly isUsable: boolean } | undefined> {
  const check = 'dataDir';
  const path = resolve(dataDir);
  const info = await stat(dataDir).catch(() => undefined);
  if (!info?.isDirectory()) return undefined;
  try {
    await access(dataDir, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch {
    const advice = `run this as the user of the ${program}, or correct the permissions`;
    return { findings: [fault(check, `this user cannot read and write ${path}`, advice)], isUsable: false };
  }
  const findings = [
    ok(check, `this user can read and write ${path}`),
    await ownersOf(dataDir, program),
    await permissionsOf(dataDir),
    ...(await spaceIn(dataDir, fullBelowBytes, spaceAdvice)),
  ];
  return { findings, isUsable: true };
}

/** Fault of a path that a program could not create or write. `kind` is what must be there. */
export async function checkWritable(
  check: string,
  path: string,
  kind: 'file' | 'folder',
  program: 'hub' | 'agent',
): Promise<Finding[]> {
  const info = await statOf(path);
  if (info === undefined) return checkWritableFolder(check, dirname(path), program);
  if (info.isDirectory() !== (kind === 'folder'))
    return [fault(check, `${path} is ${info.isDirectory() ? 'a folder' : 'not a folder'}`, CORRECT_PATH)];
  return (await isWritable(path, info.isDirectory())) ? [] : [unwritable(check, path, program)];
}

const CORRECT_PATH = 'correct the path';

/** A fault when the folder, or the nearest one above it that exists, cannot be written. */
async function checkWritableFolder(
  check: string,
  folder: string,
  program: 'hub' | 'agent',
): Promise<Finding[]> {
  const info = await statOf(folder);
  if (info === undefined && dirname(folder) !== folder)
    return checkWritableFolder(check, dirname(folder), program);
  if (!info?.isDirectory()) return [fault(check, `${folder} is not a folder`, CORRECT_PATH)];
  return (await isWritable(folder, true)) ? [] : [unwritable(check, folder, program)];
}

function statOf(path: string): Promise<Stats | undefined> {
  return stat(path).catch(() => undefined);
}

function isWritable(path: string, isFolder: boolean): Promise<boolean> {
  return access(path, isFolder ? constants.W_OK | constants.X_OK : constants.W_OK).then(
    () => true,
    () => false,
  );
}

function unwritable(check: string, path: string, program: 'hub' | 'agent'): Finding {
  return fault(
    check,
    `this user cannot write ${path}`,
    `correct its permissions, or run this as the user of the ${program}`,
  );
}

/** Finds files of other users, such as a command left that was run as root. */
async function ownersOf(dataDir: string, program: 'hub' | 'agent'): Promise<Finding> {
  const { uid } = await stat(dataDir);
  const foreign: string[] = [];
  for (const name of await readdir(dataDir)) {
    const info = await statOf(join(dataDir, name));
    if (info && info.uid !== uid) foreign.push(name);
  }
  if (foreign.length === 0) return ok('owners', 'everything belongs to the owner of dataDir');
  const path = resolve(dataDir);
  return fault(
    'owners',
    `${foreign.join(', ')} in ${path} belong to another user than the folder`,
    `run "chown -R $(stat -c %u:%g ${path}) ${path}", if the folder belongs to the user of the ${program}`,
  );
}

async function permissionsOf(dataDir: string): Promise<Finding> {
  const open = await openToOthers(dataDir);
  if (open.length === 0) return ok('permissions', 'no other user has access to dataDir');
  const { message, advice } = openToOthersText(resolve(dataDir), open);
  return warning('permissions', message, advice);
}

async function spaceIn(dataDir: string, fullBelowBytes: number, advice: string): Promise<Finding[]> {
  const { bsize, blocks, bavail, files, ffree } = await statfs(dataDir);
  const [free, size] = [bsize * bavail, bsize * blocks];
  const space = `${sizeInWords(free)} of ${sizeInWords(size)} free`;
  const findings: Finding[] = [];
  if (free < fullBelowBytes) findings.push(fault('disk space', `only ${space}`, advice));
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
