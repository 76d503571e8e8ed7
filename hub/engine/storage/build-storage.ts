/** Named files of users, and uploads to them in parts. */
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import type { BlobStore } from '../../core/ports/blobs.js';
import type { Hubs } from '../../core/ports/hubs.js';
import type { NamedObjects } from '../../core/ports/named-objects.js';
import type { ResumableUploads } from '../../core/ports/resumable-uploads.js';
import { ResumableUploadService } from './resumable-upload-service.js';
import { Storage } from './storage.js';
import type { StorageSettings } from './storage-settings.js';

export interface StoragePorts {
  readonly names: NamedObjects;
  readonly files: BlobStore;
  readonly uploads: ResumableUploads;
  readonly cluster: { readonly hubs: Hubs };
  readonly storage: StorageSettings;
  readonly runtime: Runtime;
}

/** `mayExpire`: whether the clock can be trusted, so that names may expire. */
export function buildStorage(
  { names, files, uploads, cluster: { hubs }, storage: settings, runtime }: StoragePorts,
  mayExpire: () => boolean,
) {
  const storage = new Storage({ names, files, clock: runtime.clock, settings, mayExpire });
  return {
    storage,
    uploads: new ResumableUploadService({
      ...{ uploads, files, runtime, hubs, settings: settings.input },
      refuseWhileOff: () => storage.refuseWhileInputIsOff(),
      reclaim: () => storage.reclaim(),
    }),
  };
}
