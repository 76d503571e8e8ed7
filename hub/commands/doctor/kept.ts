/** What the hub keeps: both databases, and every content that they name. */
import { createHash } from 'node:crypto';
import { createReadStream, existsSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { StartRefused } from '@workbench-hub/shared/runtime/run-program';
import { accountsFileOf, type HubConfig, tasksFileOf } from '../../config.js';
import { contentName } from '../../files/content-name.js';
import { findSealed, sealedSize } from '../../files/encrypted.js';
import { storageKey } from '../../security/storage-key.js';
import {
  damagedSmallFiles,
  inspectDatabase,
  type NamedFile,
  namedFilesOf,
  tasksNaming,
} from '../../store/sqlite/snapshot.js';
import { CONTENTS_FOLDER } from '../backup/layout.js';
import { sizeText } from '../backup/progress.js';
import { type Finding, fault, ok } from './finding.js';

const RESTORE = 'restore a backup ("workbench-hub restore FILE --replace")';

/** So many are told of. */
const TOLD = 5;

/** `deep`: every index and every byte. */
export async function lookAtWhatIsKept(config: HubConfig, deep: boolean): Promise<Finding[]> {
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
    ? damagedSmallFiles(file).map((digest) => ({ digest, why: 'in the database is damaged' }))
    : [];
  const named = namedFilesOf(file);
  const key = deep && named.some(({ encrypted }) => encrypted) ? await keyOf(config) : null;
  let bytes = 0;
  for (const content of named) {
    const why = await whatIsWrong(join(config.dataDir, CONTENTS_FOLDER, contentName(content)), content, {
      deep,
      key,
    });
    if (why !== undefined) wrong.push({ digest: content.digest, why });
    bytes += content.sizeBytes;
  }
  if (wrong.length === 0) {
    const unread = deep && key === null && named.some(({ encrypted }) => encrypted);
    const whole = unread ? '; without the key, encrypted ones were not read' : deep ? ' and whole' : '';
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

/** Null, and then encrypted contents are not read, when it cannot be used; that has a finding of its own. */
async function keyOf(config: HubConfig): Promise<Buffer | null> {
  // Asking for one that is not there would make it.
  if (config.storage.encryptionKey === null && !existsSync(join(config.dataDir, 'storage-key'))) return null;
  try {
    return await storageKey(config.storage.encryptionKey, config.dataDir);
  } catch (error) {
    if (error instanceof StartRefused) return null;
    throw error;
  }
}

/** Undefined: nothing. */
async function whatIsWrong(
  path: string,
  { digest, sizeBytes, encrypted }: NamedFile,
  { deep, key }: { readonly deep: boolean; readonly key: Buffer | null },
): Promise<string | undefined> {
  const info = await stat(path).catch(() => undefined);
  if (!info) return 'is missing';
  const expected = encrypted ? sealedSize(sizeBytes) : sizeBytes;
  if (info.size !== expected) return `has ${info.size} bytes instead of ${expected}`;
  if (!deep || (encrypted && key === null)) return undefined;
  const hash = createHash('sha256');
  try {
    const sealed = encrypted && key ? await findSealed(path, digest, key) : undefined;
    const content = sealed ? sealed.open() : createReadStream(path);
    for await (const piece of content) hash.update(piece as Buffer);
  } catch (error) {
    return `cannot be read: ${(error as Error).message}`;
  }
  return hash.digest('hex') === digest ? undefined : 'is damaged';
}
