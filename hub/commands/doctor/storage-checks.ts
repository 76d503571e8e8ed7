/** Checks of the databases and of every blob that they refer to. */
import { createHash } from 'node:crypto';
import { basename, join } from 'node:path';
import { type Finding, fault, faultWithRemedy, ok } from '@workbench-hub/shared/checks/finding';
import { sizeInWords } from '@workbench-hub/shared/domain/size-in-words';
import { StartRefused } from '@workbench-hub/shared/runtime/run-program';
import type { HubConfig } from '../../config.js';
import type { DatabaseReport, ReferencedBlob, StoreMaintenance } from '../../core/ports/store-maintenance.js';
import { pathsOf } from '../../files/blob-files.js';
import type { OpenFile } from '../../files/blob-place.js';
import { anotherKey, encryptedSize, openEncrypted } from '../../files/encrypted.js';
import { fileOfAnotherKey } from '../../files/encrypted-blobs.js';
import { onPlacedFiles, type PlacedFiles } from '../../files/inspect-place.js';
import { isOnFiles } from '../../store/open-store.js';
import { BLOBS_FOLDER } from '../backup/layout.js';
import { existingStorageKey } from '../existing-storage-key.js';
import { placeCertificates } from '../place-certificates.js';

const RESTORE = 'restore a backup ("workbench-hub restore FILE --replace")';
const RESTORE_ON_SERVER =
  'restore a backup of the database with the tools of PostgreSQL, and the files of dataDir';

/** Bytes read at a time. */
const BLOCK_BYTES = 1024 * 1024;

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
  if (findings[0]?.state === 'OK') findings.push(await blobFinding(config, store, deep).catch(refusedPlace));
  return findings;
}

/** Checks the databases that commands make before the first start: those of users. */
export async function checkUsers(config: HubConfig, store: StoreMaintenance): Promise<Finding[]> {
  const [, ...others] = await store.inspect({ quick: true });
  return others.map((report) => databaseFinding(report, remedyOf(config)));
}

/** Finding for a place of blobs that cannot be read. */
function refusedPlace(error: unknown): Finding {
  if (!(error instanceof StartRefused)) throw error;
  return faultWithRemedy('blobs', error.message);
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
  const options = {
    localFolder: join(config.dataDir, BLOBS_FOLDER),
    ca: await placeCertificates(config),
    catalogue: () => store.blobObjects(),
  };
  return onPlacedFiles(config.storage, options, (files) => findingOfBlobs(files, config, store, deep));
}

async function findingOfBlobs(
  files: PlacedFiles,
  config: HubConfig,
  store: StoreMaintenance,
  deep: boolean,
): Promise<Finding> {
  const wrong: WrongBlob[] = deep
    ? (await store.damagedInlineBlobs()).map((digest) => ({ digest, why: 'in the database is damaged' }))
    : [];
  const referenced = await store.referencedBlobs();
  const hasEncrypted = referenced.some(({ encrypted }) => encrypted);
  const key = hasEncrypted ? await existingStorageKey(config, config.dataDir) : null;
  let bytes = 0;
  for (const blob of referenced) {
    bytes += blob.sizeBytes;
    // Only the key tells the name; a missing key has its own finding.
    if (blob.encrypted && key === null) continue;
    const why = await faultOfBlob(files, blob, { deep, key });
    if (why !== undefined) wrong.push({ digest: blob.digest, why });
  }
  if (wrong.length > 0) return await wrongBlobs(store, wrong, remedyOf(config));
  const isUnchecked = key === null && hasEncrypted;
  const whole = isUnchecked
    ? '; encrypted ones were not checked, for lack of the key'
    : deep
      ? ' and whole'
      : '';
  return ok('blobs', `all ${referenced.length} files of ${sizeInWords(bytes)} are present${whole}`);
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
  files: PlacedFiles,
  blob: ReferencedBlob,
  { deep, key }: { readonly deep: boolean; readonly key: Buffer | null },
): Promise<string | undefined> {
  const { digest, sizeBytes, encrypted } = blob;
  const opened = await openBlob(files, blob, key);
  if (!opened) return await faultOfAbsence(files, encrypted ? key : null);
  const { name, file } = opened;
  try {
    const expected = encrypted ? encryptedSize(sizeBytes) : sizeBytes;
    if (file.sizeBytes !== expected) return `has ${file.sizeBytes} bytes instead of ${expected}`;
    if (!deep) return undefined;
    const decrypted = encrypted && key ? await openEncrypted(() => files.open(name), digest, key) : undefined;
    const hash = createHash('sha256');
    for await (const chunk of decrypted?.open() ?? file.blocks(0, file.sizeBytes, BLOCK_BYTES))
      hash.update(chunk as Buffer);
    return hash.digest('hex') === digest ? undefined : 'is damaged';
  } catch (error) {
    return `cannot be read: ${(error as Error).message}`;
  } finally {
    await file.close();
  }
}

/** Why there is no file for a blob. `key` is that of an encrypted one. */
async function faultOfAbsence(files: PlacedFiles, key: Buffer | null): Promise<string> {
  const foreign = key ? await fileOfAnotherKey(files, key) : undefined;
  return foreign === undefined ? 'is missing' : `cannot be read: ${anotherKey(foreign).message}`;
}

async function openBlob(
  files: PlacedFiles,
  blob: ReferencedBlob,
  key: Buffer | null,
): Promise<{ readonly name: string; readonly file: OpenFile } | undefined> {
  for (const path of pathsOf(blob, key)) {
    const name = basename(path);
    const file = await files.open(name).catch(() => undefined);
    if (file) return { name, file };
  }
  return undefined;
}
