/** The blobs of the hub, in a folder or an object store. */
import { join } from 'node:path';
import type { Clock } from '@workbench-hub/shared/runtime/runtime';
import type { BlobStore } from '../core/ports/blobs.js';
import type { Store } from '../core/ports/store.js';
import { isBackupLinking } from '../data-folder.js';
import { otherHolders } from '../engine/agents/other-holders.js';
import type { BlobPlace } from '../files/blob-place.js';
import { openBlobStore } from '../files/blob-store.js';
import { type OpenedPlace, openPlace } from '../files/open-place.js';
import { trustedCertificates } from '../security/trusted-certificates.js';
import type { Setup } from './setup.js';

export async function openBlobPlace(
  { config: { dataDir, storage }, runtime, log }: Setup,
  { blobCatalogue: catalogue }: Store,
  encryptionKey: Buffer,
): Promise<OpenedPlace> {
  const file = storage.s3?.ca ?? null;
  const ca = file === null ? null : await trustedCertificates(file, 'storage.s3.ca');
  const localFolder = join(dataDir, 'files');
  return openPlace(storage, { localFolder, catalogue, encryptionKey, ca, runtime, log });
}

/** `machineClock`: not that of the store, since backups mark their time by it. */
export async function openFiles(
  { config: { dataDir }, runtime, log }: Setup,
  { inlineBlobs, cluster, isOnServer }: Store,
  place: BlobPlace,
  encryptionKey: Buffer,
  machineClock: Clock,
): Promise<BlobStore> {
  return openBlobStore({
    folder: join(dataDir, 'files'),
    place,
    inline: inlineBlobs,
    runtime,
    log,
    encryptionKey,
    isPostponed: () => isBackupLinking(dataDir, machineClock),
    others: isOnServer ? otherHolders(cluster) : null,
  });
}
