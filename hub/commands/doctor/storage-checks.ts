/** What the hub keeps: both databases, and every content that they name. */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { StartRefused } from '@workbench-hub/shared/runtime/run-program';
import { accountsFileOf, type HubConfig, tasksFileOf } from '../../config.js';
import { systemDisk } from '../../files/blob-disk.js';
import { pathsOf } from '../../files/blob-files.js';
import { anotherKey, encryptedSize, findEncrypted } from '../../files/encrypted.js';
import { fileOfAnotherKey } from '../../files/encrypted-blobs.js';
import {
  damagedInlineBlobs,
  inspectDatabase,
  type NamedFile,
  namedFilesOf,
  tasksNaming,
} from '../../store/sqlite/snapshot.js';
import { CONTENTS_FOLDER } from '../backup/layout.js';
import { sizeText } from '../backup/progress.js';
import { existingStorageKey } from '../existing-storage-key.js';
import { type Finding, fault, ok } from './finding.js';

const RESTORE = 'restore a backup ("workbench-hub restore FILE --replace")';

/** So many are told of. */
const TOLD = 5;

/** `deep`: every index and every byte. */
export async function checkStorage(config: HubConfig, deep: boolean): Promise<Finding[]> {
  const findings = [
    databaseFinding('database of tasks', tasksFileOf(config), 'TASKS', deep),
    databaseFinding('database of users', accountsFileOf(config), 'ACCOUNTS', deep),
  ];
  if (findings[0]?.state === 'OK') findings.push(await contentFinding(config, deep));
  return findings;
}

function databaseFinding(check: string, file: string, kind: 'TASKS' | 'ACCOUNTS', deep: boolean): Finding {
  try {
    const { faults, schemaVersion, knownVersion } = inspectDatabase(file, kind, { quick: !deep });
    if (faults.length > 0) return fault(check, `${file} is damaged: ${faults.join('; ')}`, RESTORE);
    if (schemaVersion > knownVersion) {
      return fault(
        check,
        `${file} has schema version ${schemaVersion}, this hub knows up to ${knownVersion}`,
        'install the newer hub that wrote it, or restore a backup of before',
      );
    }
    const version =
      schemaVersion < knownVersion ? `, brought to version ${knownVersion} at the next start` : '';
    return ok(check, `whole, schema version ${schemaVersion}${version}`);
  } catch (error) {
    if (!(error instanceof StartRefused)) throw error;
    return fault(check, error.message, RESTORE);
  }
}

async function contentFinding(config: HubConfig, deep: boolean): Promise<Finding> {
  const check = 'contents';
  const file = tasksFileOf(config);
  const wrong: { readonly digest: string; readonly why: string }[] = deep
    ? damagedInlineBlobs(file).map((digest) => ({ digest, why: 'in the database is damaged' }))
    : [];
  const named = namedFilesOf(file);
  const hasEncrypted = named.some(({ encrypted }) => encrypted);
  const key = hasEncrypted ? await existingStorageKey(config, config.dataDir) : null;
  const folder = join(config.dataDir, CONTENTS_FOLDER);
  let bytes = 0;
  for (const content of named) {
    bytes += content.sizeBytes;
    // Without the key nobody knows which file it is; the key has a finding of its own.
    if (content.encrypted && key === null) continue;
    const why = await whatIsWrong(folder, content, { deep, key });
    if (why !== undefined) wrong.push({ digest: content.digest, why });
  }
  if (wrong.length === 0) {
    const unread = key === null && hasEncrypted;
    const whole = unread ? '; without the key, encrypted ones were not looked for' : deep ? ' and whole' : '';
    return ok(check, `all ${named.length} files of ${sizeText(bytes)} are there${whole}`);
  }
  const told = wrong.slice(0, TOLD).map(({ digest, why }) => {
    const tasks = tasksNaming(file, digest, TOLD);
    return `${digest} ${why}${tasks.length > 0 ? ` (task ${tasks.join(', ')})` : ''}`;
  });
  return fault(
    check,
    `${wrong.length} contents are not as they should be: ${told.join('; ')}`,
    `${RESTORE}, or upload the files anew and hand the tasks in again`,
  );
}

/** Undefined: nothing. */
async function whatIsWrong(
  folder: string,
  content: NamedFile,
  { deep, key }: { readonly deep: boolean; readonly key: Buffer | null },
): Promise<string | undefined> {
  const { digest, sizeBytes, encrypted } = content;
  const found = await fileOf(folder, content, key);
  if (!found) {
    const foreign = encrypted && key ? await fileOfAnotherKey(folder, key, systemDisk) : undefined;
    return foreign === undefined ? 'is missing' : `cannot be read: ${anotherKey(foreign).message}`;
  }
  const { path, size } = found;
  const expected = encrypted ? encryptedSize(sizeBytes) : sizeBytes;
  if (size !== expected) return `has ${size} bytes instead of ${expected}`;
  if (!deep) return undefined;
  const hash = createHash('sha256');
  try {
    const sealed = encrypted && key ? await findEncrypted(path, digest, key) : undefined;
    const content = sealed ? sealed.open() : createReadStream(path);
    for await (const piece of content) hash.update(piece as Buffer);
  } catch (error) {
    return `cannot be read: ${(error as Error).message}`;
  }
  return hash.digest('hex') === digest ? undefined : 'is damaged';
}

async function fileOf(
  folder: string,
  content: NamedFile,
  key: Buffer | null,
): Promise<{ readonly path: string; readonly size: number } | undefined> {
  for (const name of pathsOf(content, key)) {
    const path = join(folder, name);
    const info = await stat(path).catch(() => undefined);
    if (info) return { path, size: info.size };
  }
  return undefined;
}
