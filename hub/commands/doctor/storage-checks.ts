/** Checks of the databases and of every blob that they refer to. */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type Finding, fault, ok } from '@workbench-hub/shared/checks/finding';
import { sizeInWords } from '@workbench-hub/shared/domain/size-in-words';
import type { HubConfig } from '../../config.js';
import type { DatabaseReport, ReferencedBlob, StoreMaintenance } from '../../core/ports/store-maintenance.js';
import { blobsIn, pathsOf } from '../../files/blob-files.js';
import { anotherKey, encryptedSize, findEncrypted } from '../../files/encrypted.js';
import { fileOfAnotherKey } from '../../files/encrypted-blobs.js';
import { isOnFiles } from '../../store/open-store.js';
import { BLOBS_FOLDER } from '../backup/layout.js';
import { existingStorageKey } from '../existing-storage-key.js';

const RESTORE = 'restore a backup ("workbench-hub restore FILE --replace")';
const RESTORE_ON_SERVER =
  'restore a backup of the database with the tools of PostgreSQL, and the files of dataDir';

/** Blobs, and tasks of each, that a finding names. */
const MAX_NAMED = 5;

/** `deep` checks every index and reads every byte. The first finding is that of the tasks. */
export async function checkStorage(
  config: HubConfig,
  store: StoreMaintenance,
  deep: boolean,
): Promise<Finding[]> {
  const findings = (await store.inspect({ quick: !deep })).map((report) =>
    databaseFinding(report, remedyOf(config)),
  );
  if (findings[0]?.state === 'OK') findings.push(await blobFinding(config, store, deep));
  return findings;
}

function remedyOf(config: HubConfig): string {
  return isOnFiles(config) ? RESTORE : RESTORE_ON_SERVER;
}

function databaseFinding(report: DatabaseReport, remedy: string): Finding {
  const { title: check, location } = report;
  if ('unreadable' in report) return fault(check, report.unreadable, remedy);
  const { faults, schemaVersion, knownVersion } = report;
  if (faults.length > 0) return fault(check, `${location} is damaged: ${faults.join('; ')}`, remedy);
  if (schemaVersion > knownVersion) {
    return fault(
      check,
      `${location} has schema version ${schemaVersion}, this hub knows up to ${knownVersion}`,
      'install the newer hub that wrote it, or restore an older backup',
    );
  }
  const version = schemaVersion < knownVersion ? `, to be migrated to ${knownVersion} at the next start` : '';
  return ok(check, `whole, schema version ${schemaVersion}${version}`);
}

interface WrongBlob {
  readonly digest: string;
  readonly why: string;
}

async function blobFinding(config: HubConfig, store: StoreMaintenance, deep: boolean): Promise<Finding> {
  const check = 'blobs';
  const wrong: WrongBlob[] = deep
    ? (await store.damagedInlineBlobs()).map((digest) => ({ digest, why: 'in the database is damaged' }))
    : [];
  const referenced = await store.referencedBlobs();
  const hasEncrypted = referenced.some(({ encrypted }) => encrypted);
  const key = hasEncrypted ? await existingStorageKey(config, config.dataDir) : null;
  const folder = join(config.dataDir, BLOBS_FOLDER);
  let bytes = 0;
  for (const blob of referenced) {
    bytes += blob.sizeBytes;
    // Only the key tells the path; a missing key has its own finding.
    if (blob.encrypted && key === null) continue;
    const why = await faultOfBlob(folder, blob, { deep, key });
    if (why !== undefined) wrong.push({ digest: blob.digest, why });
  }
  if (wrong.length > 0) return await wrongBlobs(store, wrong, remedyOf(config));
  const isUnchecked = key === null && hasEncrypted;
  const whole = isUnchecked
    ? '; encrypted ones were not checked, for lack of the key'
    : deep
      ? ' and whole'
      : '';
  return ok(check, `all ${referenced.length} files of ${sizeInWords(bytes)} are present${whole}`);
}

async function wrongBlobs(
  store: StoreMaintenance,
  wrong: readonly WrongBlob[],
  remedy: string,
): Promise<Finding> {
  const named = wrong.slice(0, MAX_NAMED).map(async ({ digest, why }) => {
    const tasks = await store.tasksReferringTo(digest, MAX_NAMED);
    return `${digest} ${why}${tasks.length > 0 ? ` (task ${tasks.join(', ')})` : ''}`;
  });
  return fault(
    'blobs',
    `${wrong.length} blobs are missing or damaged: ${(await Promise.all(named)).join('; ')}`,
    `${remedy}, or upload the files and create the tasks again`,
  );
}

/** Undefined when the blob is as it should be. */
async function faultOfBlob(
  folder: string,
  blob: ReferencedBlob,
  { deep, key }: { readonly deep: boolean; readonly key: Buffer | null },
): Promise<string | undefined> {
  const { digest, sizeBytes, encrypted } = blob;
  const found = await fileOf(folder, blob, key);
  if (!found) {
    const foreign = encrypted && key ? await fileOfAnotherKey(blobsIn(folder), key) : undefined;
    return foreign === undefined ? 'is missing' : `cannot be read: ${anotherKey(foreign).message}`;
  }
  const { path, size } = found;
  const expected = encrypted ? encryptedSize(sizeBytes) : sizeBytes;
  if (size !== expected) return `has ${size} bytes instead of ${expected}`;
  if (!deep) return undefined;
  const hash = createHash('sha256');
  try {
    const decrypted = encrypted && key ? await findEncrypted(path, digest, key) : undefined;
    const stream = decrypted ? decrypted.open() : createReadStream(path);
    for await (const chunk of stream) hash.update(chunk as Buffer);
  } catch (error) {
    return `cannot be read: ${(error as Error).message}`;
  }
  return hash.digest('hex') === digest ? undefined : 'is damaged';
}

async function fileOf(
  folder: string,
  blob: ReferencedBlob,
  key: Buffer | null,
): Promise<{ readonly path: string; readonly size: number } | undefined> {
  for (const name of pathsOf(blob, key)) {
    const path = join(folder, name);
    const info = await stat(path).catch(() => undefined);
    if (info) return { path, size: info.size };
  }
  return undefined;
}
