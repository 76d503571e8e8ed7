/** Looks at the configured place of blobs from outside of a hub, for commands. */
import { type Finding, ok } from '@workbench-hub/shared/checks/finding';
import { checkWritable } from '@workbench-hub/shared/checks/folder-checks';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import type { BlobObject } from '../core/ports/store-maintenance.js';
import { blobsIn } from './blob-files.js';
import type { BlobPlace } from './blob-place.js';
import { folderElsewhere } from './folder-elsewhere.js';
import type { PlaceSettings } from './open-place.js';

/** Files of a place, which are only read. */
export type PlacedFiles = Pick<BlobPlace, 'names' | 'open'>;

export interface InspectPlaceOptions {
  /** Folder of the hub's own disk. */
  readonly localFolder: string;
  /** Certificates in PEM for the object store, instead of Node's. */
  readonly ca: string | null;
  readonly catalogue: () => Promise<readonly BlobObject[]>;
}

/** Whether blobs are elsewhere than in the folder of the hub's own disk. */
export async function isElsewhere({ folder, s3 }: PlaceSettings, localFolder: string): Promise<boolean> {
  return s3 !== null || (await folderElsewhere(folder, localFolder)) !== null;
}

/** Checks a place outside of `dataDir`; no findings for the folder in it. Leaves nothing there. */
export async function checkPlace(
  settings: PlaceSettings,
  { localFolder, ca }: Pick<InspectPlaceOptions, 'localFolder' | 'ca'>,
): Promise<Finding[]> {
  const { s3 } = settings;
  if (s3 !== null) {
    const { checkS3 } = await import('./s3/inspect-s3.js');
    return checkS3(s3, { ca, runtime: systemRuntime });
  }
  const folder = await folderElsewhere(settings.folder, localFolder);
  if (folder === null) return [];
  const faults = await checkWritable('storage.folder', folder, 'folder', 'hub');
  return faults.length > 0 ? faults : [ok('storage.folder', `the hub can write ${folder}`)];
}

/** Runs a question about the files of the place. Rejects with `StartRefused` when they cannot be read. */
export async function onPlacedFiles<T>(
  { folder, s3 }: PlaceSettings,
  { localFolder, ca, catalogue }: InspectPlaceOptions,
  question: (files: PlacedFiles) => Promise<T>,
): Promise<T> {
  if (s3 === null) return question(blobsIn(folder ?? localFolder));
  const { onObjects } = await import('./s3/inspect-s3.js');
  return onObjects(s3, await catalogue(), question, { ca, runtime: systemRuntime });
}
