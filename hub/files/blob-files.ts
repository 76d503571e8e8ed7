/** The files of contents as tools see them that look at the folder of a store from outside. */
import { join } from 'node:path';
import { systemDisk } from './blob-disk.js';
import {
  blobPath,
  folderOfName,
  formerEncryptedName,
  isEncryptedName,
  isFormerEncryptedName,
  KeyedNames,
} from './blob-names.js';
import { fileOfAnotherKey, prefixesIn } from './encrypted-blobs.js';

interface Content {
  readonly digest: string;
  readonly encrypted: boolean;
}

/** Paths below the folder under which the file of a content may lie, the likeliest first. Without the key of encrypted contents
 *  it may lie anywhere. */
export function pathsOf(content: Content, key: Buffer | null): string[] {
  const former = content.encrypted ? [formerEncryptedName(content.digest)] : [];
  const now = blobPath(content, key && new KeyedNames(key));
  return [...(now === undefined ? [] : [now]), ...former.map((name) => `${folderOfName(name)}/${name}`)];
}

/** The paths of all encrypted contents below the folder, named or not. */
export async function encryptedFilesIn(folder: string): Promise<string[]> {
  const found: string[] = [];
  for (const prefix of await prefixesIn(folder, systemDisk)) {
    for (const name of await systemDisk.list(join(folder, prefix))) {
      if (isEncryptedName(name) || isFormerEncryptedName(name)) found.push(`${prefix}/${name}`);
    }
  }
  return found;
}

/** Whether it can be told of every encrypted content where its file is: with the key with which all of them were written. */
export async function areEncryptedKnown(folder: string, key: Buffer | null): Promise<boolean> {
  return key !== null && (await fileOfAnotherKey(folder, key, systemDisk)) === undefined;
}
