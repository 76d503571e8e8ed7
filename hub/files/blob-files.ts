/** Files of blobs, for tools that examine the store's folder from outside. */
import { basename, join } from 'node:path';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import type { BlobForm } from '../core/ports/blobs.js';
import { absent, systemDisk } from './blob-disk.js';
import {
  blobPath,
  folderOfName,
  formerEncryptedName,
  isEncryptedName,
  isFormerEncryptedName,
  KeyedNames,
} from './blob-names.js';
import { isEncryptedWith } from './encrypted.js';
import { fileOfAnotherKey } from './encrypted-blobs.js';
import { FolderPlace } from './folder-place.js';

/** Paths below the folder at which a blob may lie, the likeliest first. Without the key, an encrypted blob may lie
 *  anywhere. */
export function pathsOf(blob: BlobForm, key: Buffer | null): string[] {
  const former = blob.encrypted ? [formerEncryptedName(blob.digest)] : [];
  const now = blobPath(blob, key && new KeyedNames(key));
  return [...(now === undefined ? [] : [now]), ...former.map((name) => `${folderOfName(name)}/${name}`)];
}

/** The blobs in a folder as they are: nothing is created or renamed. */
export function blobsIn(folder: string): FolderPlace {
  return new FolderPlace({ folder, disk: systemDisk, runtime: systemRuntime, copiesIn: null });
}

/** Paths of all encrypted blobs below the folder. */
export async function encryptedFilesIn(folder: string): Promise<string[]> {
  const found: string[] = [];
  for await (const names of blobsIn(folder).names()) {
    for (const name of names) {
      if (isEncryptedName(name) || isFormerEncryptedName(name)) found.push(`${folderOfName(name)}/${name}`);
    }
  }
  return found;
}

/** Path of a blob below the folder that was encrypted with this key; undefined when there is none, or no folder. */
export async function encryptedWithIn(folder: string, key: Buffer): Promise<string | undefined> {
  const place = blobsIn(folder);
  for (const path of await encryptedFilesIn(folder).catch(absent<string[]>([])))
    if (await isEncryptedWith(key, () => place.open(basename(path)))) return join(folder, path);
  return undefined;
}

/** True when the paths of all encrypted blobs can be computed: this is the key that encrypted all of them. */
export async function areEncryptedKnown(folder: string, key: Buffer | null): Promise<boolean> {
  return key !== null && (await fileOfAnotherKey(blobsIn(folder), key)) === undefined;
}
