/** The configured place of blobs: the local folder, another one, or an object store, whose SDK is loaded on demand. */
import { join } from 'node:path';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { StartRefused } from '@workbench-hub/shared/runtime/run-program';
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import type { BlobCatalogue } from '../core/ports/blob-catalogue.js';
import { systemDisk } from './blob-disk.js';
import { isEncryptedName, isPlainName } from './blob-names.js';
import type { BlobPlace } from './blob-place.js';
import { folderElsewhere } from './folder-elsewhere.js';
import { FolderPlace } from './folder-place.js';
import type { S3Settings } from './s3/s3-settings.js';

/** The part of the configuration that selects the place. */
export interface PlaceSettings {
  /** Folder of blobs; null for the local one, to which this may lead, too. */
  readonly folder: string | null;
  /** Null for a folder. */
  readonly s3: S3Settings | null;
}

export interface OpenPlaceOptions {
  /** Folder of the hub's own disk. Blobs in it are moved when the place is another one. */
  readonly localFolder: string;
  readonly catalogue: BlobCatalogue;
  /** 32 bytes. */
  readonly encryptionKey: Buffer;
  /** Certificates in PEM for the object store, instead of Node's. */
  readonly ca: string | null;
  readonly runtime: Runtime;
  readonly log: Logger;
}

export interface OpenedPlace {
  readonly place: BlobPlace;
  /** Whether the object store can be used; null for a folder. */
  readonly isUsable: (() => boolean) | null;
  close(): void;
}

/** Rejects with `StartRefused` when the place cannot be used, or lacks blobs that are elsewhere. */
export async function openPlace(settings: PlaceSettings, options: OpenPlaceOptions): Promise<OpenedPlace> {
  const { localFolder, encryptionKey } = options;
  await systemDisk.makeFolder(localFolder);
  const local = await FolderPlace.open(folderOptions(localFolder, null, options), encryptionKey);
  if (settings.s3 !== null) {
    const { openS3Place } = await import('./s3/open-s3-place.js');
    return withMoved(local, await openS3Place(settings.s3, options), options);
  }
  await refuseWithout(options);
  const folder = await folderElsewhere(settings.folder, localFolder);
  if (folder === null) return inFolder(local);
  const copiesIn = join(folder, 'incoming');
  const other = await FolderPlace.open(folderOptions(folder, copiesIn, options), encryptionKey).catch(
    refused(folder),
  );
  return withMoved(local, inFolder(other), options);
}

function folderOptions(folder: string, copiesIn: string | null, { runtime }: OpenPlaceOptions) {
  return { folder, disk: systemDisk, runtime, copiesIn };
}

function inFolder(place: BlobPlace): OpenedPlace {
  return { place, isUsable: null, close: () => undefined };
}

function refused(folder: string): (error: unknown) => never {
  return (error) => {
    const { code } = error as NodeJS.ErrnoException;
    if (code === undefined) throw error;
    throw new StartRefused(
      `storage.folder: ${folder} cannot be used (${code}): correct the path, mount the file system, or give the hub's user the right to write there`,
      { cause: error },
    );
  };
}

/** Refuses a folder while the blobs are in an object store. */
async function refuseWithout({ catalogue, runtime }: OpenPlaceOptions): Promise<void> {
  const [name] = await catalogue.old('', Number.MAX_SAFE_INTEGER, runtime.clock.nowMs(), 1);
  if (name === undefined) return;
  throw new StartRefused(
    'the blobs of this hub are in an object store, but storage.s3 is not set: set it as it was',
  );
}

/** Moves blobs out of the local folder, in which they were before. Goes on after an interruption. */
async function withMoved(
  local: FolderPlace,
  opened: OpenedPlace,
  { catalogue, log }: OpenPlaceOptions,
): Promise<OpenedPlace> {
  const durably = async <T>(step: () => Promise<T>): Promise<T> => {
    const done = await step();
    // A name in the catalogue outlives a loss of power before the local file goes.
    await catalogue.remove([]);
    return done;
  };
  let moved = 0;
  try {
    for await (const names of local.names()) {
      for (const name of names.filter((each) => isPlainName(each) || isEncryptedName(each))) {
        if (moved === 0) log.info('moving the blobs of the local folder to their new place');
        await opened.place.put(name, local.pathOf(name), durably);
        moved++;
      }
    }
  } catch (error) {
    opened.close();
    throw error;
  }
  if (moved > 0) log.info({ moved }, 'moved the blobs of the local folder');
  return opened;
}
